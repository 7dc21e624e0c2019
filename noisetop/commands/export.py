"""``noisetop export``: turns a recording into another kind of file."""

from __future__ import annotations

import argparse
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.errors import UsageError
from noisetop.exporters import exporters_by_suffix, recording_output
from noisetop.flat_tables import EVENTS, all_tables
from noisetop.gaps.files import (
    check_result_output,
    looks_like_result,
    read_result,
    write_result,
)
from noisetop.recording.open import open_recording
from noisetop.session.notice import notice
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

NAME = "export"
HELP = "convert a recording to a trace, a table or a flame graph"
DESCRIPTION = (
    "Converts a recording, or draws a probe result as a chart. The suffix of the output "
    "selects the format."
)
EXAMPLES = (
    Example(
        "noisetop export noise.noisetop -o trace.json.gz", "trace for Perfetto or chrome://tracing"
    ),
    Example("noisetop export noise.noisetop -o noise.svg", "flame graph for a browser"),
    Example(
        "noisetop export noise.noisetop -o noise.folded --force",
        "folded stacks; overwrites the output",
    ),
    Example("noisetop export noise.noisetop -o events.csv", "a row for each interruption, as CSV"),
    Example(
        "noisetop export noise.noisetop -o sources.parquet --table sources",
        "totals of each source on each CPU, for DuckDB, pandas or Spark",
    ),
    Example("noisetop export spin.json -o gaps.svg", "chart of a result of noisetop probe"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    formats = "; ".join(
        f"{suffix}: {exporter.HELP}" for suffix, exporter in sorted(exporters_by_suffix().items())
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording, a trace of noisetop or a probe result"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        required=True,
        help=f"output file; its suffix selects the format: {formats}",
    )
    parser.add_argument(
        "--table",
        choices=list(all_tables()),
        help=f"which table a .csv, .csv.gz or .parquet holds; default: {EVENTS}",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Writes the file."""
    if looks_like_result(args.file):
        if args.table is not None:
            raise UsageError(f"{args.file} is a probe result: leave out --table")
        result = read_result(args.file)
        write_result(result, check_result_output(args.output, result.kind, force=args.force))
        return 0
    output = recording_output(args.output, force=args.force, table=args.table)
    recording = open_recording(args.file)
    output.write(recording)
    if recording.damage:
        duration = format_ns(recording.duration_ns)
        notice(f"{args.file}: {printable(recording.damage)}: it holds {duration}")
    if recording.counters.of(LOSSES).total:
        notice(f"{args.file}: {describe_losses(recording.counters.of(LOSSES))}")
    return 0
