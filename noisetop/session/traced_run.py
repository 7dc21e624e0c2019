"""One traced run, from the options to the published recording, for record, top and diagnose."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from noisetop.counters.left_out import LEFT_OUT
from noisetop.counters.losses import LOSSES
from noisetop.counters.other_listeners import OTHER_LISTENERS
from noisetop.errors import UsageError
from noisetop.events.symbols import read_kallsyms
from noisetop.machine import affinity
from noisetop.machine.allocation import collect_rarely, give_back_memory
from noisetop.machine.files import Files
from noisetop.machine.find_tasks import find_task
from noisetop.machine.namespaces import is_first
from noisetop.machine.system import nohz_full_cpus, online_cpus
from noisetop.recording.recording import Recording
from noisetop.session.caller import calling_user
from noisetop.session.capture import Capture
from noisetop.session.notice import notice
from noisetop.session.options import (
    command_target,
    housekeeping_of,
    housekeeping_warning,
    named_victims,
    programs_of,
    reductions_of,
    ring_records,
    target_of,
)
from noisetop.session.run_budget import RunBudget
from noisetop.session.run_calibration import RunCalibration
from noisetop.session.workload import Workload
from noisetop.text.units import format_count, format_ns, parse_duration
from noisetop.tracing.backend import choose
from noisetop.tracing.later_steps import NOTHING_MORE, LaterSteps, give_up_capabilities
from noisetop.tracing.privileges import check_privileges, hidden_names_notice
from noisetop.tracing.stopper import Stopper, catch_signals
from noisetop.tracing.target import Target
from noisetop.tracing.tracer import BATCH_BYTES, Tracer
from noisetop.tracing.whole_intervals import next_moment_ns

_CHECK_INTERVAL_S = 1.0
_PATIENCE_S = 2.0
_PIDFD_THREAD = os.O_EXCL

Begun = TypeVar("Begun")


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run that has ended, in figures."""

    reason: str
    """Why it ended, in words for the user; empty: as asked."""
    duration_ns: int
    event_count: int
    """Records delivered."""
    dropped: int
    """Records lost, as ``Losses.total``."""

    @property
    def words(self) -> str:
        """``12.3k events in 10.0 s, 0 dropped``."""
        events, duration = format_count(self.event_count), format_ns(self.duration_ns)
        return f"{events} events in {duration}, {self.dropped} dropped"


class TracedRun:
    """Traces once. Use as a context manager, and tracing() inside it.

    Creating one checks all options and forks the command after ``--``, which does not start yet.
    Inside the context signals end the run instead of the process. With ``output`` the run is
    recorded there; ``in_lasting_folder``: its folder is not going to be removed; ``inspect`` is
    called with the recording when the output has its name. ``live``: Tracer.read() is going to be
    called. ``later``: what else is done once the programs are attached; then, before the window
    starts, all capabilities are given up that no later step takes. ``batch_bytes``: see Tracer.
    ``say`` takes what the user should know when tracing starts, a line each.

    Raises UsageError for options that cannot be, NoisetopError where tracing is not possible.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        *,
        output: Path | None = None,
        in_lasting_folder: bool = True,
        inspect: Callable[[Recording], None] | None = None,
        live: bool = False,
        later: LaterSteps = NOTHING_MORE,
        batch_bytes: int = BATCH_BYTES,
        workload_output_fd: int = -1,
        say: Callable[[str], object] = notice,
    ) -> None:
        self._stack = ExitStack()
        self._say = say
        if live:
            give_back_memory()
            collect_rarely()
        self.capture = Capture(output, args.force, in_lasting_folder, inspect) if output else None
        self._later = replace(
            later,
            stacks=args.stacks,
            signals=later.signals or bool(args.workload),
            folders=(*later.folders, output.parent) if output else later.folders,
        )
        records = ring_records(args)
        self.stopper = Stopper(duration_ns=parse_duration(args.duration) if args.duration else 0)
        self.target = _checked_target(args)
        check_privileges()
        self._backend = choose(args.backend)
        self.workload: Workload | None = None
        if args.workload:
            self._prepare_workload(args, workload_output_fd)
        self.housekeeping = housekeeping_of(args, self.target)
        self.programs = programs_of(args)
        self.result: RunResult | None = None
        """Set when tracing() has ended without an error."""
        self._new_tracer = partial(
            Tracer,
            self.target,
            keep_batches=live,
            batch_bytes=batch_bytes,
            ring_records=records,
            stacks=args.stacks,
            faults=args.faults,
            entries=args.entries,
            housekeeping=self.housekeeping,
            backend=self._backend,
        )
        compiled = self._backend == "bcc"
        self._calibration = RunCalibration(
            self.target, self.housekeeping, args.faults, compiled=compiled
        )
        self._budget = RunBudget(
            args.budget, reductions_of(args), self.target, self.housekeeping, compiled=compiled
        )

    def _prepare_workload(self, args: argparse.Namespace, output_fd: int) -> None:
        """Without -c the command itself is what is watched."""
        caller = calling_user(os.environ) if args.as_user else None
        self.workload = Workload.prepare(args.workload, output_fd, caller)
        if args.cpus is None:
            self.target = command_target(self.workload.pid, args.workload[0], online_cpus())

    def __enter__(self) -> Self:
        self._stack.callback(self.stopper.close)
        if self.workload:
            self._stack.callback(self.workload.close)
        victims = (self.workload.pid,) if self.workload else self.target.tasks
        self.stopper.pidfds = [_pidfd(victim) for victim in victims]
        self.stopper.process = self.target.title if self.target.tasks else "the command"
        if self.housekeeping:
            affinity.bind(self.housekeeping)
        self._stack.enter_context(catch_signals(self.stopper))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def begun_apart(self, begin: Callable[[], Begun]) -> Callable[[], Begun]:
        """``begin``, which enters tracing(), for a view that has threads by then: it runs on a
        thread of its own. This one, and those that it starts, give up their capabilities now."""
        thread = ThreadPoolExecutor(1)
        thread.submit(int).result()  # it starts with what this thread has now
        self._stack.callback(thread.shutdown)
        give_up_capabilities(self._later)
        return lambda: thread.submit(begin).result()

    @contextmanager
    def tracing(self) -> Iterator[Tracer]:
        """Creates the output, attaches, starts the window, the duration and the command. After the
        block: stops the window, completes the output and gives it its name.

        Until everything has started, an error leaves no file behind. After that, an error leaves
        what was recorded in the partial file. Raises NoisetopError.
        """
        with self.capture.opened() if self.capture else nullcontext(-1) as spool_fd:
            symbols = read_kallsyms()
            if self._budget.limit_ns:
                self.programs = self._budget.choose(symbols)
            self._say_first()
            calibration = self._calibration.find(symbols, self.stopper, self._say)
            with self._new_tracer(
                spool_fd=spool_fd,
                symbols=symbols,
                calibration=calibration,
                programs=self.programs,
            ) as tracer:
                if not symbols:
                    self._say(hidden_names_notice())
                if left_out := LEFT_OUT.brief(tracer.left_out, 0).text:
                    self._say(left_out)
                if tracer.other_listeners.users:
                    users = OTHER_LISTENERS.brief(tracer.other_listeners, 0).text
                    self._say(f"tracepoints: {users}")
                self._start(tracer)
                try:
                    yield tracer
                finally:
                    if not tracer.end_ns:
                        tracer.stop_window()
                self._complete(tracer)
            if self.capture:
                self.capture.publish()

    def _say_first(self) -> None:
        """What the user should know before tracing starts."""
        if warning := housekeeping_warning(self.housekeeping, self.target):
            self._say(warning)
        if not is_first("pid"):
            self._say("this is a container: numbers of tasks in the results are the host's")
        if self._backend == "bcc":
            self._say("BCC compiles the programs for this kernel first")

    def _start(self, tracer: Tracer) -> None:
        """What comes before the window must not take time of it; the command comes last."""
        give_up_capabilities(self._later)
        if self.capture:
            self.capture.write_head(tracer)
        tracer.start_window(self.capture.write_names if self.capture else None)
        self.stopper.start()
        if self.capture:
            self.capture.name_spool()
        if self.workload:
            self.workload.release()
        if self.capture:
            self.capture.worth_keeping = True

    def _complete(self, tracer: Tracer) -> None:
        if self.capture:
            self.capture.end(tracer, self.stopper.reason)
        self.result = RunResult(
            reason=self.stopper.reason,
            duration_ns=tracer.end_ns - tracer.start_ns,
            event_count=tracer.event_count,
            dropped=tracer.window_counters().of(LOSSES).total,
        )

    def wait(self, tracer: Tracer, meanwhile: Callable[[], object] | None = None) -> None:
        """Returns when the run is to end: as asked, or because the output takes no more.

        ``meanwhile`` is called once a second.
        """
        while not self.stopper.wait_until(next_moment_ns(_CHECK_INTERVAL_S)):
            if tracer.spool_errno:
                self.stopper.stop(os.strerror(tracer.spool_errno))
            elif meanwhile:
                meanwhile()

    def status(self) -> int:
        """The exit status: that of the command where there is one, which ends if it still runs."""
        if not self.workload:
            return 0
        if not self._workload_ended():
            self.workload.terminate()
            if not self.workload.ends_within(_PATIENCE_S):
                pid = self.workload.pid
                notice(f"the command goes on after SIGTERM: kill -KILL {pid} ends it")
        return self.workload.wait()

    def _workload_ended(self) -> bool:
        """Whether it was the end of the command that ended the run."""
        return self.stopper.reason.endswith("exited")


def _pidfd(number: int) -> int:
    """Of a process or a thread. Raises UsageError when it ended meanwhile."""
    task = find_task(number, Files())
    if task is None:
        raise UsageError(f"{number} has ended: see ps -eL")
    with suppress(OSError):
        return os.pidfd_open(number, 0 if task.pid == number else _PIDFD_THREAD)
    return os.pidfd_open(task.pid)  # kernels before 6.9 have none for threads


def _checked_target(args: argparse.Namespace) -> Target:
    """What the options ask to watch; without CPUs where that is the command alone."""
    if args.workload and named_victims(args):
        raise UsageError("give -p, -t, --cgroup or a command after --, not two of them")
    if args.as_user and not args.workload:
        raise UsageError("--as-user goes with a command after --")
    if args.workload and args.cpus is None and args.victim is not None:
        raise UsageError("--victim goes with -c: without it the command is the victim")
    target = target_of(args) if args.cpus is not None or not args.workload else Target(())
    cpus = target.cpus or online_cpus()
    if args.entries and not set(nohz_full_cpus()).intersection(cpus):
        raise UsageError("--entries takes a CPU of nohz_full=, and none is watched: leave it out")
    return target
