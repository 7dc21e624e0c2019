"""``noisetop fleet scale``: what recorded noise costs a program on many ranks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from noisetop.command_line.command import Example
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.options import answer
from noisetop.fleet.rank_timelines import Node, node_of
from noisetop.fleet.scale import STEPS, Cost, Program, Scale, SourceCost, scale_of
from noisetop.fleet.scale_chart import scale_chart
from noisetop.output import Output, check_output
from noisetop.recording.open import open_recording
from noisetop.session.notice import notice
from noisetop.text.layout import table_lines
from noisetop.text.terminal_output import add_pager_argument
from noisetop.text.units import format_ns, parse_duration

NAME = "scale"
HELP = "what recorded noise costs a program on many ranks"
DESCRIPTION = (
    "Estimates from recordings how much longer the steps of a bulk-synchronous program take, in "
    "which each step ends when the slowest of many ranks ends; or a request that waits for many "
    "servers. Each recording is a node. By source, with intervals."
)
EXAMPLES = (
    Example("noisetop fleet scale noise.noisetop", "program with 10,000 ranks and steps of 1 ms"),
    Example(
        "noisetop fleet scale node-*.noisetop --ranks 512 --step 200us -o scale.svg -o scale.json",
        "several nodes, with the curve as a chart and as JSON",
    ),
    Example("noisetop fleet scale noise.noisetop --aligned", "noise at the same time everywhere"),
)
_MOST_RANKS = 10_000_000
_SHORTEST = 10
"""Steps that a recording must hold."""
_SUFFIXES = (".json", ".svg")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    parser.add_argument("files", metavar="FILE", type=Path, nargs="+", help="a recording of a node")
    parser.add_argument(
        "--ranks",
        metavar="N",
        type=int,
        default=10_000,
        help="of the program; default: %(default)s",
    )
    parser.add_argument(
        "--step",
        metavar="TIME",
        default="1ms",
        help="work of a rank in a step, as in 200us, 1ms, 1s; default: %(default)s",
    )
    parser.add_argument(
        "--aligned",
        action="store_true",
        help="noise comes to all nodes at the same time; default: independent nodes",
    )
    parser.add_argument(
        "--steps", metavar="N", type=int, default=STEPS, help="steps to draw; default: %(default)s"
    )
    parser.add_argument(
        "--top", metavar="N", type=int, default=8, help="number of sources; default: %(default)s"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_pager_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=Path,
        action="append",
        default=[],
        help="write a chart (.svg) or the answer (.json); repeatable",
    )
    parser.add_argument("--force", action="store_true", help="overwrite the output")


def run(args: argparse.Namespace) -> int:
    """Computes, writes the files and prints."""
    program = _program(args)
    outputs = [_output(path, force=args.force) for path in args.output]
    nodes = [_node(path, program) for path in args.files]
    if len({len(node.ranks) for node in nodes}) > 1:
        raise UsageError("the recordings watched different numbers of CPUs: give those of one kind")
    scale = scale_of(nodes, program, args.top)
    content = _content(scale, nodes)
    for output in outputs:
        is_chart = output.path.suffix.lower() == ".svg"
        text = json.dumps(content, indent=1).replace("\x7f", "\\u007f") + "\n"
        with output.opened() as out:
            out.write(scale_chart(scale) if is_chart else text.encode())
    answer(args, content, _lines(scale, nodes))
    return 0


def _program(args: argparse.Namespace) -> Program:
    for name, value, most in (
        ("--ranks", args.ranks, _MOST_RANKS),
        ("--steps", args.steps, _MOST_RANKS),
        ("--top", args.top, _MOST_RANKS),
    ):
        if not 1 <= value <= most:
            raise UsageError(f"{name} takes 1 to {most}")
    return Program(args.ranks, parse_duration(args.step), args.aligned, args.steps)


def _output(path: Path, *, force: bool) -> Output:
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"what format is {path}? end its name in {' or '.join(_SUFFIXES)}")
    return check_output(path, force=force)


def _node(path: Path, program: Program) -> Node:
    recording = open_recording(path)
    if recording.duration_ns < _SHORTEST * program.work_ns:
        raise NoisetopError(
            f"{path} takes {format_ns(recording.duration_ns)}: record {_SHORTEST} steps at least, "
            "or use a shorter --step"
        )
    node = node_of(recording)
    lost = recording.counters.of(LOSSES)
    for words in filter(None, (recording.damage, describe_losses(lost) if lost.total else "")):
        notice(f"{path}: {words}: noise may lack")
    return node


def _assumptions(scale: Scale, nodes: list[Node]) -> list[str]:
    program = scale.program
    seconds = format_ns(sum(node.duration_ns for node in nodes))
    between = (
        "Noise comes to all nodes at the same time: all are at the same place of their recordings."
        if program.aligned
        else "Nodes are independent: each is at a place of its own in a recording. Noise that the "
        "machines share, as that of a file system, would be aligned."
    )
    return [
        f"A node is a recording, of {scale.ranks_per_node} ranks, read in a circle: what comes "
        "together on its CPUs, and what follows what, is kept.",
        between,
        f"Each rank does {format_ns(program.work_ns)} of work in a step, and the slowest ends it. "
        "Communication takes no time. Noise delays a rank by its net time; entry costs and cold "
        "caches come on top.",
        "The ranks keep their CPUs as busy as these were when they were recorded.",
        f"Nothing is rarer than what {seconds} of recordings show: where the curve is flat at its "
        "end, every step meets the worst that was recorded, and more ranks may cost more.",
        "Intervals are of the mean with 95 %, over resampled parts of the recordings. They do not "
        "know what was not recorded either.",
    ]


def _content(scale: Scale, nodes: list[Node]) -> dict[str, object]:
    program = scale.program

    def figures(cost: Cost) -> dict[str, object]:
        return {**asdict(cost), "share": cost.share(program.work_ns)}

    return {
        "ranks": program.ranks,
        "step_ns": program.work_ns,
        "aligned": program.aligned,
        "ranks_per_node": scale.ranks_per_node,
        "recordings": len(nodes),
        "curve": [figures(one) for one in scale.curve],
        "sources": [
            {
                "source": one.source,
                "one_rank": figures(one.one_rank),
                "all_ranks": figures(one.all_ranks),
                "without": figures(one.without),
            }
            for one in scale.sources
        ],
        "assumptions": _assumptions(scale, nodes),
    }


def _lines(scale: Scale, nodes: list[Node]) -> Iterator[str]:
    work_ns = scale.program.work_ns
    head = ("ranks", "cost", "95 % interval", "p50 of a step", "p99 of a step")
    rows = [
        (
            f"{one.ranks:,}",
            _percent(one.share(work_ns)),
            f"{_percent(one.low_ns / work_ns)} .. {_percent(one.high_ns / work_ns)}",
            format_ns(work_ns + one.p50_ns),
            format_ns(work_ns + one.p99_ns),
        )
        for one in scale.curve
    ]
    yield f"Steps of {format_ns(work_ns)} of work cost, beyond that work:"
    yield from table_lines([head, *rows])
    yield ""
    yield from (_sentence(one, scale) for one in scale.sources)
    if not scale.sources:
        yield "No noise was recorded."
    yield ""
    yield "Assumptions:"
    yield from (f"  {one}" for one in _assumptions(scale, nodes))


def _sentence(one: SourceCost, scale: Scale) -> str:
    work_ns, ranks = scale.program.work_ns, f"{scale.program.ranks:,} ranks"
    return (
        f"{one.source} costs {_percent(one.one_rank.share(work_ns))} on one rank and "
        f"{_percent(one.all_ranks.share(work_ns))} at {ranks}; without it "
        f"{_percent(one.without.share(work_ns))} of {_percent(scale.curve[-1].share(work_ns))} "
        "are left"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %" if share < 9.995 else f"{100 * share:,.0f} %"
