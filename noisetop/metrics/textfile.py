"""Metrics as a file, which node_exporter's textfile collector reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noisetop.errors import UsageError
from noisetop.output import Output, check_output

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

SUFFIX = ".prom"
"""What the collector reads."""
_OURS = b"# HELP noisetop_"
INTERVAL_NS = 5_000_000_000
"""Between two versions of it: a scrape finds one that is not older."""


@dataclass(slots=True)
class TextFile:
    """A file that is replaced as a whole."""

    output: Output
    _written_ns: int = 0

    @classmethod
    def at(cls, path: Path) -> TextFile:
        """Takes the place of an earlier one of ours, of no other file. Raises UsageError."""
        if path.suffix != SUFFIX:
            raise UsageError(f"--textfile takes a name that ends with {SUFFIX}: {path}{SUFFIX}")
        return cls(check_output(path, force=_is_ours(path)))

    def write(self, registry: CollectorRegistry, now_ns: int, *, last: bool) -> None:
        """Where it is time, or for the last time. Raises NoisetopError."""
        if not last and now_ns - self._written_ns < INTERVAL_NS:
            return
        from prometheus_client import generate_latest

        self._written_ns = now_ns
        with self.output.opened() as file:
            file.write(generate_latest(registry))
        self.output = Output(self.output.path, force=True)


def _is_ours(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and file.read(len(_OURS)) == _OURS
    except OSError:
        return False
