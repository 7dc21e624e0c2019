"""``noisetop fleet compact``: joins small files."""

from __future__ import annotations

import argparse
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.exporters.parquet_table import check_installed
from noisetop.fleet.compact import compact
from noisetop.fleet.folder import open_fleet
from noisetop.text.sanitize import printable

NAME = "compact"
HELP = "join the small files of each day and host"
DESCRIPTION = (
    "Joins the files of each table, day and host into one. No row changes. Exports may go on "
    "meanwhile. Killed at any moment, each row is there once."
)
EXAMPLES = (Example("noisetop fleet compact fleet/", "one file for each table, day and host"),)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("path", metavar="DIR", type=Path, help="the folder of a fleet")


def run(args: argparse.Namespace) -> int:
    """Joins the files and says how many there are."""
    check_installed()
    done = compact(open_fleet(args.path))
    print(
        f"{printable(str(args.path))}: {done.before} files became {done.after}, "
        f"{done.joined} folders joined"
    )
    return 0
