"""``noisetop record``: traces into a file until it is told to stop."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.counters.losses import LOSSES
from noisetop.errors import UsageError
from noisetop.exporters import exporters_by_suffix
from noisetop.limits.grammar import Limit
from noisetop.limits.noise_figures import outcomes_of
from noisetop.recording.open import SUFFIX
from noisetop.recording.recording import Recording
from noisetop.session.daemon import in_background
from noisetop.session.fail_on import add_fail_on_argument, limit_status
from noisetop.session.flight_options import (
    add_daemon_argument,
    add_flight_arguments,
    flight_options,
)
from noisetop.session.flight_run import FlightRun
from noisetop.session.notice import notice
from noisetop.session.options import add_run_arguments
from noisetop.session.progress import progress_line
from noisetop.session.traced_run import RunResult, TracedRun
from noisetop.summary.worst import WORST_KEPT, summarize_with_worst, with_external
from noisetop.tracing.tracer import Tracer

NAME = "record"
HELP = "trace into a file, for reports, Perfetto and flame graphs"
DESCRIPTION = (
    "Traces a target into a file until Ctrl-C, until the duration is over, or until CMD or "
    "the watched process ends. Without a target it watches the isolated CPUs if there are "
    "any, otherwise all online CPUs; with CMD alone it watches CMD."
)
EXAMPLES = (
    Example("noisetop record -c 2-3 -d 10s", "record two CPUs for ten seconds into noise.noisetop"),
    Example(
        "noisetop record -p 1234 --follow -o app.noisetop",
        "record a process and its children until Ctrl-C",
    ),
    Example(
        "noisetop record -o bench.noisetop -- ./benchmark --runs 5",
        "record while a benchmark runs; the exit status is that of the benchmark",
    ),
    Example(
        "noisetop record -c 2-3 -d 2s --stacks -o trace.json",
        "record with the stacks of the senders of interrupts, for Perfetto",
    ),
    Example(
        "noisetop record -c 2-3 --worst 5 -o worst/",
        "keep the five worst moments until Ctrl-C, each with what came before and after",
    ),
    Example(
        "noisetop record -c 2 -s 50 -o spike.noisetop",
        "stop at the first 50 µs of external noise; the last 10 seconds are in the file",
    ),
    Example(
        "noisetop record -c 2 --fail-on 'noise>0.1%,lost>0' -- taskset -c 2 ./benchmark",
        "for builds: exit status 3 if there is more noise, and who caused it",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_run_arguments(parser, default_duration="until Ctrl-C, or the end of what is watched")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        default=Path(f"noise{SUFFIX}"),
        help="output file; its suffix selects the format: "
        f"{' '.join(exporters_by_suffix())}; "
        "default: %(default)s",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    add_fail_on_argument(parser)
    add_flight_arguments(parser)
    add_daemon_argument(parser)
    parser.add_argument("-q", "--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> int:
    """Records; the exit status of the command after ``--`` where there is one and it is not 0, else
    3 where a limit of --fail-on is exceeded."""
    options = flight_options(args)
    if args.daemon and args.workload:
        raise UsageError("--daemon runs no command: leave it out, or the command")
    with in_background(args.output, wanted=args.daemon) as started:
        if options:
            flight = FlightRun(args, options)
            with TracedRun(args, live=True, later=flight.later) as run:
                reached = flight.run(run, started)
                return run.status() or reached
        return _record(args, started)


def _record(args: argparse.Namespace, started: Callable[[], None]) -> int:
    """All of it, into one file."""
    judged = [0]

    def judge(recording: Recording) -> None:
        judged[0] = _limit_status(args.limits, recording)

    inspect = judge if args.limits else None
    with TracedRun(args, output=args.output, inspect=inspect) as run:
        with run.tracing() as tracer:
            started()
            if not args.quiet:
                notice(f"recording {run.target.title} to {args.output}: Ctrl-C ends it")
            _wait(run, tracer, quiet=args.quiet)
        if run.result and not args.quiet:
            notice(_closing_line(run.result, args.output))
        return run.status() or judged[0]


def _limit_status(limits: Sequence[Limit], recording: Recording) -> int:
    summary, worst = summarize_with_worst(recording, WORST_KEPT)
    lost = summary.counters.of(LOSSES).total
    worst = with_external(recording, summary, worst)
    return limit_status(outcomes_of(limits, summary, worst), lost, recording.damage)


def _wait(run: TracedRun, tracer: Tracer, *, quiet: bool) -> None:
    """With a progress line, unless what the command writes could come between."""
    if quiet or run.workload or not run.capture or not sys.stderr.isatty():
        run.wait(tracer)
        return
    with progress_line(sys.stderr, tracer) as update:
        run.wait(tracer, update)


def _closing_line(result: RunResult, output: Path) -> str:
    why = f"{result.reason}; " if result.reason else ""
    return f"{why}{result.words}: {output}"
