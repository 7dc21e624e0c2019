"""Chrome Trace Event JSON, for Perfetto: a process for each CPU, a track for each class in it.

A line is one event. The numbers of a slice stand in columns at the end of its line, so that a chunk
is written, and read back by noisetop.trace_reader, without a Python object per number. What is
known only at the end (sources, names of tasks, damage) follows the events.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from noisetop.event import Flag, Interruptions, Source
from noisetop.exporters._digits import Rows, width_of, write_integers, write_thousandths
from noisetop.exporters._lanes import LANES, LaneChooser
from noisetop.recording import Recording
from noisetop.recording_json import about_as_dict, names_as_dict
from noisetop.trace_reader import FORMAT

SUFFIXES = (".json",)
HELP = "Chrome Trace Event JSON, for Perfetto (ui.perfetto.dev)"

CLASSES = ("nmi", "irq", "ipi", "timer", "softirq", "thread", "fault", "hardware")
_ROWS = 1 << 13  # so that the rows in work stay in a CPU's cache
_CACHED_TEXTS = 1 << 16
_NAME_STEPS = 2

Ids = npt.NDArray[np.int64]


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording; moments are relative to its start."""
    out.write(_head(recording))
    writer = _SliceWriter(recording)
    for chunk in recording.chunks():
        for first in range(0, len(chunk), _ROWS):
            out.writelines(writer.lines(chunk[first : first + _ROWS]))
    for event in writer.track_names():
        out.write(b"," + _json(event) + b"\n")
    out.write(b'],\n"noisetop":' + _json(names_as_dict(recording)) + b"}\n")


def _json(content: object) -> bytes:
    """Text that is harmless in HTML as well."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\x7f", "\\u007f").encode()


def _head(recording: Recording) -> bytes:
    """Everything up to the first slice."""
    about = {
        "writer": f"noisetop {version('noisetop')}",
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


@dataclass(frozen=True, slots=True)
class _Column:
    """Numbers of the slices, one for each; ``thousandths``: shown divided by 1000."""

    name: str
    numbers: npt.NDArray[np.unsignedinteger]
    thousandths: bool = False


@dataclass(slots=True)
class _SliceWriter:
    """Slices of a recording as lines of text."""

    recording: Recording
    _tasks: _Numbering = field(default_factory=_Numbering)
    _texts: _Numbering = field(default_factory=_Numbering)
    _text: list[bytes] = field(default_factory=list)
    _lanes: LaneChooser = field(default_factory=LaneChooser)
    _tracks: set[int] = field(default_factory=set)
    _widths: dict[str, int] = field(default_factory=dict)

    def lines(self, table: Interruptions) -> Iterator[bytes]:
        """One after another the text and the numbers of each slice."""
        texts = self._texts_of(table)
        numbers = self._numbers_of(table)
        both: list[bytes] = [b""] * (2 * len(texts))
        both[::2] = texts
        both[1::2] = numbers.view(f"S{numbers.shape[1]}")[:, 0].tolist()
        yield b"".join(both)

    def _texts_of(self, table: Interruptions) -> list[bytes]:
        if len(self._text) > _CACHED_TEXTS:
            self._tasks, self._texts, self._text = _Numbering(), _Numbering(), []
        pairs = table["victim_tid"].astype(np.uint64) << np.uint64(32) | table["tid"]
        tasks = self._tasks.numbers(pairs).astype(np.uint64)
        flags = table["flags"].astype(np.uint64)
        sources = table["source"].astype(np.uint64)
        keys = tasks << np.uint64(40) | sources << np.uint64(8) | flags
        texts = self._texts.numbers(keys)
        for key in self._texts.values[len(self._text) :]:
            pair = self._tasks.values[key >> 40]
            source = self.recording.sources[key >> 8 & 0xFFFFFFFF]
            self._text.append(self._text_of(source, pair >> 32, pair & 0xFFFFFFFF, key & 0xFF))
        return [self._text[number] for number in texts.tolist()]

    def _text_of(self, source: Source, victim_tid: int, tid: int, flags: int) -> bytes:
        args: dict[str, object] = {"source": source.label}
        if victim_tid:
            args["victim"] = self._task(victim_tid)
        args |= {
            "idle": not victim_tid,
            "task": self._task(tid, _thread_name(source)),
            "flags": ", ".join(flag.name.lower() for flag in Flag if flag & flags and flag.name),
        }
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

    def _numbers_of(self, table: Interruptions) -> Rows:
        """The end of each line: what the arguments and the slice itself have in numbers."""
        start = table["start_ns"] - np.uint64(self.recording.start_ns)
        arguments = (
            _Column("source_id", table["source"]),
            _Column("victim_tid", table["victim_tid"]),
            _Column("task_tid", table["tid"]),
            _Column("level", table["level"]),
            _Column("flag_bits", table["flags"]),
            _Column("gross_ns", table["gross_ns"]),
            _Column("net_ns", table["net_ns"]),
            _Column("trigger_id", table["trigger"]),
            _Column("trigger_ns", table["trigger_ns"]),
        )
        slices = (
            _Column("pid", table["cpu"]),
            _Column("tid", self._track_ids(table)),
            _Column("ts", start, thousandths=True),
            _Column("dur", table["gross_ns"], thousandths=True),
        )
        template = self._template(arguments)[:-1] + b"}," + self._template(slices)[:-1] + b"}\n"
        rows = np.empty((len(table), len(template)), np.uint8)
        rows[:] = np.frombuffer(template, np.uint8)
        offset = 0
        for column in (*arguments, *slices):
            offset = template.index(b":", offset) + 1
            put = write_thousandths if column.thousandths else write_integers
            put(rows, offset, self._width(column), column.numbers)
        return rows

    def _template(self, columns: Iterable[_Column]) -> bytes:
        """The text around the numbers, with room for them."""
        return b"".join(
            b'"%s":%s,' % (one.name.encode(), b" " * (self._width(one) + 4 * one.thousandths))
            for one in columns
        )

    def _width(self, column: _Column) -> int:
        """Columns only ever get wider, so that a file has few different layouts."""
        largest = int(column.numbers.max()) // (1000 if column.thousandths else 1)
        width = max(width_of(largest), self._widths.get(column.name, 0))
        self._widths[column.name] = width
        return width

    def _track_ids(self, table: Interruptions) -> npt.NDArray[np.unsignedinteger]:
        """A track for each CPU, class and line, numbered so that viewers sort them."""
        classes = np.array(
            [CLASSES.index(one.noise_class) for one in self.recording.sources], np.int64
        )
        track = table["cpu"].astype(np.int64) * len(CLASSES) + classes[table["source"]]
        start = table["start_ns"].astype(np.int64)
        lanes = self._lanes.lanes(track, start, start + table["gross_ns"].astype(np.int64))
        ids: Ids = (track + len(CLASSES)) * LANES + lanes
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
    steps = [step for step in source.path[1:3] if step != "self"]
    return steps[0] if source.noise_class == "thread" and steps else ""


def _track_of(track: int) -> tuple[int, str, int]:
    """CPU, class and line that a track's number stands for."""
    rest, lane = divmod(track, LANES)
    cpu, noise_class = divmod(rest - len(CLASSES), len(CLASSES))
    return cpu, CLASSES[noise_class], lane


def _name_event(name: str, args: dict[str, object], cpu: int, track: int = 0) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": cpu, "tid": track, "args": args}
