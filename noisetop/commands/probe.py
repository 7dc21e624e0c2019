"""``noisetop probe``: active measurements of what a thread on a CPU sees."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.files import as_json, check_result_output, write_result
from noisetop.gaps.report import report_lines
from noisetop.gaps.result import ProbeResult, SpinResult
from noisetop.limits.gap_figures import check_gap_limits, gap_outcomes, lost_events
from noisetop.limits.grammar import Limit
from noisetop.machine import system
from noisetop.machine.state_folder import state_folder
from noisetop.probe.calibrate import measure_cpus
from noisetop.probe.calibration_report import CalibrationReport
from noisetop.probe.entry_costs import entry_costs
from noisetop.probe.machine import check_load, own_cpus, probe_cpus
from noisetop.probe.numa import default_bytes, run_numa
from noisetop.probe.priority import parse_priority
from noisetop.probe.spin import SpinSettings, run_spin
from noisetop.probe.stored_calibration import calibration_facts, keep
from noisetop.probe.switch import SwitchSettings, run_switch
from noisetop.session.fail_on import add_fail_on_argument, limit_status
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.layout import fit, output_width
from noisetop.text.sanitize import printable
from noisetop.text.terminal_output import add_pager_argument, print_lines
from noisetop.text.units import parse_duration
from noisetop.tracing.backend import choose
from noisetop.tracing.capabilities import FILES, raised
from noisetop.tracing.later_steps import (
    LaterSteps,
    give_up_capabilities,
    keep_what_attaching_takes,
)
from noisetop.tracing.privileges import check_privileges
from noisetop.tracing.stopper import Stopper, catch_signals

NAME = "probe"
HELP = "measure gaps, context switches or memory from user space"
DESCRIPTION = (
    "Measures from user space what a thread on a CPU loses, and explains it by traced events "
    "where privileges allow it. The probes load the CPUs that they measure."
)
EXAMPLES = (
    Example("noisetop probe spin -c 2-3 -d 10s", "gaps that a spinning thread sees on two CPUs"),
    Example(
        "noisetop probe spin -c 2 -d 1m -o spin.json -o gaps.svg", "write the result and a chart"
    ),
    Example(
        "noisetop probe switch -c 2 -n 4 -d 5s",
        "context switches between four processes on one CPU",
    ),
    Example(
        "noisetop probe spin -c 2 -d 1m --fail-on 'single>20us'",
        "for builds: exit status 3 if a gap is longer",
    ),
    Example("noisetop probe numa", "memory bandwidth and latency of each node"),
    Example("noisetop probe calibrate -c 2", "what interrupts cost beyond their net time"),
)

_MIB = 1 << 20
_MAX_PROCESSES = 64
_MAX_REPEATS = 1000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the probes and their options."""
    probes = parser.add_subparsers(dest="probe", metavar="PROBE", required=True)
    spin = _add_probe(probes, "spin", "gaps that a spinning thread sees, and their causes")
    _add_spin_arguments(spin)
    switch = _add_probe(probes, "switch", "time slices and context switches on one CPU")
    _add_switch_arguments(switch)
    numa = _add_probe(probes, "numa", "memory bandwidth and latency, node by node")
    numa.add_argument(
        "--size",
        metavar="MIB",
        type=int,
        help="size of each array; default: 4 times the last-level cache",
    )
    numa.add_argument(
        "--repeats", metavar="N", type=int, default=10, help="repetitions; default: %(default)s"
    )
    for one in (spin, switch, numa):
        _add_output_arguments(one)
    calibrate = _add_probe(
        probes, "calibrate", "what entries into the kernel cost, and keeps it for later runs"
    )
    _add_calibrate_arguments(calibrate)


def _add_probe(
    probes: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str
) -> argparse.ArgumentParser:
    return probes.add_parser(name, help=about, description=f"Measures {about}.", allow_abbrev=False)


def _add_spin_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", "--cpus", metavar="LIST", help="CPUs to spin on; default: isolated CPUs, else one"
    )
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        default="10s",
        help="as in 500ms, 10s, 1m; default: %(default)s",
    )
    parser.add_argument(
        "-T", "--threshold", metavar="NS", type=int, help="shortest gap to count; default: 8 loops"
    )
    _add_thread_arguments(parser)
    parser.add_argument(
        "--bind",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="bind one thread to each CPU",
    )
    parser.add_argument(
        "--fenced", action="store_true", help="serialize each read of the time-stamp counter"
    )
    parser.add_argument(
        "--busy",
        metavar="PERCENT",
        default="100",
        help="spin this share of the time and sleep the rest; a list, as in 100,50,10, runs one "
        "after the other",
    )
    parser.add_argument(
        "--load",
        metavar="N",
        type=int,
        default=0,
        help="number of busy processes on the other CPUs",
    )
    parser.add_argument(
        "--periods",
        metavar="N",
        type=int,
        default=0,
        help="list the first N active and inactive periods",
    )
    add_fail_on_argument(parser, of="noise is the time in gaps, single the longest gap")


def _add_switch_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-c", "--cpus", metavar="CPU", help="the CPU; default: the last one")
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        default="5s",
        help="as in 500ms, 10s, 1m; default: %(default)s",
    )
    parser.add_argument(
        "-n",
        "--processes",
        metavar="N",
        type=int,
        default=2,
        help="number of processes; default: %(default)s",
    )
    _add_thread_arguments(parser)


def _add_calibrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-c", "--cpus", metavar="LIST", help="CPUs to measure on; default: isolated CPUs, else one"
    )
    parser.add_argument(
        "-d",
        "--duration",
        metavar="TIME",
        default="5s",
        help="of each CPU, as in 500ms, 10s, 1m; default: %(default)s",
    )
    _add_housekeeping_argument(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def _add_housekeeping_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-H", "--housekeeping", metavar="LIST", help="CPUs for noisetop's own threads"
    )
    parser.add_argument("--house-keeping", dest="housekeeping", help=argparse.SUPPRESS)


def _add_thread_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-P",
        "--priority",
        metavar="PRIO",
        help="o:NICE, r:PRIO, f:PRIO or d:RUNTIME:PERIOD; default: inherited",
    )
    parser.add_argument(
        "--trace",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="explain gaps by traced events; default: if privileges allow it",
    )
    _add_housekeeping_argument(parser)


def _add_output_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_pager_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="write the result (.json) or a chart (.svg; spin: also .timeline.svg; numa: also "
        ".latency.svg); repeatable",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Measures, writes the files, prints the result; 3 where a limit of --fail-on is exceeded."""
    if args.probe == "calibrate":
        return _calibrate(args)
    limits: tuple[Limit, ...] = args.limits if args.probe == "spin" else ()
    check_gap_limits(limits)
    outputs = [check_result_output(path, args.probe, force=args.force) for path in args.output]
    stopper = Stopper()
    # A signal ends the measurement, and loses nothing of it. That of memory has no early end.
    with nullcontext() if args.probe == "numa" else catch_signals(stopper):
        result = _PROBES[args.probe](args, stopper)
        with raised(FILES):
            for output in outputs:
                write_result(result, output)
        if args.json:
            print(as_json(result))
    stopper.close()
    if not args.json:
        print_lines(fit(report_lines(result), output_width()), pager=args.pager)
    return limit_status(gap_outcomes(limits, result), lost_events(result))


def _metadata(args: argparse.Namespace) -> dict[str, object]:
    return {**system.describe(), "command": sys.argv[1:], "probe": args.probe}


def _give_up(args: argparse.Namespace) -> None:
    """The privileges that nothing takes after this."""
    give_up_capabilities(LaterSteps(names=False, folders=tuple(one.parent for one in args.output)))


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


def _warn_about_housekeeping(housekeeping: tuple[int, ...]) -> None:
    if not housekeeping:
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


def _spin(args: argparse.Namespace, stopper: Stopper) -> ProbeResult:
    busy = _busy_percents(args.busy)
    settings, missing = _spin_settings(args)
    runs: list[SpinResult] = []
    for number, percent in enumerate(busy, 1):
        # Each of them attaches again.
        attached = partial(_give_up, args) if number == len(busy) else bool
        try:
            result = run_spin(replace(settings, busy_percent=percent), stopper, attached)
        except NoisetopError:
            # What was measured before it was stopped is worth more than the reason.
            if not (runs and stopper.stopped):
                raise
        else:
            runs.append(replace(result, missing=[*result.missing, *missing]))
        if stopper.stopped:
            break
    return ProbeResult("spin", _metadata(args), spin=runs)


def _spin_settings(args: argparse.Namespace) -> tuple[SpinSettings, list[str]]:
    """And what is missing, in words."""
    cpus = probe_cpus(args.cpus)
    if args.threshold is not None and args.threshold < 1:
        raise UsageError("-T takes the shortest gap in ns, 1 or more")
    if args.periods < 0:
        raise UsageError("--periods takes a number, 0 or more")
    check_load(args.load, cpus)
    trace, missing = _wants_trace(args)
    housekeeping = own_cpus(args.housekeeping, cpus)
    _warn_about_housekeeping(housekeeping)
    settings = SpinSettings(
        cpus=cpus,
        duration_ns=parse_duration(args.duration),
        housekeeping=housekeeping,
        threshold_ns=args.threshold or 0,
        priority=parse_priority(args.priority) if args.priority else None,
        fenced=args.fenced,
        bind=args.bind,
        load=args.load,
        trace=trace,
        periods=args.periods,
    )
    return settings, missing


def _switch(args: argparse.Namespace, stopper: Stopper) -> ProbeResult:
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
        housekeeping=own_cpus(args.housekeeping, cpus),
        priority=parse_priority(args.priority) if args.priority else None,
        trace=trace,
    )
    _warn_about_housekeeping(settings.housekeeping)
    result = run_switch(settings, stopper, partial(_give_up, args))
    result = replace(result, missing=[*result.missing, *missing])
    return ProbeResult("switch", _metadata(args), switch=result)


def _numa(args: argparse.Namespace, stopper: Stopper) -> ProbeResult:
    if not 1 <= args.repeats <= _MAX_REPEATS:
        raise UsageError(f"--repeats takes 1 to {_MAX_REPEATS}")
    array_bytes = args.size * _MIB if args.size is not None else default_bytes()
    return ProbeResult("numa", _metadata(args), numa=run_numa(array_bytes, args.repeats))


def _calibrate(args: argparse.Namespace) -> int:
    cpus = probe_cpus(args.cpus)
    duration_ns = parse_duration(args.duration)
    housekeeping = own_cpus(args.housekeeping, cpus)
    check_privileges()
    _warn_about_housekeeping(housekeeping)
    keep_what_attaching_takes(state_folder())
    with catch_signals(stopper := Stopper()):
        entries = entry_costs(measure_cpus(cpus, duration_ns, housekeeping, stopper))
    stopper.close()
    if not entries:
        raise NoisetopError("no entry was seen often enough: use a longer -d")
    facts = calibration_facts()
    report = CalibrationReport(cpus, duration_ns, facts, entries)
    if args.json:
        print(json.dumps(report.as_dict()).replace("\x7f", "\\u007f"))
    else:
        print_lines(fit(report.lines(), output_width()), pager=False)
    path = keep(state_folder(), facts, report.calibration)
    if not args.json:
        print(f"\nkept in {printable(str(path))}")
    return 0


_PROBES: dict[str, Callable[[argparse.Namespace, Stopper], ProbeResult]] = {
    "spin": _spin,
    "switch": _switch,
    "numa": _numa,
}
