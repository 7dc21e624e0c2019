"""``noisetop fleet hosts``: which hosts have most noise."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
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
from noisetop.fleet.ranking import HostUnit, RankedHost, ranked_hosts
from noisetop.fleet.rates import rates
from noisetop.fleet.runs import Run
from noisetop.text.layout import table_lines
from noisetop.text.units import format_count, format_ns

NAME = "hosts"
HELP = "hosts by their noise"
DESCRIPTION = "Ranks the hosts by the share of their CPU time that noise takes."
EXAMPLES = (
    Example("noisetop fleet hosts fleet/", "the noisiest hosts"),
    Example("noisetop fleet hosts fleet/ --by day --top 50", "a row for each day of a host"),
)
_NS_PER_PERCENT = 10_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_question_arguments(parser)
    add_top_argument(parser, "hosts")


def run(args: argparse.Namespace) -> int:
    """Ranks and prints."""
    with asked(args) as (engine, runs):
        of_run = group_of(args, runs)
        runs_of: dict[HostUnit, list[Run]] = {}
        for one in runs:
            runs_of.setdefault((of_run(one), one.host), []).append(one)
        found = ranked_hosts(runs_of, rates(engine, runs, lambda run: (of_run(run), run.host)))
    shown = found[: args.top]
    content = {
        "hosts": [
            {**asdict(one), "group": group_name(args, one.group), "per_s_ns": one.per_s_ns}
            for one in shown
        ],
        "more": len(found) - len(shown),
    }
    answer(args, content, _lines(args, shown, len(found)))
    return 0


def _lines(args: argparse.Namespace, hosts: Sequence[RankedHost], count: int) -> Iterator[str]:
    head = ("noise", "time/s", "max single", "runs", "lost", "host", "largest source")
    rows = [
        (
            f"{one.per_s_ns / _NS_PER_PERCENT:.4f} %",
            format_ns(one.per_s_ns),
            format_ns(one.max_single_ns),
            str(one.runs),
            format_count(one.lost),
            ", ".join(filter(None, (one.host, group_name(args, one.group)))),
            one.top_source,
        )
        for one in hosts
    ]
    yield from table_lines([head, *rows], left=(5, 6))
    if count > len(rows):
        yield f"and {count - len(rows)} more: --top {count}"
