"""One traced run, from the options to the end: target, workload, signals, housekeeping."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from noisetop import housekeeping
from noisetop.backend import choose
from noisetop.commands._target import (
    add_target_arguments,
    house_of,
    process_target,
    ring_records,
    target_of,
)
from noisetop.errors import UsageError
from noisetop.privileges import check_privileges
from noisetop.stopper import Stopper, catch_signals
from noisetop.system import nohz_full_cpus, online_cpus
from noisetop.tracer import Target, Tracer
from noisetop.units import parse_duration
from noisetop.workload import Workload


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """The target's options and -d."""
    add_target_arguments(parser)
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        help="how long, as in 500ms, 10s, 1m; default: until Ctrl-C",
    )


class Session:
    """What the verbs that trace have in common. Everything is checked before anything starts."""

    def __init__(self, args: argparse.Namespace, workload_output_fd: int = -1) -> None:
        self._stack = ExitStack()
        self._records = ring_records(args)
        self._stacks: bool = args.stacks
        self._faults: bool = args.faults
        self._entries: bool = args.entries
        self.stopper = Stopper(duration_ns=parse_duration(args.duration) if args.duration else 0)
        if args.workload and not (args.pid is None and args.cgroup is None):
            raise UsageError("give -p, --cgroup or a command after --, not two of them")
        explicit = not (args.cpus is None and args.pid is None and args.cgroup is None)
        self.target = target_of(args) if explicit or not args.workload else Target(())
        if self._entries and not set(nohz_full_cpus()).intersection(
            self.target.cpus or online_cpus()
        ):
            raise UsageError(
                "--entries takes a CPU of nohz_full=, and none is watched: leave it out"
            )
        check_privileges()
        self.backend = choose(args.backend)
        self.workload: Workload | None = None
        if args.workload:
            self._prepare_workload(args, workload_output_fd)
        self.house = house_of(args, self.target)

    def _prepare_workload(self, args: argparse.Namespace, output_fd: int) -> None:
        """Without -c the command itself is what is watched."""
        self.workload = Workload.prepare(args.workload, output_fd)
        if args.cpus is None:
            self.target = process_target(
                self.workload.pid, online_cpus(), args.workload[0], follow=True
            )

    def __enter__(self) -> Self:
        self._stack.callback(self.stopper.close)
        if self.workload:
            self._stack.callback(self.workload.close)
        watched = self.workload.pid if self.workload else self.target.pid
        if watched:
            self.stopper.pidfd = os.pidfd_open(watched)
            self.stopper.process = self.target.title if self.target.pid else "the command"
        self._stack.enter_context(catch_signals(self.stopper))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def tracer(self, *, spool_fd: int = -1, keep_batches: bool = True) -> Tracer:
        """The tracer of this run, not entered yet."""
        self._warn_about_house()
        if self.backend == "bcc":
            print("noisetop: BCC compiles the programs for this kernel first", file=sys.stderr)
        if self.house:
            housekeeping.bind(self.house)
        return Tracer(
            self.target,
            spool_fd=spool_fd,
            keep_batches=keep_batches,
            ring_records=self._records,
            stacks=self._stacks,
            faults=self._faults,
            entries=self._entries,
            house=self.house,
            backend=self.backend,
        )

    def _warn_about_house(self) -> None:
        if not self.house:
            print(
                "noisetop: no CPU is left for noisetop's own threads, they run on watched ones: "
                "watch fewer with -c",
                file=sys.stderr,
            )
        elif not set(self.house).isdisjoint(self.target.cpus) and not self.target.pid:
            print(
                "noisetop: its own threads run on a watched CPU: choose others with -H",
                file=sys.stderr,
            )

    def begin(self) -> None:
        """The books are open: the duration begins, and so does the command."""
        self.stopper.start()
        if self.workload:
            self.workload.release()

    def status(self) -> int:
        """The exit status of the run: that of the command where there is one."""
        if not self.workload:
            return 0
        if not self.workload_ended():
            self.workload.terminate()
        return self.workload.wait()

    def workload_ended(self) -> bool:
        """Whether it was the end of the command that ended the run."""
        return self.stopper.reason.endswith("exited")
