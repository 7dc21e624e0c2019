"""``noisetop report``: what a recording says, as text, JSON or Markdown, and limits on it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.counters.losses import LOSSES
from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import collector_for, evidence_of
from noisetop.errors import UsageError
from noisetop.events.task_directory import TaskDirectory
from noisetop.gaps.files import as_json, looks_like_result, read_result
from noisetop.gaps.report import report_lines as probe_lines
from noisetop.gaps.result import ProbeResult
from noisetop.limits.gap_figures import gap_outcomes, lost_events, spun_ns
from noisetop.limits.grammar import COST
from noisetop.limits.junit import junit_xml
from noisetop.limits.noise_figures import outcomes_of
from noisetop.limits.outcome import loss_warning
from noisetop.output import Output, check_output
from noisetop.recording.open import open_recording
from noisetop.recording.part import part_of
from noisetop.recording.recording import Recording
from noisetop.report.markdown import markdown_lines
from noisetop.report.moment import with_moment_first
from noisetop.report.stacks import kernel_stack, stack_rows, victim_stack
from noisetop.report.text import Report, report_lines
from noisetop.session.fail_on import add_fail_on_argument, limit_status
from noisetop.session.options import add_net_argument
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import VICTIM_OF_FILE, check_victim, say_victim
from noisetop.summary.worst import (
    WORST_KEPT,
    WorstInterruption,
    summarize_with_worst,
    with_external,
)
from noisetop.text.layout import fit, output_width
from noisetop.text.terminal_output import add_pager_argument, print_lines
from noisetop.text.units import parse_duration

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
    Example(
        "noisetop report noise.noisetop --from 2s --to 5s",
        "only three seconds of it, as before and after a change of the isolation",
    ),
    Example("noisetop report noise.noisetop --json", "everything as JSON, times in nanoseconds"),
    Example(
        "noisetop report noise.noisetop --fail-on 'noise>0.1%,single>50us' --junit limits.xml",
        "for builds: exit status 3 if a limit is exceeded, and a JUnit file",
    ),
)

_MOST_STACKS = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording, a trace of noisetop or a probe result"
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object instead of text")
    forms.add_argument(
        "--markdown",
        action="store_true",
        help="Markdown instead of text, for the summary page of a build: verdict, limits, sources",
    )
    add_fail_on_argument(parser)
    parser.add_argument(
        "--junit",
        metavar="FILE",
        type=Path,
        help="with --fail-on: write JUnit XML with a test case for each limit",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the file of --junit")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="also the command lines and parents of all who lost or took time",
    )
    parser.add_argument("--victim", metavar="PID|NAME", help=VICTIM_OF_FILE)
    add_net_argument(parser)
    for name, dest, default in (("--from", "since", "its start"), ("--to", "until", "its end")):
        parser.add_argument(
            name,
            dest=dest,
            metavar="TIME",
            help=f"only a part of the recording, as in 500ms, 2.5s; default: {default}",
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
    """Prints the report; 3 where a limit of --fail-on is exceeded."""
    if args.top < 1:
        raise UsageError("--top takes a number above 0")
    if args.net and any(one.name == COST for one in args.limits):
        raise UsageError("--net leaves no estimate of the cost to limit: leave one of them out")
    junit = _junit_output(args)
    if looks_like_result(args.file):
        return _report_result(args, junit)
    report = _report(args)
    lost, damage = report.summary.counters.of(LOSSES).total, report.recording.damage
    if junit:
        warning = loss_warning(report.limits, lost, damage)
        _write(junit, junit_xml(report.limits, report.summary.duration_ns, warning))
    _print_report(report, args)
    return limit_status(report.limits, lost, damage)


def _report_result(args: argparse.Namespace, junit: Output | None) -> int:
    """Of a probe."""
    if args.since or args.until or args.victim or args.net or args.markdown:
        raise UsageError(f"{args.file} is a probe result: it takes --json and --fail-on only")
    result = read_result(args.file)
    outcomes, lost = gap_outcomes(args.limits, result), lost_events(result)
    if junit:
        _write(junit, junit_xml(outcomes, spun_ns(result), loss_warning(outcomes, lost)))
    _print_result(result, args)
    return limit_status(outcomes, lost)


def _write(output: Output, content: bytes) -> None:
    with output.opened() as file:
        file.write(content)


def _junit_output(args: argparse.Namespace) -> Output | None:
    """Where --junit writes; checked before the recording is read."""
    if args.junit is None:
        return None
    if not args.limits:
        raise UsageError("--junit goes with --fail-on LIMITS, as in --fail-on 'noise>0.1%'")
    return check_output(args.junit, force=args.force)


def _report(args: argparse.Namespace) -> Report:
    """Reads the recording, or the part of it that is asked for."""
    recording = open_recording(args.file)
    say_victim(recording, args.victim)
    if args.since is not None or args.until is not None:
        recording = part_of(recording, _moment(args.since) or 0, _moment(args.until))
    if args.net:
        recording.rank_by_net()
    collector = collector_for(recording)
    summary, worst = summarize_with_worst(recording, WORST_KEPT, collector.add)
    check_victim(summary.cpu_victims, args.victim)
    candidates = with_external(recording, summary, worst) if args.limits else ()
    outcomes = outcomes_of(args.limits, summary, candidates)
    evidence = evidence_of(recording, collected=collector)
    stacks = stack_rows(recording, evidence.shares)
    worst = with_moment_first(recording, worst)
    return Report(recording, summary, worst, diagnose(evidence), stacks, outcomes)


def _print_report(report: Report, args: argparse.Namespace) -> None:
    if args.json:
        _print_json(report)
        return
    if args.markdown:
        print("\n".join(markdown_lines(report, top=args.top)))
        return
    lines = report_lines(
        report,
        width=output_width(),
        top=args.top,
        histogram_of=args.histogram,
        verbose=args.verbose,
    )
    print_lines(lines, pager=args.pager)


def _moment(text: str | None) -> int | None:
    """A time after the start; 0 is one as well."""
    if text is None:
        return None
    return 0 if text.strip() in ("0", "0s") else parse_duration(text)


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
        "worst": [_worst(one, recording, report.summary.directory) for one in report.worst],
        "limits": [one.as_dict() for one in report.limits],
        "stacks": [row.as_dict() for row in report.stacks[:_MOST_STACKS]],
    }
    # json escapes all control characters but this one.
    print(json.dumps(content).replace("\x7f", "\\u007f"))


def _worst(
    one: WorstInterruption, recording: Recording, directory: TaskDirectory
) -> dict[str, object]:
    return {
        "cpu": one.interval.cpu,
        "start_ns": one.interval.start_ns,
        "end_ns": one.interval.end_ns,
        "noise_ns": one.interval.noise_ns,
        "victim_tid": one.victim_tid,
        "victim": {"name": directory.name(one.victim_tid), **directory.as_dict(one.victim_tid)},
        "victim_stack": list(victim_stack(recording, one)),
        "parts": [
            {
                "path": list(part.source.path),
                "start_ns": part.start_ns,
                "net_ns": part.net_ns,
                "origin": part.origin.label,
                "trigger": part.trigger.label,
                "stack": list(kernel_stack(recording, part.trigger)),
                "user_stack": list(recording.user_stack_of(part.trigger)),
                "task": {"tid": part.tid, **directory.as_dict(part.tid)} if part.tid else None,
            }
            for part in one.parts
        ],
        "more_count": one.more_count,
        "more_ns": one.more_ns,
    }
