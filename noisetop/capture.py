"""A recording in the making: the spool file beside the output, and what becomes of it."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from noisetop import output, system
from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters import check_suffix, write_recording
from noisetop.hardware import difference, figures_of, missing_of
from noisetop.spool import SUFFIX, SpoolWriter, read_spool
from noisetop.tracer import Tracer

PARTIAL = ".partial"


@dataclass(slots=True)
class Capture:
    """Owns the spool file from its creation until the output has taken its place."""

    path: Path
    force: bool
    fd: int = -1

    @property
    def spool(self) -> Path:
        """Where events go while the recording runs, and where they stay after a crash."""
        return self.path.with_name(self.path.name + PARTIAL)

    def create(self) -> None:
        """Makes the spool file. Raises UsageError when the output cannot be written later."""
        output.check_output(self.path, force=self.force)
        check_suffix(self.path)
        if self.force:
            self.spool.unlink(missing_ok=True)
        elif self.spool.exists():
            raise UsageError(
                f"{self.spool} holds a recording that was cut short: "
                f"noisetop export {shlex.quote(str(self.spool))} -o FILE, or add --force"
            )
        self.fd = output.create(self.spool)

    def begin(self, tracer: Tracer) -> None:
        """Writes the head and opens the books."""
        writer = SpoolWriter(self.fd, tracer.layout)
        try:
            writer.write_head(_metadata(tracer), tracer.names, tracer.target.cpus)
        except OSError as error:
            self.spool.unlink(missing_ok=True)
            raise NoisetopError(f"cannot write {self.spool}: {error.strerror}") from None
        tracer.open_books()

    def end(self, tracer: Tracer, reason: str) -> None:
        """Writes the last block, once the books are closed. A full disk leaves it out."""
        if tracer.spool_errno:
            raise NoisetopError(
                f"the recording stopped: {os.strerror(tracer.spool_errno)}; what came before "
                f"is in {self.spool}: noisetop report {shlex.quote(str(self.spool))}"
            )
        hardware = difference(tracer.hardware_start, tracer.read_hardware())
        try:
            SpoolWriter(self.fd, tracer.layout).write_end(
                tracer.end_ns,
                tracer.losses(),
                tracer.own_cost(),
                tracer.missing(),
                reason,
                tracer.kernel_stacks(),
                [asdict(figure) for figure in figures_of(hardware)],
                tracer.absences(tracer.start_ns, tracer.end_ns),
                missing_of(hardware),
                tracer.tick_stops(),
            )
        except OSError as error:
            raise NoisetopError(
                f"cannot finish {self.spool}: {error.strerror}; it can still be read"
            ) from None

    def publish(self) -> None:
        """Turns the spool file into the output. The spool file goes only when that worked."""
        if self.path.suffix == SUFFIX:
            output.publish(self.spool, self.path, force=self.force)
            return
        try:
            write_recording(read_spool(self.spool), self.path, force=self.force)
        except NoisetopError as error:
            raise NoisetopError(f"{error}; the recording is kept in {self.spool}") from None
        self.spool.unlink()

    def discard(self) -> None:
        """Removes a spool file that holds nothing."""
        self.spool.unlink(missing_ok=True)

    def close(self) -> None:
        """Closes the descriptors."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _metadata(tracer: Tracer) -> dict[str, object]:
    now = datetime.datetime.now(datetime.UTC)
    return {
        **system.describe(),
        "command": shlex.join(["noisetop", *sys.argv[1:]]),
        "target": tracer.target.title,
        "pid": tracer.target.pid,
        "housekeeping": system.format_cpu_list(tracer.house),
        "started": now.isoformat(timespec="milliseconds"),
        "missing": tracer.missing(),
    }
