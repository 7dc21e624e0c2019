"""``noisetop fleet top``: which sources take most over all hosts."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from noisetop.command_line.command import Example
from noisetop.fleet.options import (
    add_question_arguments,
    add_top_argument,
    answer,
    asked,
    group_name,
    group_of,
)
from noisetop.fleet.ranking import SHARES, Ranked, ranked
from noisetop.fleet.rates import histograms, merged, rates
from noisetop.fleet.runs import Group
from noisetop.text.layout import table_lines
from noisetop.text.units import format_count, format_ns

NAME = "top"
HELP = "sources that take most time over all hosts"
DESCRIPTION = (
    "Ranks the sources of all runs by the time that they take, with percentiles of single "
    "interruptions from the sums of the histograms."
)
EXAMPLES = (
    Example("noisetop fleet top fleet/", "the largest sources of the whole fleet"),
    Example("noisetop fleet top fleet/ --by kernel,cpu_model", "one table for each of them"),
    Example(
        "noisetop fleet top /shared/fleet --engine spark://master:7077", "computed by a cluster"
    ),
)

Groups = list[tuple[Group, int, list[Ranked]]]
"""Each group with its number of hosts and its sources."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_question_arguments(parser)
    add_top_argument(parser, "sources of each group")


def run(args: argparse.Namespace) -> int:
    """Ranks and prints."""
    with asked(args) as (engine, runs):
        of_run = group_of(args, runs)
        by_host = rates(engine, runs, lambda run: (of_run(run), run.host))
        found = histograms(engine, runs, of_run)
    whole, seen = merged(by_host, lambda unit: unit[0])
    groups = [
        (group, len({h for g, h in by_host.units if g == group}), ranked(group, whole, found, seen))
        for group in sorted(whole.units)
    ]
    content = {
        "groups": [
            {
                "group": group_name(args, group),
                "hosts": hosts,
                "sources": [asdict(one) for one in sources[: args.top]],
            }
            for group, hosts, sources in groups
        ],
        "percentiles": list(SHARES),
    }
    answer(args, content, _lines(args, groups))
    return 0


def _lines(args: argparse.Namespace, groups: Groups) -> Iterator[str]:
    head = ("time/s", "share", "count", "p50", "p99", "p99.9", "max", "hosts", "source")
    for at, (group, hosts, sources) in enumerate(groups):
        if at:
            yield ""
        if name := group_name(args, group):
            yield name
        rows = [_row(one, hosts) for one in sources[: args.top]]
        yield from table_lines([head, *rows], left=(8,))
        if more := len(sources) - len(rows):
            yield f"and {more} more sources: --top {len(sources)}"


def _row(one: Ranked, hosts: int) -> tuple[str, ...]:
    return (
        format_ns(one.per_s_ns),
        f"{100 * one.share:.1f} %",
        format_count(one.count),
        *map(format_ns, one.percentiles_ns),
        format_ns(one.max_ns),
        f"{one.hosts}/{hosts}",
        one.source,
    )
