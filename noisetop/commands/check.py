"""``noisetop check``: the isolation audit."""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import suppress

from noisetop.checks import AuditedMachine, Goal, Status, page, run_checks
from noisetop.command_line.command import Example
from noisetop.errors import EXIT_LIMIT, UsageError
from noisetop.machine import affinity, system
from noisetop.machine.kernel_counters import Window, read_counters
from noisetop.machine.spin import spin
from noisetop.text.layout import output_width
from noisetop.text.terminal_output import add_pager_argument, print_lines
from noisetop.text.units import parse_duration
from noisetop.version import version

NAME = "check"
HELP = "audit the isolation of CPUs"
DESCRIPTION = (
    "Audits how the kernel, the firmware and the machine are configured for low noise on the "
    "given CPUs and prints one line per check; with -v also what was read, what is expected and "
    "how to change it. It changes nothing itself and needs no privileges."
)
EXAMPLES = (
    Example("noisetop check", "audit the isolated CPUs, otherwise all"),
    Example("noisetop check -c 2-3 -v", "audit two CPUs, with readings and remedies"),
    Example("noisetop check -c 2-3 --spin 1s", "also measure gaps with a spinning thread"),
    Example(
        "noisetop check -c 2-3 --json --fail-on fail",
        "for scripts: JSON, and exit status 3 if a check fails",
    ),
)

_NARROWEST = 60
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
        help="the program that the CPUs are isolated for; default: programs bound to them",
    )
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        default="2s",
        help="how long to sample the kernel's counters; default: %(default)s",
    )
    parser.add_argument(
        "--goal",
        choices=[goal.value for goal in Goal],
        default=Goal.REALTIME.value,
        help="purpose of the machine, where tuning guides disagree; default: %(default)s",
    )
    parser.add_argument(
        "--spin",
        metavar="TIME",
        help="also spin on each CPU in turn for this long, and check the gaps",
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="readings, reasons and remedies of each check"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_pager_argument(parser)
    parser.add_argument(
        "--fail-on",
        choices=sorted(_AT_LEAST),
        help="exit with status 3 if a check is at least this bad",
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
        affinity.bind(allowed)
    if spin_ns:
        machine.spins = tuple(spin(cpu, spin_ns) for cpu in machine.cpus)
    _step_aside(machine.cpus)
    try:
        results = run_checks(machine)
    finally:
        affinity.bind(allowed)
    if args.json:
        sys.stdout.write(page.as_json(results, machine, version()))
    else:
        width = max(_NARROWEST, output_width())
        lines_of = page.verbose_lines if args.verbose else page.brief_lines
        print_lines(lines_of(results, machine, width=width), pager=args.pager)
    crossed = args.fail_on and any(r.status in _AT_LEAST[args.fail_on] for r in results)
    return EXIT_LIMIT if crossed else 0


def _machine(args: argparse.Namespace) -> AuditedMachine:
    machine = AuditedMachine(goal=Goal(args.goal), pid=args.pid)
    if args.pid is not None and not any(task.pid == args.pid for task in machine.tasks):
        raise UsageError(f"there is no process {args.pid}: see ps -e")
    cpus = None
    if args.cpus:
        cpus = system.cpus_from_list(args.cpus)
    elif args.pid is not None:
        cpus = tuple(sorted(frozenset().union(*(t.allowed or () for t in machine.workload))))
    return AuditedMachine(goal=Goal(args.goal), pid=args.pid, cpus=cpus) if cpus else machine


def _step_aside(watched: tuple[int, ...]) -> None:
    """The audit itself must not run where it looks."""
    # An unprivileged container may forbid even this; the checks are then a little in their own way.
    with suppress(PermissionError):
        if others := affinity.choose(watched):
            affinity.bind(others)


def _watch(machine: AuditedMachine, duration_ns: int) -> Window:
    scope = machine.counter_scope
    before = read_counters(machine, scope)
    time.sleep(duration_ns / 1e9)
    return Window(before, read_counters(machine, scope))
