"""``noisetop record``: traces into a file until it is told to stop."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from noisetop.capture import Capture
from noisetop.commands._session import Session, add_session_arguments
from noisetop.tracer import Tracer
from noisetop.units import format_count, format_ns

NAME = "record"
HELP = "trace into a file, for Perfetto, flame graphs and reports"

_CHECK_INTERVAL_NS = 500_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_session_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("noise.noisetop"),
        help="file to write, by its suffix: .noisetop .json .json.gz .folded .svg; "
        "default: %(default)s",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    parser.add_argument("-q", "--quiet", action="store_true", help="only errors")


def run(args: argparse.Namespace) -> int:
    """Records; the exit status of the command after ``--`` where there is one."""
    with Session(args) as session:
        capture = Capture(args.output, args.force)
        capture.create()
        try:
            _record(session, capture, quiet=args.quiet)
        finally:
            capture.close()
        return session.status()


def _record(session: Session, capture: Capture, *, quiet: bool) -> None:
    tracer = session.tracer(spool_fd=capture.fd, keep_batches=False)
    started = False
    try:
        with tracer:
            capture.begin(tracer)
            started = True
            session.begin()
            if not quiet:
                _say(f"recording {session.target.title} to {capture.path}: Ctrl-C ends it")
            _wait(session, tracer)
            tracer.close_books()
            capture.end(tracer, session.stopper.reason)
            summary = _closing_line(tracer, capture, session.stopper.reason)
    finally:
        if not started:
            capture.discard()
    capture.publish()
    if not quiet:
        _say(summary)


def _wait(session: Session, tracer: Tracer) -> None:
    while not session.stopper.wait_until(time.monotonic_ns() + _CHECK_INTERVAL_NS):
        if tracer.spool_errno:
            session.stopper.stop(os.strerror(tracer.spool_errno))


def _closing_line(tracer: Tracer, capture: Capture, reason: str) -> str:
    why = f"{reason}; " if reason else ""
    duration = format_ns(tracer.end_ns - tracer.start_ns)
    events = format_count(tracer.event_count)
    return f"{why}{events} events in {duration}, {tracer.losses().total} lost: {capture.path}"


def _say(line: str) -> None:
    print(f"noisetop: {line}", file=sys.stderr)
