"""Opens a recording by what is in it, whatever its name."""

from __future__ import annotations

from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.input import open_input
from noisetop.recording import chrome_trace_file as trace_reader
from noisetop.recording import compact_file as compact
from noisetop.recording import raw_file as spool
from noisetop.recording.recording import Recording

SUFFIX = ".noisetop"
"""End of the names of two formats, which their magic tells apart: the raw file that the drain
thread writes (noisetop.recording.raw_file) and the compact one that an export makes
(noisetop.recording.compact_file)."""
_READERS = (
    *((magic, spool.read_spool) for magic in spool.MAGICS),
    (compact.MAGIC, compact.read_compact),
    (trace_reader.START, trace_reader.read_trace),
    (trace_reader.GZIP_START, trace_reader.read_trace),
)


def open_recording(path: Path) -> Recording:
    """The recording in a file that noisetop wrote: a native one or a trace, compressed or not.

    Raises NoisetopError when there is none: no such file, no permission, empty, cut short, not ours
    or damaged. A damaged file may raise it only while its chunks are read.
    """
    try:
        with open_input(path, "a recording") as file:
            start = file.read(max(len(magic) for magic, _ in _READERS))
    except FileNotFoundError:
        raise NoisetopError(f"there is no file {path}: see noisetop record --help") from None
    except OSError as error:
        raise NoisetopError(f"cannot read {path}: {error.strerror}") from None
    except ValueError:  # a NUL in the name
        raise NoisetopError(f"{str(path)!r} is no file name") from None
    if not start:
        raise NoisetopError(f"{path} is empty: record it again")
    for magic, read in _READERS:
        if start.startswith(magic):
            return read(path)
    if any(magic.startswith(start) for magic, _ in _READERS):
        raise NoisetopError(f"{path} was cut short: record it again")
    raise NoisetopError(f"{path} is not a recording of noisetop: see noisetop record --help")
