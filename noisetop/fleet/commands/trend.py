"""``noisetop fleet trend``: since when a source takes more or less time."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict

from noisetop.command_line.command import Example
from noisetop.errors import UsageError
from noisetop.fleet.options import (
    add_alpha_argument,
    add_question_arguments,
    add_top_argument,
    answer,
    asked,
    group_name,
    group_of,
)
from noisetop.fleet.rates import Rates, rates
from noisetop.fleet.run import UNKNOWN
from noisetop.fleet.runs import Group
from noisetop.fleet.trend import FEWEST_DAYS, Trend, trends
from noisetop.session.notice import notice
from noisetop.text.layout import table_lines
from noisetop.text.units import format_ns

NAME = "trend"
HELP = "since when a source takes more or less time"
DESCRIPTION = (
    "Finds the day since which a source takes more or less time. Days are UTC. Each host is "
    "compared with itself, so that hosts may come and go."
)
EXAMPLES = (
    Example("noisetop fleet trend fleet/", "changes of the whole fleet"),
    Example("noisetop fleet trend fleet/ --by cpu_model", "of each CPU model"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_question_arguments(parser)
    add_alpha_argument(parser)
    add_top_argument(parser, "sources without a significant change", default=5)


def run(args: argparse.Namespace) -> int:
    """Finds and prints."""
    with asked(args) as (engine, runs):
        of_run = group_of(args, runs)
        known = [run for run in runs if run.day != UNKNOWN]
        if len(known) < len(runs):
            notice(f"{len(runs) - len(known)} runs have no date and are left out")
        table = rates(engine, known, lambda run: (of_run(run), run.day, run.host))
    groups = _groups(table)
    found = []
    for group, own in sorted(groups.items()):
        changes = trends(own, args.alpha / len(groups))
        found.append((group, len({day for day, _ in own.units}), changes))
    if not any(changes for _, _, changes in found):
        raise UsageError(f"a trend takes runs on {FEWEST_DAYS} days or more: export more of them")
    content = {
        "alpha": args.alpha,
        "groups": [
            {
                "group": group_name(args, group),
                "days": days,
                "sources": [asdict(t) for t in changes],
            }
            for group, days, changes in found
        ],
    }
    answer(args, content, _lines(args, found))
    return 0


def _groups(table: Rates[tuple[Group, str, str]]) -> dict[Group, Rates[tuple[str, str]]]:
    rows: dict[Group, list[int]] = {}
    for row, (group, _, _) in enumerate(table.units):
        rows.setdefault(group, []).append(row)
    found = {}
    for group, mine in rows.items():
        own = table.only(mine)
        units = [(day, host) for _, day, host in own.units]
        found[group] = Rates(units, own.wall_ns, own.sources, own.count, own.net_ns, own.max_ns)
    return found


def _lines(args: argparse.Namespace, groups: list[tuple[Group, int, list[Trend]]]) -> Iterator[str]:
    head = ("since", "before", "after", "ratio", "p", "source")
    for group, days, changes in groups:
        yield ", ".join(filter(None, (group_name(args, group), f"{days} days")))
        shown = [one for one in changes if one.significant]
        rest = changes[len(shown) :]
        rows = [_row(one) for one in (*shown, *rest[: args.top])]
        yield from table_lines([head, *rows], left=(0, 5))
        level = f"family-wise error rate {100 * args.alpha:g} %"
        noun = "source has" if len(shown) == 1 else "sources have"
        yield f"{len(shown) or 'No'} {noun} changed significantly ({level})."


def _row(one: Trend) -> tuple[str, ...]:
    ratio = f"{one.after_ns / one.before_ns:.3f}" if one.before_ns else "new"
    return (
        one.since if one.significant else "",
        format_ns(one.before_ns),
        format_ns(one.after_ns),
        ratio,
        f"{one.p:.2g}",
        one.source,
    )
