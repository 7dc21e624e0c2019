"""``noisetop probe``: active measurements of what a thread on a CPU sees."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from noisetop import system
from noisetop.backend import choose
from noisetop.errors import NoisetopError, UsageError
from noisetop.privileges import check_privileges
from noisetop.probe.files import as_json, check_result_output, write_result
from noisetop.probe.machine import check_load, own_cpus, probe_cpus
from noisetop.probe.numa import default_bytes, run_numa
from noisetop.probe.priority import parse_priority
from noisetop.probe.report import report_lines
from noisetop.probe.result import ProbeResult
from noisetop.probe.spin import SpinSettings, run_spin
from noisetop.probe.switch import SwitchSettings, run_switch
from noisetop.stopper import Stopper, catch_signals
from noisetop.system import format_cpu_list
from noisetop.units import parse_duration

NAME = "probe"
HELP = "measure what a thread on a CPU sees, checked against the trace"

_MIB = 1 << 20
_MAX_PROCESSES = 64
_MAX_REPEATS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the probes and their options."""
    probes = parser.add_subparsers(dest="probe", metavar="PROBE", required=True)
    spin = probes.add_parser(
        "spin", help="gaps that a spinning thread sees, and what they are", allow_abbrev=False
    )
    _add_spin_arguments(spin)
    switch = probes.add_parser(
        "switch", help="time slices and context switches on one CPU", allow_abbrev=False
    )
    _add_switch_arguments(switch)
    numa = probes.add_parser(
        "numa", help="memory bandwidth and latency, node by node", allow_abbrev=False
    )
    numa.add_argument(
        "--size", metavar="MIB", type=int, help="of each array; default: 4 times the last cache"
    )
    numa.add_argument("--repeats", metavar="N", type=int, default=10, help="default: %(default)s")
    for one in (spin, switch, numa):
        _add_output_arguments(one)


def _add_spin_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", "--cpus", metavar="LIST", help="CPUs to spin on; default: isolated CPUs, else one"
    )
    parser.add_argument("-d", "--duration", metavar="TIME", default="10s", help="default: 10s")
    parser.add_argument(
        "-T", "--threshold", metavar="NS", type=int, help="shortest gap; default: 8 loops"
    )
    _add_thread_arguments(parser)
    parser.add_argument(
        "--bind", action=argparse.BooleanOptionalAction, default=True, help="one thread on each CPU"
    )
    parser.add_argument(
        "--fenced", action="store_true", help="wait for each reading of the counter to complete"
    )
    parser.add_argument(
        "--busy",
        metavar="PERCENT",
        default="100",
        help="spin that part of the time and sleep the rest; several, as in 100,50,10, run one "
        "after the other",
    )
    parser.add_argument(
        "--load", metavar="N", type=int, default=0, help="busy processes on the other CPUs"
    )
    parser.add_argument(
        "--periods",
        metavar="N",
        type=int,
        default=0,
        help="list the first N active and inactive periods",
    )


def _add_switch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-c", "--cpus", metavar="CPU", help="the CPU; default: the last one")
    parser.add_argument("-d", "--duration", metavar="TIME", default="5s", help="default: 5s")
    parser.add_argument(
        "-n", "--processes", metavar="N", type=int, default=2, help="default: %(default)s"
    )
    _add_thread_arguments(parser)


def _add_thread_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-P",
        "--priority",
        metavar="PRIO",
        help="o:NICE, r:PRIO, f:PRIO or d:RUNTIME:PERIOD; default: as it is",
    )
    parser.add_argument(
        "--trace",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="explain by events; default: if privileges allow it",
    )
    parser.add_argument(
        "-H", "--house-keeping", metavar="LIST", help="CPUs for noisetop's own threads"
    )


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the result as JSON on stdout")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="write the result (.json) or a chart (.svg, spin also .timeline.svg, numa also "
        ".latency.svg); can be given more than once",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Measures, writes the files, prints the result."""
    if args.workload:
        raise UsageError("probe runs no command: noisetop record -- CMD does")
    for path in args.output:
        check_result_output(path, args.probe, force=args.force)
    result = _PROBES[args.probe](args)
    for path in args.output:
        write_result(result, path, force=args.force)
    if args.json:
        print(as_json(result))
    else:
        print("\n".join(report_lines(result)).lstrip("\n"))
    return 0


def _metadata(args: argparse.Namespace) -> dict[str, object]:
    return {**system.describe(), "command": sys.argv[1:], "probe": args.probe}


def _wants_trace(args: argparse.Namespace) -> tuple[bool, list[str]]:
    """Whether to trace, and what is missing if not."""
    if args.trace is False:
        return False, ["tracing is off (--no-trace): gaps are not explained"]
    try:
        check_privileges()
        choose()
    except NoisetopError as error:
        if args.trace:
            raise
        return False, [f"gaps are not explained: {error}"]
    return True, []


def _warn_about_house(house: tuple[int, ...]) -> None:
    if not house:
        print(
            "noisetop: no CPU is left for noisetop's own threads, they run on probed ones: "
            "probe fewer with -c",
            file=sys.stderr,
        )


def _busy_percents(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdigit() and 1 <= int(part) <= 100 for part in parts):
        raise UsageError(f"'{text}' is no list of percents: write for example 100,50,10")
    return [int(part) for part in parts]


def _spin(args: argparse.Namespace) -> ProbeResult:
    cpus = probe_cpus(args.cpus)
    busy = _busy_percents(args.busy)
    if args.threshold is not None and args.threshold < 1:
        raise UsageError("-T takes the shortest gap in ns, 1 or more")
    if args.periods < 0:
        raise UsageError("--periods takes a number, 0 or more")
    check_load(args.load, cpus)
    trace, missing = _wants_trace(args)
    house = own_cpus(args.house_keeping, cpus)
    settings = SpinSettings(
        cpus=cpus,
        duration_ns=parse_duration(args.duration),
        house=house,
        threshold_ns=args.threshold or 0,
        priority=parse_priority(args.priority) if args.priority else None,
        fenced=args.fenced,
        bind=args.bind,
        load=args.load,
        trace=trace,
        stretches=args.periods,
    )
    _warn_about_house(house)
    with catch_signals(stopper := Stopper()):
        runs = []
        for percent in busy:
            result = run_spin(replace(settings, busy_percent=percent), stopper)
            runs.append(replace(result, missing=[*result.missing, *missing]))
            if stopper.stopped:
                break
    stopper.close()
    return ProbeResult("spin", _metadata(args), spin=runs)


def _switch(args: argparse.Namespace) -> ProbeResult:
    cpus = probe_cpus(args.cpus)
    if args.cpus is None:
        cpus = cpus[-1:]
    if len(cpus) != 1:
        raise UsageError(f"probe switch takes one CPU, not {format_cpu_list(cpus)}")
    if not 2 <= args.processes <= _MAX_PROCESSES:
        raise UsageError(f"-n takes 2 to {_MAX_PROCESSES} processes")
    trace, missing = _wants_trace(args)
    settings = SwitchSettings(
        cpu=cpus[0],
        processes=args.processes,
        duration_ns=parse_duration(args.duration),
        house=own_cpus(args.house_keeping, cpus),
        priority=parse_priority(args.priority) if args.priority else None,
        trace=trace,
    )
    _warn_about_house(settings.house)
    with catch_signals(stopper := Stopper()):
        result = run_switch(settings, stopper)
    stopper.close()
    result = replace(result, missing=[*result.missing, *missing])
    return ProbeResult("switch", _metadata(args), switch=result)


def _numa(args: argparse.Namespace) -> ProbeResult:
    if not 1 <= args.repeats <= _MAX_REPEATS:
        raise UsageError(f"--repeats takes 1 to {_MAX_REPEATS}")
    array_bytes = args.size * _MIB if args.size is not None else default_bytes()
    return ProbeResult("numa", _metadata(args), numa=run_numa(array_bytes, args.repeats))


_PROBES: dict[str, Callable[[argparse.Namespace], ProbeResult]] = {
    "spin": _spin,
    "switch": _switch,
    "numa": _numa,
}
