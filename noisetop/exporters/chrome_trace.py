"""Chrome Trace Event JSON, for Perfetto: a process for each CPU, a track for each class in it.

A line is one event: a text that many slices share, then numbers in columns, so that a chunk is
written, and read back by noisetop.recording.chrome_trace_file, without a Python object per number.
What is known only at the end (sources, names of tasks, damage) follows the events. Lines are kept
short, as writing them is most of the time that an export takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from noisetop._tables import crc32c
from noisetop.counters.isolation_changes import ISOLATION
from noisetop.events.interruption import CLASSES, Flag, Interruptions, Source
from noisetop.events.origin import Origin
from noisetop.events.source_names import OWN
from noisetop.exporters._arrows import ArrowWriter
from noisetop.exporters._behind import writing_behind
from noisetop.exporters._digits import Rows
from noisetop.exporters._lanes import LANES, LaneChooser
from noisetop.exporters._number_rows import NumberColumn, NumberRows
from noisetop.recording.chrome_trace_file import FORMAT, tail
from noisetop.recording.metadata_json import about_as_dict, names_as_dict
from noisetop.recording.moment import marks_of, moment_of
from noisetop.recording.recording import Recording
from noisetop.tables.rows import select
from noisetop.version import version

SUFFIXES = (".json",)
HELP = "Chrome Trace Event JSON, for Perfetto (ui.perfetto.dev)"

_TRACKS = (*CLASSES, "other", "triggers")
_OTHER, _SENDERS = len(CLASSES), len(CLASSES) + 1
_ROWS = 1 << 13  # so that the rows in work stay in a CPU's cache
_CACHED_TEXTS = 1 << 16
_NAME_STEPS = 2

Ids = npt.NDArray[np.int64]
Track = npt.NDArray[np.unsignedinteger]


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording; moments are relative to its start."""
    with writing_behind(out) as behind:
        head = _head(recording)
        behind.write(head)
        writer = _SliceWriter(recording, slices_crc=crc32c(head.splitlines(keepends=True)[1]))
        for chunk in recording.all_chunks():
            for first in range(0, len(chunk), _ROWS):
                behind.writelines(writer.lines(chunk[first : first + _ROWS]))
        for event in (*_instants(recording), *writer.track_names()):
            behind.write(b"," + _json(event) + b"\n")
        behind.write(tail(_json(names_as_dict(recording)), writer.slices, writer.slices_crc))


def _json(content: object) -> bytes:
    """Text that is harmless in HTML as well, and ASCII but for what stands between two steps."""
    text = json.dumps(content, separators=(",", ":"))
    text = text.replace("<", "\\u003c").replace("\x7f", "\\u007f")
    return text.replace(" \\u203a ", " › ").encode()


def _head(recording: Recording) -> bytes:
    """Everything up to the first slice."""
    about = {
        "writer": f"noisetop {version()}",
        "format": FORMAT,
        **about_as_dict(recording),
    }
    names = b"\n,".join(map(_json, _cpu_names(recording.cpus or (0,))))
    return (
        b'{"displayTimeUnit":"ns",\n"otherData":'
        + _json(about)
        + b',\n"traceEvents":[\n'
        + names
        + b"\n"
    )


def _instants(recording: Recording) -> Iterator[dict[str, Any]]:
    """Across all tracks: changes of the isolation, marks, and what a snapshot was made for."""
    for one in recording.counters.of(ISOLATION):
        args = {"setting": one.setting, "before": one.before, "after": one.after}
        name = f"isolation changed: {one.label}"
        yield _instant(recording, one.time_ns, name, "isolation", args)
    for time_ns, name in marks_of(recording):
        yield _instant(recording, time_ns, f"mark: {name}", "mark", {})
    if moment := moment_of(recording):
        name = f"moment: {moment.kind}"
        yield _instant(recording, moment.start_ns, name, "moment", moment.as_dict())


def _instant(
    recording: Recording, time_ns: int, name: str, category: str, args: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "i", "s": "g", "name": name, "cat": category,
        "ts": (time_ns - recording.start_ns) / 1000,
        "pid": recording.cpus[0] if recording.cpus else 0, "tid": 0,
        "args": args,
    }  # fmt: skip


@dataclass(slots=True)
class _Numbering:
    """Gives each distinct value a small number, the same one in every chunk."""

    values: list[int] = field(default_factory=list)
    _known: npt.NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    _number: Ids = field(default_factory=lambda: np.empty(0, np.int64))

    def numbers(self, values: npt.NDArray[np.uint64]) -> Ids:
        place = np.searchsorted(self._known, values)
        place[place == len(self._known)] = 0
        new = self._known[place] != values if len(self._known) else np.ones(len(values), bool)
        if new.any():
            fresh = np.unique(values[new])
            known = np.concatenate([self._known, fresh])
            count = len(self.values)
            number = np.concatenate([self._number, np.arange(count, count + len(fresh))])
            order = np.argsort(known)
            self._known, self._number = known[order], number[order]
            self.values += fresh.tolist()
            place = np.searchsorted(self._known, values)
        return self._number[place]


class _Ids(NamedTuple):
    """What a slice is, in numbers, in the order that noisetop.recording.chrome_trace_file reads."""

    source: int
    victim_tid: int
    tid: int
    level: int
    flags: int
    trigger: int
    origin: int


@dataclass(slots=True)
class _SliceWriter:
    """Slices of a recording as lines of text."""

    recording: Recording
    slices_crc: int
    """Checksum of what was written so far; see noisetop.recording.chrome_trace_file.Seal."""
    slices: int = 0
    _tasks: _Numbering = field(default_factory=_Numbering)
    _kinds: _Numbering = field(default_factory=_Numbering)
    _texts: _Numbering = field(default_factory=_Numbering)
    _text: list[bytes] = field(default_factory=list)
    _lanes: LaneChooser = field(default_factory=LaneChooser)
    _tracks: set[int] = field(default_factory=set)
    _numbers: NumberRows = field(default_factory=NumberRows)
    _arrows: ArrowWriter = field(init=False)

    def __post_init__(self) -> None:
        self._arrows = ArrowWriter(self.recording.triggers, self.recording.start_ns)

    def lines(self, table: Interruptions) -> Iterator[bytes]:
        """One after another the text and the numbers of each slice, then the arrows to them."""
        texts = self._texts_of(table)
        track = self._track_ids(table)
        numbers = self._numbers_of(table, track)
        both: list[bytes] = [b""] * (2 * len(texts))
        both[::2] = texts
        both[1::2] = numbers.view(f"S{numbers.shape[1]}")[:, 0].tolist()
        lines = b"".join(both)
        self.slices += len(table)
        self.slices_crc = crc32c(lines, self.slices_crc)
        yield lines
        chosen = self._arrows.chosen(table)
        caused = select(table, chosen)
        senders = self._sender_track_ids(self._arrows.sender_cpus(caused))
        yield from self._arrows.lines(caused, track[chosen], senders)

    def _texts_of(self, table: Interruptions) -> list[bytes]:
        if len(self._text) > _CACHED_TEXTS:
            self._tasks, self._kinds = _Numbering(), _Numbering()
            self._texts, self._text = _Numbering(), []
        pairs = table["victim_tid"].astype(np.uint64) << np.uint64(32) | table["tid"]
        tasks = self._tasks.numbers(pairs).astype(np.uint64)
        causes = table["trigger"].astype(np.uint64)
        sources = table["source"].astype(np.uint64)
        kinds = tasks << np.uint64(40) | sources << np.uint64(16)
        ranks = table["origin"].astype(np.uint64) << np.uint64(12)
        ranks |= table["level"].astype(np.uint64) << np.uint64(8)
        kinds |= ranks | table["flags"]
        kinds = self._kinds.numbers(kinds)
        texts = self._texts.numbers(kinds.astype(np.uint64) << np.uint64(32) | causes)
        for key in self._texts.values[len(self._text) :]:
            kind, trigger = self._kinds.values[key >> 32], key & 0xFFFFFFFF
            pair = self._tasks.values[kind >> 40]
            self._text.append(
                self._text_of(
                    _Ids(
                        source=kind >> 16 & 0xFFFFFF,
                        victim_tid=pair >> 32,
                        tid=pair & 0xFFFFFFFF,
                        level=kind >> 8 & 0xF,
                        flags=kind & 0xFF,
                        trigger=trigger,
                        origin=kind >> 12 & 0xF,
                    )
                )
            )
        return [self._text[number] for number in texts.tolist()]

    def _text_of(self, ids: _Ids) -> bytes:
        source = self.recording.sources[ids.source]
        trigger = self.recording.triggers[ids.trigger].label
        args: dict[str, object] = {}
        if len(source.path) > 1 + _NAME_STEPS:  # else category and name say it
            args["source"] = source.label
        if trigger:
            args["trigger"] = trigger
        if ids.victim_tid:
            args["victim"] = self._task(ids.victim_tid)
        else:
            args["idle"] = True
        if ids.tid != ids.victim_tid or not ids.tid:
            args["task"] = self._task(ids.tid, _thread_name(source))
        if ids.origin:
            args["origin"] = Origin(ids.origin).label
        # A viewer shows what lies around a slice; the entry is one of the ids.
        told = ids.flags & ~(Flag.OUTERMOST | Flag.ENTRY | Flag.COLD)
        if told:
            args["flags"] = ", ".join(
                flag.name.lower() for flag in Flag if flag & told and flag.name
            )
        args["ids"] = ids
        head = {
            "ph": "X",
            "name": " › ".join(source.path[1:][-_NAME_STEPS:]) or source.noise_class,
            "cat": source.noise_class,
            "args": args,
        }
        return b"," + _json(head)[:-2] + b","

    def _task(self, tid: int, otherwise: str = "") -> str:
        name = self.recording.tasks.get(tid) or (otherwise if tid else "idle")
        return f"{name} {tid}".strip()

    def _numbers_of(self, table: Interruptions, track: Track) -> Rows:
        """The end of each line: what the arguments and the slice itself have in numbers."""
        start = table["start_ns"] - np.uint64(self.recording.start_ns)
        arguments = (
            NumberColumn("net_ns", table["net_ns"]),
            NumberColumn("trigger_ns", table["trigger_ns"]),
        )
        slices = (
            NumberColumn("pid", table["cpu"]),
            NumberColumn("tid", track),
            NumberColumn("ts", start, thousandths=True),
            NumberColumn("dur", table["gross_ns"], thousandths=True),
        )
        return self._numbers.rows(*arguments, b"},", *slices, b"}\n")

    def _track_ids(self, table: Interruptions) -> Track:
        """A track for each CPU, class and line, numbered so that viewers sort them."""
        classes = np.array([_place(one.noise_class) for one in self.recording.sources], np.int64)
        track = table["cpu"].astype(np.int64) * len(_TRACKS) + classes[table["source"]]
        start = table["start_ns"].astype(np.int64)
        lanes = self._lanes.lanes(track, start, start + table["gross_ns"].astype(np.int64))
        return self._used((track + len(_TRACKS)) * LANES + lanes)

    def _sender_track_ids(self, cpus: Ids) -> Track:
        """The track of each CPU that shows who acted there."""
        return self._used((cpus * len(_TRACKS) + _SENDERS + len(_TRACKS)) * LANES)

    def _used(self, ids: Ids) -> Track:
        self._tracks.update(np.flatnonzero(np.bincount(ids)).tolist())
        return ids.astype(np.uint32)

    def track_names(self) -> Iterator[dict[str, Any]]:
        """The metadata events that name the tracks met so far and give their order."""
        more = {_track_of(track)[0] for track in self._tracks} - set(self.recording.cpus)
        yield from _cpu_names(sorted(more))
        for track in sorted(self._tracks):
            cpu, noise_class, lane = _track_of(track)
            name = f"{noise_class} (overlapping {lane})" if lane else noise_class
            yield _name_event("thread_name", {"name": name}, cpu, track)
            yield _name_event("thread_sort_index", {"sort_index": track}, cpu, track)


def _cpu_names(cpus: Iterable[int]) -> Iterator[dict[str, Any]]:
    for cpu in cpus:
        yield _name_event("process_name", {"name": f"CPU {cpu}"}, cpu)
        yield _name_event("process_sort_index", {"sort_index": cpu}, cpu)


def _thread_name(source: Source) -> str:
    """Of the thread that a source ran in, where its path tells."""
    steps = [step for step in source.path[1:3] if step not in ("self", OWN)]
    return steps[0] if source.noise_class == "thread" and steps else ""


def _place(noise_class: str) -> int:
    """Of a class among the tracks of a CPU; classes of an unknown name share one."""
    return CLASSES.index(noise_class) if noise_class in CLASSES else _OTHER


def _track_of(track: int) -> tuple[int, str, int]:
    """CPU, class and line that a track's number stands for."""
    rest, lane = divmod(track, LANES)
    cpu, kind = divmod(rest - len(_TRACKS), len(_TRACKS))
    return cpu, _TRACKS[kind], lane


def _name_event(name: str, args: dict[str, object], cpu: int, track: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": cpu, "tid": track, "args": args}
