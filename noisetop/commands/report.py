"""``noisetop report``: what a recording says, as text or JSON."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import collector_for, evidence_of
from noisetop.errors import UsageError
from noisetop.events.task_directory import TaskDirectory
from noisetop.gaps.files import as_json, looks_like_result, read_result
from noisetop.gaps.report import report_lines as probe_lines
from noisetop.gaps.result import ProbeResult
from noisetop.recording.open import open_recording
from noisetop.report.text import Report, report_lines
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.worst import WorstInterruption, summarize_with_worst
from noisetop.text.layout import fit, output_width
from noisetop.text.terminal_output import add_pager_argument, print_lines

NAME = "report"
HELP = "summary, top sources and worst moments of a recording"
DESCRIPTION = (
    "Prints what a recording contains: totals per CPU, noise by source and by trigger, the "
    "longest interruptions and a histogram. FILE is a recording, a Chrome trace that noisetop "
    "wrote, or a result of noisetop probe."
)
EXAMPLES = (
    Example("noisetop report noise.noisetop", "the report; in a terminal it is shown in a pager"),
    Example("noisetop report noise.noisetop --top 5", "only the five largest sources"),
    Example(
        "noisetop report noise.noisetop --histogram NET_RX",
        "histogram of the sources with NET_RX in their path",
    ),
    Example("noisetop report noise.noisetop --json", "everything as JSON, times in nanoseconds"),
)

_WORST = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording, a trace of noisetop or a probe result"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also the command lines and parents of all who lost or took time",
    )
    add_pager_argument(parser)
    parser.add_argument(
        "--top", metavar="N", type=int, default=20, help="sources to list; default: %(default)s"
    )
    parser.add_argument(
        "--histogram",
        metavar="SOURCE",
        default="",
        help="histogram of the sources whose path contains this text; default: all sources",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the report."""
    if args.top < 1:
        raise UsageError("--top takes a number above 0")
    if looks_like_result(args.file):
        _print_result(read_result(args.file), args)
        return 0
    recording = open_recording(args.file)
    collector = collector_for(recording)
    summary, worst = summarize_with_worst(recording, _WORST, collector.add)
    evidence = evidence_of(recording, collected=collector)
    report = Report(recording, summary, worst, diagnose(evidence))
    if args.json:
        _print_json(report)
        return 0
    lines = report_lines(
        report,
        width=output_width(),
        top=args.top,
        histogram_of=args.histogram,
        verbose=args.verbose,
    )
    print_lines(lines, pager=args.pager)
    return 0


def _print_result(result: ProbeResult, args: argparse.Namespace) -> None:
    if args.json:
        print(as_json(result))
    else:
        print_lines(fit(probe_lines(result), output_width()), pager=args.pager)


def _print_json(report: Report) -> None:
    recording = report.recording
    content = {
        **summary_as_dict(report.summary),
        "ended": recording.ended,
        "damage": recording.damage,
        "metadata": recording.metadata,
        "worst": [_worst(one, report.summary.directory) for one in report.worst],
    }
    # json escapes all control characters but this one.
    print(json.dumps(content).replace("\x7f", "\\u007f"))


def _worst(one: WorstInterruption, directory: TaskDirectory) -> dict[str, object]:
    return {
        "cpu": one.interval.cpu,
        "start_ns": one.interval.start_ns,
        "end_ns": one.interval.end_ns,
        "noise_ns": one.interval.noise_ns,
        "victim_tid": one.victim_tid,
        "victim": {"name": directory.name(one.victim_tid), **directory.as_dict(one.victim_tid)},
        "parts": [
            {
                "path": list(part.source.path),
                "start_ns": part.start_ns,
                "net_ns": part.net_ns,
                "trigger": part.trigger.label,
                "task": {"tid": part.tid, **directory.as_dict(part.tid)} if part.tid else None,
            }
            for part in one.parts
        ],
        "more_count": one.more_count,
        "more_ns": one.more_ns,
    }
