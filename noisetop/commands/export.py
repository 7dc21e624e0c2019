"""``noisetop export``: turns a recording into another kind of file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from noisetop.exporters import check_suffix, exporters_by_suffix, write_recording
from noisetop.losses import describe_losses
from noisetop.open_recording import open_recording
from noisetop.probe.files import write_result
from noisetop.probe.result import looks_like_result, read_result
from noisetop.units import format_ns

NAME = "export"
HELP = "turn a recording into a trace, folded stacks or a flame graph"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    formats = "; ".join(
        f"{suffix}: {exporter.HELP}" for suffix, exporter in sorted(exporters_by_suffix().items())
    )
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="a recording or a trace of noisetop"
    )
    parser.add_argument(
        "-o", "--output", metavar="OUT", type=Path, required=True, help=f"by suffix: {formats}"
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Writes the file."""
    if looks_like_result(args.file):
        write_result(read_result(args.file), args.output, force=args.force)
        return 0
    check_suffix(args.output)
    recording = open_recording(args.file)
    if recording.damage:
        print(
            f"noisetop: {recording.damage}: {args.file} holds the first "
            f"{format_ns(recording.duration_ns)}",
            file=sys.stderr,
        )
    if recording.losses.total:
        print(f"noisetop: {args.file}: {describe_losses(recording.losses)}", file=sys.stderr)
    write_recording(recording, args.output, force=args.force)
    return 0
