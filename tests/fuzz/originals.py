"""Undamaged files of every format that is read, small, from which the mutants are made."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from noisetop.checked_json import sealed, unsealed
from noisetop.cli import run
from noisetop.gaps.files import as_json
from noisetop.recording.event_block import packed_events
from noisetop.recording.open import open_recording
from noisetop.recording.raw_file import MAGIC
from noisetop.recording.recording import Recording
from tests.fuzz.raw_format import RawFile, layout
from tests.gaps.results import numa_result, spin_result, switch_result
from tests.recordings import DATA, everything, write_recording

BUSY = "busy"
"""A recording that others are compared with."""
_READ_STRUCTS = (
    *("noise_event", "noise_trigger", "noise_block", "noise_raiser", "noise_cpu_counters"),
)
_SOME = ["level", "origin", "cpu"]
_MANY_SOURCES = ["level", "origin", "cpu", "source"]
_FEW_EVENTS = 12
_EVENTS = 40
_MANY_EVENTS = 400
_FINDINGS = 4


@dataclass(frozen=True, slots=True)
class Original:
    """One file."""

    name: str
    format: str
    """``raw``, ``compact``, ``trace``, ``packed``, ``result`` or ``saved``."""
    content: bytes

    @property
    def is_checked(self) -> bool:
        """False: of a version without checksums."""
        return " of 0." not in self.name

    @property
    def is_large(self) -> bool:
        """True: one that few of the mutants are made from."""
        return self.name.startswith("large ")


def originals() -> dict[str, Original]:
    """All of them by name, the same ones every time."""
    with tempfile.TemporaryDirectory() as folder:
        return {one.name: one for one in _made(Path(folder))}


def _made(folder: Path) -> Iterator[Original]:
    old = (DATA / "0.2/raw.noisetop").read_bytes()
    for size, events in (("", _EVENTS), ("large ", _MANY_EVENTS)):
        is_whole = bool(size)
        yield Original(f"{size}raw of 0.2", "raw", _shortened(old, events, is_whole).built())
        yield Original(f"{size}raw", "raw", _today(_shortened(old, events, is_whole)).built())
        yield Original(f"{size}raw, packed", "raw", _packed(old, events).built())
    yield Original("compact of 0.1", "compact", (DATA / "quiet.noisetop").read_bytes())
    yield from _stored(folder, _thinned(_SOME), BUSY)
    yield from _stored(folder, _thinned(_MANY_SOURCES), "busy with many sources", "large ")
    yield from _stored(folder, everything(), "made up")
    for result in (spin_result(100), switch_result(), numa_result()):
        yield Original(result.kind, "result", as_json(result).encode() + b"\n")
    yield Original("large spin", "result", as_json(spin_result(100, 50)).encode() + b"\n")
    saved = _saved(folder)
    yield Original("large saved", "saved", saved)
    yield Original("saved", "saved", _few_findings(saved))


def _stored(folder: Path, recording: Recording, name: str, size: str = "") -> Iterator[Original]:
    """A recording in each format that is no raw one."""
    for suffix, kind in ((".noisetop", "compact"), (".json", "trace"), (".json.gz", "packed")):
        path = folder / f"{name}{suffix}"
        write_recording(recording, path, force=False)
        yield Original(f"{size}{kind}, {name}", kind, path.read_bytes())


def _shortened(whole: bytes, events: int, is_whole: bool) -> RawFile:
    """So many events of each block, of a machine that is not this one. ``is_whole``: described with
    the structs that stay in the kernel as well."""
    raw = RawFile.parsed(whole)
    raw.head["metadata"]["host"] = "box"
    structs = raw.head["layout"]["structs"]
    raw.head["layout"]["structs"] = {
        name: one for name, one in structs.items() if is_whole or name in _READ_STRUCTS
    }
    kind = layout().block_kinds["EVENTS"]
    raw.blocks = [(one, _varied(rows, events) if one == kind else rows) for one, rows in raw.blocks]
    return raw


def _packed(old: bytes, events: int) -> RawFile:
    raw = RawFile.parsed(_today(_shortened(old, events, False)).built())
    shared = layout()
    raw.magic = MAGIC
    raw.head["layout"]["enums"]["noise_block_kind"] = shared.description["enums"][
        "noise_block_kind"
    ]
    raw.blocks = [
        (shared.block_kinds["PACKED"], packed_events(np.frombuffer(rows, shared.event), shared))
        if one == shared.block_kinds["EVENTS"]
        else (one, rows)
        for one, rows in raw.blocks
    ]
    return raw


def _varied(payload: bytes, most: int) -> bytes:
    events = np.frombuffer(payload, layout().event)
    content: bytes = events[_chosen(events[["source", "level", "flags"]], most)].tobytes()
    return content


def _thinned(fields: list[str]) -> Recording:
    """Of a busy machine the first events that differ in these fields, and a few more."""
    recording = open_recording(DATA / "noisy.noisetop")
    events = np.concatenate(list(recording.all_chunks()))
    few = events[_chosen(events[fields], _FEW_EVENTS)]
    return replace(recording, read_chunks=lambda: iter([few]))


def _chosen(kinds: npt.NDArray[np.void], most: int) -> npt.NDArray[np.int64]:
    """Places of one row of every kind, then of others, in their order."""
    _, firsts = np.unique(kinds, return_index=True)
    rest = np.setdiff1d(np.arange(len(kinds)), firsts)
    chosen = np.concatenate([firsts, rest])[: max(most, len(firsts))]
    return np.sort(chosen)


def _few_findings(saved: bytes) -> bytes:
    document = unsealed(json.loads(saved), required=True)
    document["findings"] = document["findings"][:_FINDINGS]
    return json.dumps(sealed(document)).encode()


def _today(raw: RawFile) -> RawFile:
    """The same events in blocks as they are written now."""
    raw.head["layout"]["structs"]["noise_block"] = layout().description["structs"]["noise_block"]
    raw.checked = True
    return raw


def _saved(folder: Path) -> bytes:
    path = folder / "saved.json"
    with contextlib.redirect_stdout(io.StringIO()):
        run(["diagnose", str(DATA / "noisy.noisetop"), "--save", str(path)])
    return path.read_bytes()
