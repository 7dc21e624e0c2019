"""Undamaged files of every format that is read, small, from which the mutants are made."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from noisetop.cli import run
from noisetop.gaps.files import as_json
from noisetop.recording.open import open_recording
from tests.fuzz.raw_format import RawFile, layout
from tests.gaps.results import numa_result, spin_result, switch_result
from tests.recordings import DATA, everything, write_recording

_EVENT_BYTES = 64
_EVENTS = 400


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


def originals() -> dict[str, Original]:
    """All of them by name, the same ones every time."""
    with tempfile.TemporaryDirectory() as folder:
        return {one.name: one for one in _made(Path(folder))}


def _made(folder: Path) -> Iterator[Original]:
    old = (DATA / "0.2/raw.noisetop").read_bytes()
    yield Original("raw of 0.2", "raw", _shortened(old).built())
    yield Original("raw", "raw", _today(_shortened(old)).built())
    yield Original("compact of 0.1", "compact", (DATA / "quiet.noisetop").read_bytes())
    recordings = {"quiet": open_recording(DATA / "quiet.noisetop"), "made up": everything()}
    for name, recording in recordings.items():
        for suffix, kind in ((".noisetop", "compact"), (".json", "trace"), (".json.gz", "packed")):
            path = folder / f"{name}{suffix}"
            write_recording(recording, path, force=False)
            yield Original(f"{kind}, {name}", kind, path.read_bytes())
    for result in (spin_result(100, 50), switch_result(), numa_result()):
        yield Original(result.kind, "result", as_json(result).encode() + b"\n")
    yield Original("saved", "saved", _saved(folder))


def _shortened(whole: bytes) -> RawFile:
    """The first events of each block, of a machine that is not this one."""
    raw = RawFile.parsed(whole)
    raw.head["metadata"]["host"] = "box"
    events = layout().block_kinds["EVENTS"]
    raw.blocks = [
        (kind, payload[: _EVENTS * _EVENT_BYTES] if kind == events else payload)
        for kind, payload in raw.blocks
    ]
    return raw


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
