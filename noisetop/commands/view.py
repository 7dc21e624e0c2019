"""``noisetop view``: a recording in the dashboard, played back."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.errors import NoisetopError, UsageError
from noisetop.live.periods import MOST_PERIODS, Periods, usual_length_ns
from noisetop.live.playback import Playback
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.recording.open import open_recording
from noisetop.session.options import add_net_argument
from noisetop.summary.recorded import VICTIM_OF_FILE, say_victim
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.units import parse_duration

NAME = "view"
HELP = "the dashboard over a recording: step, play, next worst moment"
DESCRIPTION = (
    "Shows a recording in the dashboard of noisetop top (press ? for its keys). It opens with the "
    "whole recording; from there it is played, stepped through period by period, searched for its "
    "worst moments, or cut to a range. The figures of a period are those that the live view "
    "showed. FILE is a recording or a Chrome trace that noisetop wrote."
)
EXAMPLES = (
    Example("noisetop view noise.noisetop", "the whole recording; . steps through its seconds"),
    Example("noisetop view noise.noisetop --interval 100ms", "in periods of 100 ms"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording or a Chrome trace of noisetop"
    )
    parser.add_argument(
        "--interval",
        metavar="TIME",
        help="length of a period, as in 100ms, 1s, 1m; default: 1s, less for a recording of a few "
        "seconds, more for one of hours",
    )
    parser.add_argument("--victim", metavar="PID|NAME", help=VICTIM_OF_FILE)
    add_net_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Shows it until the user quits."""
    length_ns = parse_duration(args.interval) if args.interval else 0
    recording = open_recording(args.file)
    say_victim(recording, args.victim)
    if args.net:
        recording.rank_by_net()
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise NoisetopError(
            f"view needs a terminal to draw on: noisetop report {args.file} prints text"
        )
    length_ns = length_ns or usual_length_ns(recording.duration_ns)
    if recording.duration_ns > length_ns * MOST_PERIODS:
        raise UsageError(
            f"--interval {args.interval} makes more than {MOST_PERIODS} periods: give a longer one"
        )
    periods = Periods.of(recording.start_ns, recording.end_ns, length_ns)
    title = str(recording.metadata.get("target") or f"CPUs {format_cpu_list(recording.cpus)}")
    feed = PlaybackFeed(Playback(recording, periods), f"{args.file.name}  {title}")
    from noisetop.tui.app import run_dashboard  # takes long: it brings Textual

    run_dashboard(feed)
    return 0
