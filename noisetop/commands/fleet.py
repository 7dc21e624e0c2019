"""``noisetop fleet``: questions about many recordings."""

from __future__ import annotations

import argparse

from noisetop.fleet.commands import all_subcommands, load_subcommand

NAME = "fleet"
HELP = "many recordings: rank, compare, find outliers and changes"
DESCRIPTION = (
    "Asks the tables of many recordings, which noisetop export FILE... -o DIR/ writes. Figures "
    "are without self-inflicted noise, in time per second and CPU. A source has the same name on "
    "every host: * stands for the numbers that differ."
)
EXAMPLES = tuple(example for one in all_subcommands() for example in one.EXAMPLES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the subcommands and their options."""
    parsers = parser.add_subparsers(dest="question", metavar="QUESTION", required=True)
    for one in all_subcommands():
        below = parsers.add_parser(
            one.NAME, help=one.HELP, description=one.DESCRIPTION, allow_abbrev=False
        )
        one.add_arguments(below)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand; its exit status."""
    return load_subcommand(args.question).run(args)
