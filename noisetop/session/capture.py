"""A recording in the making: the spool file beside the output, and what becomes of it."""

from __future__ import annotations

import datetime
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.counters.calibration import CALIBRATION
from noisetop.counters.left_out import LEFT_OUT
from noisetop.counters.other_listeners import OTHER_LISTENERS
from noisetop.errors import NoisetopError, UsageError
from noisetop.exporters import RecordingOutput, recording_output
from noisetop.machine import system
from noisetop.recording.open import SUFFIX
from noisetop.recording.raw_file import SpoolWriter, read_spool
from noisetop.recording.recording import Recording
from noisetop.session.notice import notice
from noisetop.session.spool_file import SpoolFile
from noisetop.text.cpu_list import format_cpu_list
from noisetop.tracing.capabilities import FILES, raised
from noisetop.tracing.tracer import Tracer

PARTIAL = ".partial"


@dataclass(slots=True)
class Capture:
    """Owns the spool file from its creation until the output has taken its place."""

    path: Path
    force: bool
    in_lasting_folder: bool = True
    """Whether what is left after an error can be found later."""
    inspect: Callable[[Recording], None] | None = None
    """Called once with what was recorded, when the output has its name."""
    worth_keeping: bool = False
    """Whether the spool file outlives an error."""
    _file: SpoolFile = field(init=False)
    _output: RecordingOutput = field(init=False)
    _writer: SpoolWriter = field(init=False)

    def __post_init__(self) -> None:
        if not self.path.name:  # "/" and "."
            raise UsageError(f"{self.path} is a folder: give a file name")
        self._file = SpoolFile(self.path.with_name(self.path.name + PARTIAL), self.force)

    @property
    def spool(self) -> Path:
        """Where events go while the recording runs, and where they stay after a crash."""
        return self._file.path

    @contextmanager
    def opened(self) -> Iterator[int]:
        """Descriptor of the new spool file, open during the block.

        Raises UsageError when the output cannot be written later.
        """
        self._output = recording_output(self.path, force=self.force)
        self._file.open()
        try:
            yield self._file.fd
        except BaseException:
            if not self.worth_keeping:
                with raised(FILES):
                    self._file.discard()
            raise
        finally:
            self._file.close()

    def name_spool(self) -> None:
        """The window has begun: from now on what was recorded outlives a crash. Raises UsageError
        where another recording took the name of the spool file."""
        with raised(FILES):
            self._file.name()

    def write_head(self, tracer: Tracer) -> None:
        """Writes what must come before the first event. Raises NoisetopError."""
        self._writer = SpoolWriter(tracer.layout, tracer)
        try:
            self._writer.write_head(
                recording_metadata(tracer),
                tracer.names,
                tracer.target.cpus,
                tracer.processes,
                tracer.user_stacks,
            )
        except OSError as error:
            raise NoisetopError(f"cannot write {self.spool}: {error.strerror}") from None

    def write_names(self) -> None:
        """See SpoolWriter.write_names()."""
        self._writer.write_names()

    def end(self, tracer: Tracer, reason: str) -> None:
        """Writes the last block, once the window has ended. A full disk leaves it out."""
        if tracer.spool_errno:
            raise self._stopped(os.strerror(tracer.spool_errno))
        counters, stacks = tracer.window_counters(), tracer.kernel_stacks()
        named = tracer.user_stacks.named() if tracer.user_stacks else {}
        if tracer.user_stacks and tracer.user_stacks.problem:
            notice(tracer.user_stacks.problem)
        try:
            self._writer.write_end(tracer.end_ns, counters, reason, stacks, named)
        except OSError as error:
            raise self._stopped(str(error.strerror)) from None

    def _stopped(self, reason: str) -> NoisetopError:
        advice = f"make room in {self.path.parent}"
        if self.in_lasting_folder:
            advice = f"what came before is in {self.spool}: "
            advice += f"noisetop report {shlex.quote(str(self.spool))}"
        return NoisetopError(f"the recording stopped: {reason}; {advice}")

    def publish(self) -> None:
        """Turns the spool file into the output. The spool file goes only when that worked."""
        with raised(FILES):
            self._publish()

    def _publish(self) -> None:
        if self.path.suffix == SUFFIX:
            self._output.output.publish(self.spool)
            self._inspect(self.path)
            return
        try:
            self._output.write(read_spool(self.spool))
        except NoisetopError as error:
            raise NoisetopError(f"{error}; the recording is kept in {self.spool}") from None
        try:
            self._inspect(self.spool)
        finally:
            self.spool.unlink()

    def _inspect(self, path: Path) -> None:
        if self.inspect:
            self.inspect(read_spool(path))


def recording_metadata(tracer: Tracer) -> dict[str, object]:
    """What a recording says about the machine, the target and the run."""
    now = datetime.datetime.now(datetime.UTC)
    return {
        **system.describe(),
        "command": shlex.join(["noisetop", *sys.argv[1:]]),
        "target": tracer.target.title,
        "pid": tracer.target.pid,
        "victims": tracer.target.victims,
        "victim": tracer.given_victim,
        "own_pid": tracer.own_pid,
        "housekeeping": format_cpu_list(tracer.housekeeping),
        "started": now.isoformat(timespec="milliseconds"),
        "missing": tracer.unavailable(),
        **LEFT_OUT.to_file(tracer.left_out),
        **OTHER_LISTENERS.to_file(tracer.other_listeners),
        **CALIBRATION.to_file(tracer.calibration),
    }
