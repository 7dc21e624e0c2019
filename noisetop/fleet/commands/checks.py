"""``noisetop fleet checks``: failed checks, and what they cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.errors import UsageError
from noisetop.fleet.anonymity_options import add_anonymity_arguments, anonymity_of
from noisetop.fleet.audits import FAIL, WARN, read_audits
from noisetop.fleet.failed_checks import FailedCheck, failed_checks
from noisetop.fleet.options import add_question_arguments, add_top_argument, answer, asked
from noisetop.fleet.rates import rates
from noisetop.session.notice import notice
from noisetop.text.layout import table_lines
from noisetop.text.units import format_ns

NAME = "checks"
HELP = "failed checks beside the cost measured for them"
DESCRIPTION = (
    "Puts the isolation audits of hosts beside their recordings: each failed check with the noise "
    "of the sources that it explains, where it fails and where it passes. Two checks may explain "
    "the same noise."
)
EXAMPLES = (
    Example("noisetop fleet checks fleet/ --audits audits/*.json", "what failed checks cost"),
    Example(
        "noisetop fleet checks fleet/ --audits audits/*.json --warn --json",
        "with warnings, as JSON",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_question_arguments(parser, by=False)
    parser.add_argument(
        "--audits",
        metavar="FILE",
        type=Path,
        nargs="+",
        required=True,
        help="what noisetop check --json printed, a file for each host",
    )
    parser.add_argument("--warn", action="store_true", help="warnings as well")
    add_anonymity_arguments(parser, "the fleet was exported with --hash-hosts")
    add_top_argument(parser, "checks", 30)


def run(args: argparse.Namespace) -> int:
    """Compares and prints. Raises UsageError where no audited host was recorded."""
    audits = read_audits(args.audits, anonymity_of(args))
    with asked(args) as (engine, runs):
        hosts = {run.host for run in runs}
        if hosts.isdisjoint(audits):
            raise UsageError(
                "no audited host is in the fleet: give audits of its hosts, with --hash-hosts and "
                "--hash-key as for noisetop export"
            )
        measured = rates(engine, runs, lambda run: run.host, "source")
    if unaudited := len(hosts - audits.keys()):
        notice(f"{unaudited} of {len(hosts)} hosts have no audit and do not count")
    found = failed_checks(audits, measured, (FAIL, WARN) if args.warn else (FAIL,))
    shown = found[: args.top]
    content = {
        "checks": [asdict(one) for one in shown],
        "hosts": len(hosts & audits.keys()),
        "unaudited": unaudited,
        "unrecorded": len(audits.keys() - hosts),
        "more": len(found) - len(shown),
    }
    answer(args, content, _lines(shown, len(found)))
    return 0


def _lines(checks: Sequence[FailedCheck], count: int) -> Iterator[str]:
    if not count:
        yield "no check fails on the audited hosts"
        return
    head = ("time/s", "where it passes", "hosts", "check", "worst host", "largest source there")
    rows = [
        (
            _rate(one.per_s_ns),
            _rate(one.passing_per_s_ns),
            f"{one.hosts} of {one.hosts + one.passing}",
            f"{one.id} {one.name}",
            f"{one.worst.host} {_rate(one.worst.per_s_ns)}" if one.worst.per_s_ns else "",
            one.worst.source,
        )
        for one in checks
    ]
    yield from table_lines([head, *rows], left=(3, 4, 5))
    yield "time/s: noise of the sources that the check explains, per second and CPU"
    if count > len(rows):
        yield f"and {count - len(rows)} more: --top {count}"


def _rate(per_s_ns: float | None) -> str:
    return "-" if per_s_ns is None else format_ns(per_s_ns)
