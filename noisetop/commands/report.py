"""``noisetop report``: what a recording says, as text or JSON."""

from __future__ import annotations

import argparse
import io
import json
import shutil
import sys
from pathlib import Path

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import collector_for, evidence_of
from noisetop.errors import UsageError
from noisetop.open_recording import open_recording
from noisetop.probe.files import as_json
from noisetop.probe.report import report_lines as probe_lines
from noisetop.probe.result import ProbeResult, looks_like_result, read_result
from noisetop.report import Report, report_lines
from noisetop.report_json import summary_as_dict
from noisetop.worst import WorstInterruption, summarize_with_worst

NAME = "report"
HELP = "summary, top sources and worst moments of a recording"

_WORST = 10
_ANY_WIDTH = 1 << 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording or a trace of noisetop"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument(
        "--top", metavar="N", type=int, default=20, help="sources to list; default: %(default)s"
    )
    parser.add_argument(
        "--histogram",
        metavar="SOURCE",
        default="",
        help="count only sources with this in their path; default: all",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the report."""
    if args.top < 1:
        raise UsageError("--top takes a number above 0")
    if looks_like_result(args.file):
        return _print_result(read_result(args.file), as_text=not args.json)
    recording = open_recording(args.file)
    collector = collector_for(recording)
    summary, worst = summarize_with_worst(recording, _WORST, collector.add)
    evidence = evidence_of(recording, collected=collector)
    report = Report(recording, summary, worst, diagnose(evidence))
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # for a locale without µ
    if args.json:
        _print_json(report)
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _ANY_WIDTH
    for line in report_lines(report, width=width, top=args.top, histogram_of=args.histogram):
        print(line)
    return 0


def _print_result(result: ProbeResult, *, as_text: bool) -> int:
    print("\n".join(probe_lines(result)).lstrip("\n") if as_text else as_json(result))
    return 0


def _print_json(report: Report) -> None:
    recording = report.recording
    content = {
        **summary_as_dict(report.summary),
        "ended": recording.ended,
        "damage": recording.damage,
        "metadata": recording.metadata,
        "worst": [_worst(one) for one in report.worst],
    }
    # json escapes all control characters but this one.
    print(json.dumps(content).replace("\x7f", "\\u007f"))


def _worst(one: WorstInterruption) -> dict[str, object]:
    return {
        "cpu": one.stretch.cpu,
        "start_ns": one.stretch.start_ns,
        "end_ns": one.stretch.end_ns,
        "noise_ns": one.stretch.noise_ns,
        "victim_tid": one.victim_tid,
        "parts": [
            {
                "path": list(part.source.path),
                "start_ns": part.start_ns,
                "net_ns": part.net_ns,
                "trigger": part.trigger.label,
            }
            for part in one.parts
        ],
        "more_count": one.more_count,
        "more_ns": one.more_ns,
    }
