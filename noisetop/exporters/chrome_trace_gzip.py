"""Chrome Trace Event JSON, compressed: Perfetto opens it as it is."""

from __future__ import annotations

import gzip
from typing import BinaryIO, cast

from noisetop.exporters import chrome_trace
from noisetop.recording.recording import Recording

SUFFIXES = (".json.gz",)
HELP = "the same, compressed; Perfetto opens it as it is"

_FAST = 1


def write(recording: Recording, out: BinaryIO) -> None:
    """Writes the whole recording; without a name or a date in the head, so that it is the same
    each time."""
    with gzip.GzipFile("", "wb", _FAST, out, mtime=0) as packed:
        chrome_trace.write(recording, cast(BinaryIO, packed))
