"""``noisetop fleet cohorts``: two cohorts of hosts, source by source, with a significance test."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from noisetop.command_line.command import Example
from noisetop.errors import UsageError
from noisetop.fleet.cohorts import (
    Change,
    Cohort,
    CohortComparison,
    compare_cohorts,
    members,
    parse_cohort,
)
from noisetop.fleet.options import (
    add_alpha_argument,
    add_question_arguments,
    add_top_argument,
    answer,
    asked,
)
from noisetop.fleet.rates import rates
from noisetop.fleet.runs import Run
from noisetop.text.layout import table_lines
from noisetop.text.units import format_ns

NAME = "cohorts"
HELP = "compare two cohorts of hosts, with significance tests"
DESCRIPTION = (
    "Compares the time that each source takes on the hosts of two cohorts. Hosts are the units "
    "of the permutation test, so that many runs of one host count as one. Holm's correction "
    "bounds the family-wise error rate."
)
EXAMPLES = (
    Example("noisetop fleet cohorts kernel=6.1* kernel=6.12* fleet/", "before and after an update"),
    Example(
        "noisetop fleet cohorts env=canary,cpu_model=*143 env=production,cpu_model=*143 fleet/",
        "by a label, on one CPU model",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    about = (
        "KEY=VALUE[,KEY=VALUE]: runs whose host, kernel, cpu_model, machine, day or labels match; "
        "with *, ? and [abc]"
    )
    parser.add_argument("a", metavar="A", type=parse_cohort, help=about)
    parser.add_argument("b", metavar="B", type=parse_cohort, help="another cohort")
    add_question_arguments(parser, by=False)
    add_alpha_argument(parser)
    add_top_argument(parser, "sources without a significant change")


def run(args: argparse.Namespace) -> int:
    """Compares and prints."""
    with asked(args) as (engine, runs):
        chosen, in_b = _chosen(args.a, args.b, runs)
        found = rates(engine, chosen, lambda run: (run.run in in_b, run.host))
    comparison = compare_cohorts(found, args.alpha)
    content = {
        "a": {"cohort": args.a.text, "hosts": comparison.hosts[0]},
        "b": {"cohort": args.b.text, "hosts": comparison.hosts[1]},
        "alpha": args.alpha,
        "smallest_p": comparison.smallest_p,
        "changed": [one.source for one in comparison.changed],
        "sources": [asdict(one) for one in comparison.changes],
    }
    answer(args, content, _lines(args, comparison))
    return 0


def _chosen(a: Cohort, b: Cohort, runs: list[Run]) -> tuple[list[Run], set[str]]:
    """The runs of both cohorts, and the numbers of those in B. Raises UsageError."""
    first, second = members(a, runs), members(b, runs)
    in_b = {run.run for run in second}
    if both := [run for run in first if run.run in in_b]:
        raise UsageError(
            f"{len(both)} runs are in both cohorts, one of them on {both[0].host}: make A and B "
            "exclude each other"
        )
    return [*first, *second], in_b


def _lines(args: argparse.Namespace, comparison: CohortComparison) -> Iterator[str]:
    for name, cohort, hosts in zip("AB", (args.a, args.b), comparison.hosts, strict=True):
        yield f"{name}: {cohort.text}, {hosts} hosts"
    yield ""
    rest = [one for one in comparison.changes if not one.time.significant]
    head = (
        "change",
        "time/s A",
        "time/s B",
        "B/A",
        "change, 95 % interval",
        "p",
        "hosts",
        "source",
    )
    rows = [_row(one) for one in (*comparison.changed, *rest[: args.top])]
    yield from table_lines([head, *rows], left=(0, 7))
    if len(rest) > args.top:
        yield f"and {len(rest) - args.top} more without a significant change"
    yield ""
    level = f"family-wise error rate {100 * comparison.alpha:g} %"
    if comparison.smallest_p > comparison.alpha:
        yield f"Too few hosts: nothing can be significant ({level}). Add hosts, or raise --alpha."
    elif not comparison.changed:
        yield f"No significant change ({level})."
    else:
        noun = "change" if len(comparison.changed) == 1 else "changes"
        yield f"{len(comparison.changed)} significant {noun} ({level})."


def _row(one: Change) -> tuple[str, ...]:
    time, ratio = one.time, one.time.ratio
    word = "too rare" if not one.tested else ""
    if time.significant:
        word = "MORE" if time.b > time.a else "LESS"
    return (
        word,
        format_ns(time.a),
        format_ns(time.b),
        "new" if ratio is None else f"{ratio:.3f}",
        f"{_signed(time.low)} .. {_signed(time.high)}",
        f"{time.p:.2g}" if one.tested else "",
        f"{one.hosts[0]}, {one.hosts[1]}",
        one.source,
    )


def _signed(ns: float) -> str:
    return f"{'-' if ns < 0 else '+'}{format_ns(abs(ns))}"
