"""``noisetop compare``: two recordings or two probe results, statistically."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from noisetop.compare.comparison import ALPHA, compare
from noisetop.compare.report import comparison_as_dict, comparison_lines
from noisetop.compare.sample import (
    Sample,
    block_length_ns,
    sample_of_recording,
    sample_of_result,
)
from noisetop.errors import UsageError
from noisetop.open_recording import open_recording
from noisetop.probe.result import looks_like_result, read_result

NAME = "compare"
HELP = "what changed between two recordings or probe results, and whether it is chance"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("a", metavar="A", type=Path, help="a recording or a result of probe spin")
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
    comparison = compare(*_samples(args.a, args.b), alpha=args.alpha)
    if args.json:
        print(json.dumps(comparison_as_dict(comparison)).replace("\x7f", "\\u007f"))
    else:
        print("\n".join(comparison_lines(comparison, args.top)))
    return 0


def _samples(a: Path, b: Path) -> tuple[Sample, Sample]:
    results = [looks_like_result(path) for path in (a, b)]
    if all(results):
        one, other = (sample_of_result(str(path), read_result(path)) for path in (a, b))
        return one, other
    if any(results):
        raise UsageError(f"{a} and {b} are of different kinds: compare two of one kind")
    first, second = open_recording(a), open_recording(b)
    block_ns = block_length_ns((first.duration_ns, second.duration_ns))
    return (
        sample_of_recording(str(a), first, block_ns),
        sample_of_recording(str(b), second, block_ns),
    )
