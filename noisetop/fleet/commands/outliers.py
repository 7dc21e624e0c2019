"""``noisetop fleet outliers``: hosts whose source is out of line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from noisetop.command_line.command import Example
from noisetop.fleet.options import (
    add_alpha_argument,
    add_question_arguments,
    answer,
    asked,
    group_name,
    group_of,
)
from noisetop.fleet.outliers import FEWEST, Outlier, outliers
from noisetop.fleet.rates import rates, squares
from noisetop.fleet.runs import Group, Run
from noisetop.text.layout import table_lines
from noisetop.text.units import format_ns

NAME = "outliers"
HELP = "hosts on which a source takes more time than on the others"
DESCRIPTION = (
    "Names the hosts on which a source takes far more time than on the others of their group, "
    "and how much more. What a few long interruptions can cause by chance is no finding."
)
EXAMPLES = (
    Example("noisetop fleet outliers fleet/", "hosts that are out of line"),
    Example("noisetop fleet outliers fleet/ --by kernel,cpu_model", "among hosts that are alike"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_question_arguments(parser)
    add_alpha_argument(parser)


def run(args: argparse.Namespace) -> int:
    """Finds and prints."""
    groups: dict[Group, list[Run]] = {}
    found: list[tuple[Group, int, list[Outlier]]] = []
    with asked(args) as (engine, runs):
        of_run = group_of(args, runs)
        for one in runs:
            groups.setdefault(of_run(one), []).append(one)
        for group, members in sorted(groups.items()):
            table = rates(engine, members, lambda run: run.host)
            error = squares(engine, members, table, lambda run: run.host)
            hosts = outliers(table, error, args.alpha / len(groups))
            found.append((group, len(table.units), hosts))
    content = {
        "alpha": args.alpha,
        "groups": [
            {
                "group": group_name(args, group),
                "hosts": hosts,
                "outliers": [{**asdict(one), "excess_ns": one.excess_ns} for one in rows],
            }
            for group, hosts, rows in found
        ],
    }
    answer(args, content, _lines(args, found))
    return 0


def _lines(
    args: argparse.Namespace, groups: list[tuple[Group, int, list[Outlier]]]
) -> Iterator[str]:
    head = ("time/s", "usual", "more", "max", "host", "source")
    for group, hosts, rows in groups:
        name = ", ".join(filter(None, (group_name(args, group), f"{hosts} hosts")))
        if hosts < FEWEST:
            yield f"{name}: too few to tell what is usual, {FEWEST} at least"
        elif not rows:
            yield f"{name}: no host is out of line (family-wise error rate {100 * args.alpha:g} %)"
        else:
            yield f"{name}:"
            yield from table_lines([head, *map(_row, rows)], left=(4, 5))


def _row(one: Outlier) -> tuple[str, ...]:
    times = f" ({one.time_ns / one.usual_ns:.1f}x)" if one.usual_ns else ""
    return (
        format_ns(one.time_ns),
        format_ns(one.usual_ns),
        f"+{format_ns(one.excess_ns)}{times}",
        format_ns(one.max_ns),
        one.host,
        one.source,
    )
