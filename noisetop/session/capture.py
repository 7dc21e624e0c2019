"""A recording in the making: the spool file beside the output, and what becomes of it."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.counters.calibration import CALIBRATION
from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters import RecordingOutput, recording_output
from noisetop.machine import system
from noisetop.output import create
from noisetop.recording.noise_so_far import NoiseSoFar
from noisetop.recording.open import SUFFIX
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tracing.tracer import Tracer

PARTIAL = ".partial"


@dataclass(slots=True)
class Capture:
    """Owns the spool file from its creation until the output has taken its place."""

    path: Path
    force: bool
    worth_keeping: bool = False
    """Whether the spool file outlives an error."""
    noise_so_far: NoiseSoFar = field(init=False)
    """Of the events in the spool file; there is one from write_head() on."""
    _fd: int = -1
    _output: RecordingOutput = field(init=False)
    _writer: SpoolWriter = field(init=False)

    @property
    def spool(self) -> Path:
        """Where events go while the recording runs, and where they stay after a crash."""
        return self.path.with_name(self.path.name + PARTIAL)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Descriptor of the new spool file, open during the block.

        Raises UsageError when the output cannot be written later.
        """
        self._create()
        try:
            yield self._fd
        except BaseException:
            if not self.worth_keeping:
                self.spool.unlink(missing_ok=True)
            raise
        finally:
            os.close(self._fd)

    def _create(self) -> None:
        self._output = recording_output(self.path, force=self.force)
        if self.force:
            self.spool.unlink(missing_ok=True)
        elif self.spool.exists():
            raise UsageError(
                f"{self.spool} holds a recording that was cut short: "
                f"noisetop export {shlex.quote(str(self.spool))} -o FILE, or add --force"
            )
        self._fd = create(self.spool)

    def write_head(self, tracer: Tracer) -> None:
        """Writes what must come before the first event. Raises NoisetopError."""
        self._writer = SpoolWriter(self._fd, tracer.layout, tracer.append)
        try:
            self._writer.write_head(
                _metadata(tracer), tracer.names, tracer.target.cpus, tracer.processes
            )
        except OSError as error:
            raise NoisetopError(f"cannot write {self.spool}: {error.strerror}") from None
        self.noise_so_far = NoiseSoFar(self._fd, tracer.layout, os.fstat(self._fd).st_size)

    def names_blocks(self) -> bytes:
        """See SpoolWriter.names_blocks()."""
        return self._writer.names_blocks()

    def end(self, tracer: Tracer, reason: str) -> None:
        """Writes the last block, once the window has ended. A full disk leaves it out."""
        if tracer.spool_errno:
            raise NoisetopError(
                f"the recording stopped: {os.strerror(tracer.spool_errno)}; what came before "
                f"is in {self.spool}: noisetop report {shlex.quote(str(self.spool))}"
            )
        counters, stacks = tracer.window_counters(), tracer.kernel_stacks()
        try:
            self._writer.write_end(tracer.end_ns, counters, reason, stacks)
        except OSError as error:
            raise NoisetopError(
                f"cannot finish {self.spool}: {error.strerror}; it can still be read"
            ) from None

    def publish(self) -> None:
        """Turns the spool file into the output. The spool file goes only when that worked."""
        if self.path.suffix == SUFFIX:
            self._output.output.publish(self.spool)
            return
        try:
            self._output.write(read_spool(self.spool))
        except NoisetopError as error:
            raise NoisetopError(f"{error}; the recording is kept in {self.spool}") from None
        self.spool.unlink()


def _metadata(tracer: Tracer) -> dict[str, object]:
    now = datetime.datetime.now(datetime.UTC)
    return {
        **system.describe(),
        "command": shlex.join(["noisetop", *sys.argv[1:]]),
        "target": tracer.target.title,
        "pid": tracer.target.pid,
        "victims": tracer.target.victims,
        "own_pid": tracer.own_pid,
        "housekeeping": format_cpu_list(tracer.housekeeping),
        "started": now.isoformat(timespec="milliseconds"),
        "missing": tracer.unavailable(),
        **CALIBRATION.to_file(tracer.calibration),
    }
