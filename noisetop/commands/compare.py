"""``noisetop compare``: two recordings or two probe results, statistically."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

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
from noisetop.errors import UsageError
from noisetop.open_recording import open_recording
from noisetop.probe.result import ProbeResult, looks_like_result, read_result

NAME = "compare"
HELP = "what changed between two recordings or probe results, and whether it is chance"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("a", metavar="A", type=Path, help="a recording or a result of a probe")
    parser.add_argument("b", metavar="B", type=Path, help="another one of the same kind")
    parser.add_argument(
        "--alpha",
        metavar="CHANCE",
        type=float,
        default=ALPHA,
        help="allowed chance of even one false finding among all sources; default: %(default)s",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=int,
        default=15,
        help="sources without a significant change to list; default: %(default)s",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")


def run(args: argparse.Namespace) -> int:
    """Compares and prints."""
    if args.workload:
        raise UsageError("compare runs no command: noisetop record -- CMD does")
    if not 0 < args.alpha < 1:
        raise UsageError("--alpha takes a chance between 0 and 1, as in 0.01")
    if args.top < 0:
        raise UsageError("--top takes a number, 0 or more")
    told, lines = _compare(args)
    if args.json:
        print(json.dumps(told).replace("\x7f", "\\u007f"))
    else:
        print("\n".join(lines))
    return 0


def _compare(args: argparse.Namespace) -> tuple[dict[str, object], Iterator[str]]:
    """The comparison for JSON and as text."""
    results = _results(args.a, args.b)
    if results and results[0].kind != "spin":
        one, other = (
            measured_of_result(str(p), r) for p, r in zip((args.a, args.b), results, strict=True)
        )
        values = compare_values(one, other, args.alpha)
        return values_as_dict(values), value_lines(values)
    samples = _of_results(args.a, args.b, *results) if results else _of_recordings(args.a, args.b)
    comparison = compare(*samples, alpha=args.alpha)
    return comparison_as_dict(comparison), comparison_lines(comparison, args.top)


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
