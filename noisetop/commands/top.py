"""``noisetop top``: shows a running trace, on a dashboard or as another live output."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.errors import UsageError
from noisetop.live.feed import TracerFeed
from noisetop.live.starting_feed import StartingFeed
from noisetop.live_outputs import add_output_arguments, chosen_output
from noisetop.session.live_recorder import LiveRecorder, add_live_recorder_arguments
from noisetop.session.notice import notice
from noisetop.session.options import add_net_argument, add_run_arguments
from noisetop.session.temporary import temporary_file
from noisetop.session.traced_run import TracedRun
from noisetop.text.terminal_output import is_dumb
from noisetop.text.units import parse_duration
from noisetop.tracing.later_steps import LaterSteps

NAME = "top"
HELP = "live dashboard; plain text if stdout is not a terminal"
DESCRIPTION = (
    "Shows live how much time is taken from the target, and by what. On a terminal it is a "
    "dashboard (press ? for its keys); with an interval, --plain or --json, or if stdout is "
    "not a terminal, it prints one table or one JSON object per sample."
)
EXAMPLES = (
    Example("noisetop top -c 2-3", "dashboard of two CPUs"),
    Example("noisetop top -p 1234", "dashboard of what interrupts one process"),
    Example("noisetop top -c 2-3 1 10", "plain text: ten samples of one second each"),
    Example("noisetop top -c 2-3 --json 500ms 20", "one JSON object per line, every 500 ms"),
    Example(
        "noisetop top -o noise.noisetop -- ./benchmark",
        "dashboard while a benchmark runs, recorded into a file as well",
    ),
    Example(
        "noisetop top -c 2-3 --worst 5 -o worst/",
        "dashboard, and the five worst moments in files: key W lists them",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_run_arguments(parser, default_duration="until q or Ctrl-C")
    parser.add_argument(
        "interval", nargs="?", help="plain text: seconds between samples; default: 1"
    )
    parser.add_argument(
        "count", nargs="?", type=int, help="plain text: number of samples; default: no limit"
    )
    add_output_arguments(parser)
    add_net_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="also record into this file, as noisetop record does; with --worst a folder",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    add_live_recorder_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Shows; the exit status of the command after ``--`` where there is one."""
    interval_ns = parse_duration(args.interval) if args.interval else 1_000_000_000
    if args.count is not None and args.count < 1:
        raise UsageError("the number of samples must be at least 1")
    drawable = sys.stdout.isatty() and not is_dumb()
    output, settings = chosen_output(args, terminal=drawable and not args.interval)
    # What the command writes waits until the terminal is free again.
    waits = bool(args.workload) and output.owns_terminal
    recorder = LiveRecorder.of(args, has_keys=output.owns_terminal)
    with temporary_file() if waits else nullcontext() as written:
        run = TracedRun(
            args,
            output=None if args.worst else args.output,
            live=True,
            later=_later(args, has_keys=output.owns_terminal),
            workload_output_fd=written.fileno() if written else -1,
            say=recorder.say if recorder else notice,
        )
        with run:
            with ExitStack() as trace:
                if recorder:
                    trace.callback(recorder.say_again)
                begin = partial(trace.enter_context, _traced(args, run, recorder, interval_ns))
                feed = StartingFeed(
                    run.begun_apart(begin) if output.owns_terminal else begin,
                    run.stopper,
                    run.target.title,
                    interval_ns,
                )
                if not output.owns_terminal:
                    feed.start()
                output.run(feed, sys.stdout, replace(settings, snapshots=recorder))
            status = run.status()
        if written:
            written.seek(0)
            shutil.copyfileobj(written, sys.stdout.buffer)
    return status


def _later(args: argparse.Namespace, *, has_keys: bool) -> LaterSteps:
    """Keys write into the current folder."""
    folders = (Path(),) if has_keys else ()
    return LaterSteps(audit=has_keys, folders=(*folders, *([args.output] if args.worst else ())))


@contextmanager
def _traced(
    args: argparse.Namespace, run: TracedRun, recorder: LiveRecorder | None, interval_ns: int
) -> Iterator[TracerFeed]:
    """The feed of a trace that runs until the end of the block."""
    with run.tracing() as tracer, recorder.beside(tracer) if recorder else nullcontext():
        yield TracerFeed(
            tracer,
            run.stopper,
            interval_ns,
            run.target.title,
            args.count,
            args.net,
            keeps_moments=recorder is not None and recorder.has_keys,
        )
