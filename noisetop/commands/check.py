"""``noisetop check``: the isolation audit."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from contextlib import suppress

from noisetop import housekeeping, system
from noisetop.checks import Goal, Machine, Status, page, run_checks
from noisetop.checks.counters import Window, sample
from noisetop.checks.spin import spin
from noisetop.errors import EXIT_LIMIT, UsageError
from noisetop.units import parse_duration
from noisetop.version import version

NAME = "check"
HELP = "is this machine set up to leave these CPUs alone?"

_NARROWEST, _WIDEST = 60, 100
_AT_LEAST = {"warn": (Status.WARN, Status.FAIL), "fail": (Status.FAIL,)}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the audit."""
    parser.add_argument(
        "-c", "--cpus", metavar="LIST", help="CPUs, as in 2-3,6; default: isolated CPUs, else all"
    )
    parser.add_argument(
        "-p",
        "--pid",
        type=int,
        help="the program that the CPUs are meant for; default: those bound",
    )
    parser.add_argument(
        "-d",
        "--duration",
        default="2s",
        help="how long to watch the kernel's counters; default: %(default)s",
    )
    parser.add_argument(
        "--goal",
        choices=[goal.value for goal in Goal],
        default=Goal.REALTIME.value,
        help="what the machine is for, where guides disagree; default: %(default)s",
    )
    parser.add_argument(
        "--spin",
        metavar="DURATION",
        help="also run a loop on each of the CPUs in turn for so long, and judge its gaps",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")
    parser.add_argument(
        "--fail-on", choices=sorted(_AT_LEAST), help="exit with status 3 when a check ends so"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the page; 3 when --fail-on is crossed. Raises UsageError."""
    duration_ns = parse_duration(args.duration)
    spin_ns = parse_duration(args.spin) if args.spin else 0
    machine = _machine(args)
    allowed = os.sched_getaffinity(0)
    _step_aside(machine.cpus)
    try:
        machine.window = _watch(machine, duration_ns)
    finally:
        housekeeping.bind(allowed)
    if spin_ns:
        machine.spins = tuple(spin(cpu, spin_ns) for cpu in machine.cpus)
    _step_aside(machine.cpus)
    try:
        results = run_checks(machine)
    finally:
        housekeeping.bind(allowed)
    if args.json:
        _write(page.as_json(results, machine, version()))
    else:
        width = max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size((80, 24)).columns))
        colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        _write(page.text(results, machine, width=width, colour=colour))
    crossed = args.fail_on and any(r.status in _AT_LEAST[args.fail_on] for r in results)
    return EXIT_LIMIT if crossed else 0


def _machine(args: argparse.Namespace) -> Machine:
    machine = Machine(goal=Goal(args.goal), pid=args.pid)
    if args.pid is not None and not any(task.pid == args.pid for task in machine.tasks):
        raise UsageError(f"there is no process {args.pid}: see ps -e")
    cpus = None
    if args.cpus:
        cpus = system.check_cpus(system.parse_cpu_list(args.cpus))
    elif args.pid is not None:
        cpus = tuple(sorted(frozenset().union(*(t.allowed or () for t in machine.workload))))
    return Machine(goal=Goal(args.goal), pid=args.pid, cpus=cpus) if cpus else machine


def _step_aside(watched: tuple[int, ...]) -> None:
    """The audit itself must not run where it looks."""
    # An unprivileged container may forbid even this; the checks are then a little in their own way.
    with suppress(PermissionError):
        if others := housekeeping.choose(watched):
            housekeeping.bind(others)


def _watch(machine: Machine, duration_ns: int) -> Window:
    counted = machine.counted
    before = sample(machine, counted)
    time.sleep(duration_ns / 1e9)
    return Window(before, sample(machine, counted))


def _write(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
