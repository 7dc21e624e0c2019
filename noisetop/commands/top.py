"""``noisetop top``: the live view, a dashboard in a terminal and plain text elsewhere."""

from __future__ import annotations

import argparse
import importlib
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from noisetop.commands._session import Session, add_session_arguments
from noisetop.errors import UsageError
from noisetop.feed import TracerFeed
from noisetop.plain import run_plain
from noisetop.units import parse_duration

if TYPE_CHECKING:
    from noisetop.capture import Capture

NAME = "top"
HELP = "watch live; plain text when stdout is no terminal"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_session_arguments(parser)
    parser.add_argument(
        "interval", nargs="?", help="plain text: seconds between samples; default: 1"
    )
    parser.add_argument("count", nargs="?", type=int, help="plain text: number of samples")
    parser.add_argument("--plain", action="store_true", help="plain text in a terminal, too")
    parser.add_argument("--json", action="store_true", help="one JSON object per line and sample")
    parser.add_argument("-o", "--output", type=Path, help="record as well, as noisetop record does")
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Shows; the exit status of the command after ``--`` where there is one."""
    interval_ns = parse_duration(args.interval) if args.interval else 1_000_000_000
    if args.count is not None and args.count < 1:
        raise UsageError("the number of samples must be at least 1")
    plain = args.plain or args.json or args.interval or not sys.stdout.isatty()
    capture = _capture(args)
    with tempfile.TemporaryFile() as written:
        # On the dashboard's terminal what the command writes waits until the dashboard is gone.
        session = Session(args, -1 if plain else written.fileno())
        if not plain:
            # Textual takes long to import; meanwhile the kernel checks and attaches the programs.
            threading.Thread(target=importlib.import_module, args=("noisetop.tui.app",)).start()
        with session:
            _show_and_record(session, capture, interval_ns, args, plain=bool(plain))
            status = session.status()
        written.seek(0)
        shutil.copyfileobj(written, sys.stdout.buffer)
    return status


def _show_and_record(
    session: Session,
    capture: Capture | None,
    interval_ns: int,
    args: argparse.Namespace,
    *,
    plain: bool,
) -> None:
    if capture:
        capture.create()
    try:
        _show(session, capture, interval_ns, args, plain=plain)
    finally:
        if capture:
            capture.close()


def _capture(args: argparse.Namespace) -> Capture | None:
    if not args.output:
        return None
    from noisetop.capture import Capture

    return Capture(args.output, args.force)


def _show(
    session: Session,
    capture: Capture | None,
    interval_ns: int,
    args: argparse.Namespace,
    *,
    plain: bool,
) -> None:
    with session.tracer(spool_fd=capture.fd if capture else -1) as tracer:
        if capture:
            capture.begin(tracer)
        else:
            tracer.open_books()
        session.begin()
        feed = TracerFeed(tracer, session.stopper, interval_ns, session.target.title)
        try:
            if plain:
                run_plain(feed, sys.stdout, count=args.count, json_lines=args.json)
            else:
                _run_dashboard(feed)
        finally:
            if not tracer.end_ns:
                tracer.close_books()
        if capture:
            capture.end(tracer, session.stopper.reason)
    if capture:
        capture.publish()


def _run_dashboard(feed: TracerFeed) -> None:
    from noisetop.tui.app import run_dashboard

    run_dashboard(feed)
