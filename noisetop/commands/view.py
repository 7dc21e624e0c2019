"""``noisetop view``: a recording in the dashboard, played back."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.errors import NoisetopError, UsageError
from noisetop.live.pair import Pair
from noisetop.live.periods import MOST_PERIODS, Periods, usual_length_ns
from noisetop.live.playback import Playback
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.session.options import add_net_argument
from noisetop.summary.recorded import VICTIM_OF_FILE, say_victim
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.terminal_output import is_dumb
from noisetop.text.units import parse_duration

NAME = "view"
HELP = "the dashboard over a recording: step, play, next worst moment"
DESCRIPTION = (
    "Shows a recording in the dashboard of noisetop top (press ? for its keys). It opens with the "
    "whole recording; from there it is played, stepped through period by period, searched for its "
    "worst moments, or cut to a range. The figures of a period are those that the live view "
    "showed. FILE is a recording or a Chrome trace that noisetop wrote. With a second one the view "
    "opens with what changed, source by source and with significance tests; V goes from one "
    "recording to the other."
)
EXAMPLES = (
    Example("noisetop view noise.noisetop", "the whole recording; . steps through its seconds"),
    Example("noisetop view noise.noisetop --interval 100ms", "in periods of 100 ms"),
    Example("noisetop view before.noisetop after.noisetop", "what changed, and both played back"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording or a Chrome trace of noisetop"
    )
    parser.add_argument(
        "other",
        metavar="OTHER",
        nargs="?",
        type=Path,
        help="a second one: both are compared, FILE as A and this one as B",
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
    files = [args.file, *filter(None, [args.other])]
    recordings = [_opened(file, args) for file in files]
    if not sys.stdout.isatty() or is_dumb():
        verb = "report" if args.other is None else "compare"
        names = " ".join(map(str, files))
        raise NoisetopError(
            f"view needs a terminal to draw on: noisetop {verb} {names} prints text"
        )
    feeds = [
        _feed(recording, length_ns, file, args)
        for recording, file in zip(recordings, files, strict=True)
    ]
    from noisetop.tui.app import run_dashboard, run_pair  # takes long: it brings Textual

    if args.other is None:
        run_dashboard(feeds[0])
    else:
        feeds[0].title, feeds[1].title = f"A  {feeds[0].title}", f"B  {feeds[1].title}"
        run_pair(Pair(feeds[0], feeds[1], (args.file, args.other)))
    return 0


def _opened(file: Path, args: argparse.Namespace) -> Recording:
    recording = open_recording(file)
    say_victim(recording, args.victim)
    if args.net:
        recording.rank_by_net()
    return recording


def _feed(
    recording: Recording, length_ns: int, file: Path, args: argparse.Namespace
) -> PlaybackFeed:
    length_ns = length_ns or usual_length_ns(recording.duration_ns)
    if recording.duration_ns > length_ns * MOST_PERIODS:
        raise UsageError(
            f"--interval {args.interval} makes more than {MOST_PERIODS} periods: give a longer one"
        )
    periods = Periods.of(recording.start_ns, recording.end_ns, length_ns)
    title = str(recording.metadata.get("target") or f"CPUs {format_cpu_list(recording.cpus)}")
    return PlaybackFeed(Playback(recording, periods), f"{file.name}  {title}")
