"""``noisetop compare``: two recordings or two probe results, statistically."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.compare.comparison import ALPHA, compare
from noisetop.compare.report import comparison_as_dict, comparison_lines
from noisetop.compare.sample import (
    Sample,
    block_length_ns,
    sample_of_recording,
    sample_of_result,
)
from noisetop.compare.values import compare_values, measured_of_result
from noisetop.compare.values_report import value_lines, values_as_dict
from noisetop.counters.losses import LOSSES
from noisetop.errors import UsageError
from noisetop.gaps.files import looks_like_result, read_result
from noisetop.gaps.result import ProbeResult
from noisetop.limits.gap_figures import gap_outcomes, lost_events
from noisetop.limits.grammar import Limit
from noisetop.limits.noise_figures import outcomes_of
from noisetop.limits.outcome import Outcome
from noisetop.recording.open import open_recording
from noisetop.session.fail_on import add_fail_on_argument, limit_status
from noisetop.summary.worst import WORST_KEPT, summarize_with_worst, with_external
from noisetop.text.layout import output_width
from noisetop.text.terminal_output import add_pager_argument, print_lines

NAME = "compare"
HELP = "compare two recordings or probe results, with significance tests"
DESCRIPTION = (
    "Compares two recordings, or two results of one kind of probe, source by source: time, "
    "rate and mean duration, with confidence intervals. A change is reported as significant "
    "only if it is unlikely to be chance."
)
EXAMPLES = (
    Example("noisetop compare before.noisetop after.noisetop", "compare two recordings"),
    Example(
        "noisetop compare before.noisetop after.noisetop --alpha 0.001",
        "with a stricter significance level",
    ),
    Example(
        "noisetop compare spin-a.json spin-b.json --json", "compare two probe results, as JSON"
    ),
    Example(
        "noisetop compare before.noisetop after.noisetop --fail-on 'noise>0.1%'",
        "for builds: exit status 3 if there is more noise than that in B",
    ),
)

_SMALLEST_ALPHA = 0.0001
"""A smaller one takes more permutations than anybody waits for."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("a", metavar="A", type=Path, help="a recording or a probe result")
    parser.add_argument("b", metavar="B", type=Path, help="another of the same kind")
    parser.add_argument(
        "--alpha",
        metavar="RATE",
        type=float,
        default=ALPHA,
        help="family-wise error rate over all sources; default: %(default)s",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=15,
        help="number of sources without a significant change to list; default: %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_fail_on_argument(parser, of="the limits are on B")
    add_pager_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Compares and prints; 3 where B exceeds a limit of --fail-on."""
    if not _SMALLEST_ALPHA <= args.alpha < 1:
        raise UsageError(f"--alpha takes a rate from {_SMALLEST_ALPHA} to below 1, as in 0.01")
    if args.top < 0:
        raise UsageError("--top takes a number, 0 or more")
    content, lines = _compare(args)
    outcomes, lost, damage = _judged(args.limits, args.b)
    if args.json:
        limits = [one.as_dict() for one in outcomes]
        print(json.dumps({**content, "limits": limits}).replace("\x7f", "\\u007f"))
    else:
        print_lines(lines, pager=args.pager)
    return limit_status(outcomes, lost, damage)


def _judged(limits: Sequence[Limit], path: Path) -> tuple[tuple[Outcome, ...], int, str]:
    """What became of the limits, how many records were lost, and what is wrong with the file."""
    if not limits:
        return (), 0, ""
    if looks_like_result(path):
        result = read_result(path)
        return gap_outcomes(limits, result), lost_events(result), ""
    recording = open_recording(path)
    summary, worst = summarize_with_worst(recording, WORST_KEPT)
    lost = summary.counters.of(LOSSES).total
    worst = with_external(recording, summary, worst)
    return outcomes_of(limits, summary, worst), lost, recording.damage


def _compare(args: argparse.Namespace) -> tuple[dict[str, object], Iterator[str]]:
    """The comparison for JSON and as text."""
    width = output_width()
    results = _results(args.a, args.b)
    if results and results[0].kind != "spin":
        one, other = (
            measured_of_result(str(p), r) for p, r in zip((args.a, args.b), results, strict=True)
        )
        values = compare_values(one, other, args.alpha)
        return values_as_dict(values), value_lines(values, width)
    samples = _of_results(args.a, args.b, *results) if results else _of_recordings(args.a, args.b)
    comparison = compare(*samples, alpha=args.alpha)
    return comparison_as_dict(comparison), comparison_lines(comparison, args.top, width)


def _results(a: Path, b: Path) -> tuple[ProbeResult, ProbeResult] | None:
    """Both as results of one kind of probe, None when both are recordings."""
    results = [looks_like_result(path) for path in (a, b)]
    if not any(results):
        return None
    if all(results):
        one, other = read_result(a), read_result(b)
        if one.kind == other.kind:
            return one, other
    raise UsageError(f"{a} and {b} are of different kinds: compare two of one kind")


def _of_results(a: Path, b: Path, one: ProbeResult, other: ProbeResult) -> tuple[Sample, Sample]:
    return sample_of_result(str(a), one), sample_of_result(str(b), other)


def _of_recordings(a: Path, b: Path) -> tuple[Sample, Sample]:
    first, second = open_recording(a), open_recording(b)
    block_ns = block_length_ns((first.duration_ns, second.duration_ns))
    return (
        sample_of_recording(str(a), first, block_ns),
        sample_of_recording(str(b), second, block_ns),
    )
