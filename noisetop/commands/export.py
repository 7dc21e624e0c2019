"""``noisetop export``: turns a recording into another kind of file."""

from __future__ import annotations

import argparse
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.errors import EXIT_FAILURE, NoisetopError, UsageError
from noisetop.exporters import exporters_by_suffix, recording_output
from noisetop.exporters.parquet_table import parquet_writer
from noisetop.flat_tables import EVENTS, all_tables
from noisetop.fleet.anonymity_options import add_anonymity_arguments, anonymity_of
from noisetop.fleet.folder import create_fleet, is_fleet
from noisetop.fleet.run import parse_label
from noisetop.fleet.write import write_run
from noisetop.gaps.files import (
    check_result_output,
    looks_like_result,
    read_result,
    write_result,
)
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.session.notice import notice
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

NAME = "export"
HELP = "convert a recording to a trace, a table or a flame graph"
DESCRIPTION = (
    "Converts a recording, or draws a probe result as a chart. The suffix of the output "
    "selects the format. An output that ends in / is the folder of a fleet: the tables of any "
    "number of recordings are written into it, for noisetop fleet, DuckDB or Spark. A run that "
    "is there already is replaced."
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
    Example(
        "noisetop export *.noisetop -o fleet/ --label env=production",
        "tables of many recordings, with a label to group them by",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    formats = "; ".join(
        f"{suffix}: {exporter.HELP}" for suffix, exporter in sorted(exporters_by_suffix().items())
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        type=Path,
        nargs="+",
        help="a recording, a trace of noisetop or a probe result; more than one with a folder",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help=f"output file; its suffix selects the format: {formats}; DIR/: the tables of a fleet",
    )
    parser.add_argument(
        "--table",
        choices=list(all_tables()),
        help=f"which table a .csv, .csv.gz or .parquet holds; default: {EVENTS}",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")
    _add_fleet_arguments(parser)


def _add_fleet_arguments(parser: argparse.ArgumentParser) -> None:
    fleet = parser.add_argument_group("with a folder as output")
    fleet.add_argument(
        "--label",
        metavar="KEY=VALUE",
        type=parse_label,
        action="append",
        default=[],
        help="label of these runs, for noisetop fleet --by KEY; repeatable",
    )
    add_anonymity_arguments(
        fleet,
        "write a hash in place of the name of the host; who guesses a name can check the guess, "
        "unless there is a key",
    )
    fleet.add_argument("--events", action="store_true", help="write the table of events as well")


def run(args: argparse.Namespace) -> int:
    """Writes the file, or the tables of a fleet."""
    if args.output.endswith("/") or (Path(args.output).is_dir() and is_fleet(Path(args.output))):
        return _export_to_fleet(args)
    for option, used in (
        ("--label", args.label),
        ("--hash-hosts", args.hash_hosts),
        ("--hash-key", args.hash_key),
        ("--events", args.events),
    ):
        if used:
            raise UsageError(f"{option} takes a folder as output: -o DIR/")
    if len(args.files) > 1:
        raise UsageError(f"{len(args.files)} recordings take a folder as output: -o DIR/")
    return _export_to_file(args.files[0], Path(args.output), args)


def _export_to_file(path: Path, out: Path, args: argparse.Namespace) -> int:
    if looks_like_result(path):
        if args.table is not None:
            raise UsageError(f"{path} is a probe result: leave out --table")
        result = read_result(path)
        write_result(result, check_result_output(out, result.kind, force=args.force))
        return 0
    output = recording_output(out, force=args.force, table=args.table)
    recording = open_recording(path)
    output.write(recording)
    _warn(path, recording)
    return 0


def _export_to_fleet(args: argparse.Namespace) -> int:
    """Writes all that can be read; EXIT_FAILURE where some cannot."""
    if args.table is not None:
        raise UsageError(f"{args.output} gets all tables: leave out --table")
    anonymity = anonymity_of(args)
    failed = 0
    with parquet_writer() as writer:
        fleet = create_fleet(Path(args.output), anonymity.mark)
        for path in args.files:
            try:
                recording = open_recording(path)
                write_run(
                    fleet,
                    recording,
                    writer,
                    labels=dict(args.label),
                    anonymity=anonymity,
                    events=args.events,
                )
            except NoisetopError as error:
                if len(args.files) == 1:
                    raise
                notice(str(error))
                failed += 1
            else:
                _warn(path, recording)
    if failed:
        notice(f"{failed} of {len(args.files)} files are not in {args.output}")
    return EXIT_FAILURE if failed else 0


def _warn(path: Path, recording: Recording) -> None:
    """Says what is wrong with a recording, now that it was read: a table has no place for it."""
    if recording.damage:
        duration = format_ns(recording.duration_ns)
        notice(f"{path}: {printable(recording.damage)}: it holds {duration}")
    losses = recording.counters.of(LOSSES)
    if losses.total or losses.unpaired:
        notice(f"{path}: {describe_losses(losses)}")
