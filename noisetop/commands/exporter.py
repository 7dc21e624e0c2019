"""``noisetop exporter``: metrics for Prometheus."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from noisetop.command_line.command import Example
from noisetop.errors import NoisetopError, UsageError
from noisetop.live.sample import Sample
from noisetop.metrics.audit import check_results
from noisetop.metrics.listen import DEFAULT, Address, parse_address
from noisetop.metrics.run import Exported, about_run
from noisetop.metrics.textfile import TextFile
from noisetop.metrics.totals import Snapshot
from noisetop.session.notice import notice
from noisetop.session.options import add_run_arguments
from noisetop.session.traced_run import TracedRun
from noisetop.tracing.later_steps import LaterSteps

if TYPE_CHECKING:
    from noisetop.metrics.registry import Published

NAME = "exporter"
HELP = "metrics for Prometheus: noise, by source and by control group"
DESCRIPTION = (
    "Traces until it is ended, and serves what it adds up to as metrics for Prometheus: noise by "
    "CPU, class and source, by the control group that lost it and the one that caused it, with "
    "what was lost and what the tracing costs. It drops its privileges once the programs are "
    "attached. It takes pip install 'noisetop[exporter]'."
)
EXAMPLES = (
    Example("noisetop exporter", f"the isolated CPUs, otherwise all, on http://{DEFAULT}/metrics"),
    Example("noisetop exporter -c 2-3 --listen 192.0.2.7:19976", "two CPUs, for another machine"),
    Example(
        "noisetop exporter --textfile /var/lib/prometheus/node-exporter/noisetop.prom",
        "a file for node_exporter, and no port",
    ),
)

_BATCH_BYTES = 32 << 20
"""Of half a million records, which are those of a period. Where noisetop gets too little CPU time,
it is better to lose records, which is a metric, than to take the memory of a machine."""

_LATER = LaterSteps(tasks=False, names=False)
"""It serves others, and reads of tasks what everybody may."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the options."""
    add_run_arguments(parser, default_duration="until Ctrl-C")
    parser.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        help=f"where to serve the metrics; a port alone is on loopback; default: {DEFAULT}, and "
        "none with --textfile",
    )
    parser.add_argument(
        "--textfile",
        metavar="FILE",
        type=Path,
        help="write the metrics into this file every 5 s, for the textfile collector of "
        "node_exporter",
    )
    parser.add_argument(
        "--per-cpu", action="store_true", help="sources by CPU: as many times the series"
    )


def run(args: argparse.Namespace) -> int:
    """Serves; the exit status of the command after ``--`` where there is one."""
    _check(args)
    address = _address(args)
    text = TextFile.at(args.textfile) if args.textfile else None
    if address:
        address.check()
    run = TracedRun(args, live=True, later=_LATER, batch_bytes=_BATCH_BYTES)
    # All that is imported or read is so before the privileges are gone.
    published = _published()
    with run:
        cpus, title = run.target.cpus, run.target.title
        checks, info = check_results(cpus), about_run(title, cpus)
        with run.tracing() as tracer:
            exported = Exported(tracer, run.stopper, title, args.per_cpu, checks, info)
            _serve(exported, published, address, text)
        return run.status()


def _check(args: argparse.Namespace) -> None:
    if args.stacks:
        raise UsageError("--stacks has no place in metrics: leave it out, or see noisetop record")
    if find_spec("prometheus_client") is None:
        raise NoisetopError("metrics take prometheus-client: pip install 'noisetop[exporter]'")


def _address(args: argparse.Namespace) -> Address | None:
    if args.listen is None and args.textfile:
        return None
    return parse_address(args.listen if args.listen is not None else DEFAULT)


def _published() -> Published:
    from noisetop.metrics.registry import Published  # brings prometheus_client

    return Published()


def _serve(
    exported: Exported, published: Published, address: Address | None, text: TextFile | None
) -> None:
    """Until the trace ends."""

    def publish(snapshot: Snapshot, sample: Sample) -> None:
        published.publish(snapshot)
        if text:
            ended = bool(sample.ended)
            text.write(published.registry, sample.interval.end_ns, last=ended)

    published.publish(exported.totals.snapshot())
    with address.serving(published) if address else nullcontext():
        where = [address.url] if address else []
        if address and not address.is_loopback:
            notice(f"whoever reaches {address.host} on port {address.port} reads the metrics")
        notice(f"metrics: {', '.join([*where, *([str(text.output.path)] if text else [])])}")
        exported.run(publish)
