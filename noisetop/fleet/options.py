"""Options that all questions to a fleet have, and what is made of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.engines import DEFAULT_ENGINE, Engine, open_engine
from noisetop.fleet.folder import check_names, hosts_of_marker, open_fleets
from noisetop.fleet.runs import Group, Run, grouping, read_runs
from noisetop.fleet.stored import StoredFleet, is_url
from noisetop.machine.affinity import bind, choose
from noisetop.machine.system import cpus_from_list, isolated_cpus, nohz_full_cpus
from noisetop.session.notice import notice
from noisetop.text.layout import fit, output_width
from noisetop.text.sanitize import printable
from noisetop.text.terminal_output import add_pager_argument, print_lines

ALPHA = 0.001
"""Of a thousand questions that have no answer, one gets one."""
_SMALLEST_ALPHA = 0.0001
_MOST_THREADS = 1024


def add_question_arguments(parser: argparse.ArgumentParser, *, by: bool = True) -> None:
    """PATH, --by, --engine, --threads, --housekeeping, --json, --no-pager."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+",
        help="folder that noisetop export wrote, or the URL of a copy, as s3://BUCKET/FLEET, where "
        "the engine can read that",
    )
    if by:
        parser.add_argument(
            "--by",
            metavar="KEYS",
            default="",
            help="answer for each group of runs: a list of host, kernel, cpu_model, machine, day "
            "and names of labels",
        )
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        default=DEFAULT_ENGINE,
        help="duckdb; spark: on this machine; spark://HOST:PORT or another master: on a cluster; "
        "default: %(default)s",
    )
    parser.add_argument(
        "--threads",
        metavar="N",
        type=int,
        default=1,
        help="threads that the engine may take on this machine; default: %(default)s",
    )
    parser.add_argument(
        "-H",
        "--housekeeping",
        metavar="LIST",
        help="CPUs to run on; default: those that are not isolated",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object instead of text")
    add_pager_argument(parser)


def add_top_argument(parser: argparse.ArgumentParser, what: str, default: int = 15) -> None:
    """``--top N``: how many of what are listed."""
    parser.add_argument(
        "--top",
        metavar="N",
        type=count,
        default=default,
        help=f"number of {what} to list; default: %(default)s",
    )


def add_alpha_argument(parser: argparse.ArgumentParser) -> None:
    """``--alpha RATE``: how often a finding may be chance."""
    parser.add_argument(
        "--alpha",
        metavar="RATE",
        type=error_rate,
        default=ALPHA,
        help="family-wise error rate over everything that is tested; default: %(default)s",
    )


def count(text: str) -> int:
    """A number, 0 or more. Raises UsageError."""
    if not text.isdecimal():
        raise UsageError(f"--top takes a number, 0 or more, not '{text}'")
    return int(text)


def error_rate(text: str) -> float:
    """A rate from 0.0001 to below 1. Raises UsageError."""
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not _SMALLEST_ALPHA <= rate < 1:
        raise UsageError(f"--alpha takes a rate from {_SMALLEST_ALPHA} to below 1, as in 0.01")
    return rate


@contextmanager
def asked(args: argparse.Namespace) -> Iterator[tuple[Engine, list[Run]]]:
    """The engine over the folders, and the runs in them. Raises NoisetopError."""
    if not 1 <= args.threads <= _MOST_THREADS:
        raise UsageError(f"--threads takes 1 to {_MOST_THREADS}")
    local = open_fleets([Path(one) for one in args.paths if not is_url(one)])
    stored = [StoredFleet(one.rstrip("/")) for one in args.paths if is_url(one)]
    _keep_off_isolated_cpus(args.housekeeping)
    with open_engine(args.engine, [*local, *dict.fromkeys(stored)], args.threads) as engine:
        check_names([*(one.hosts for one in local), *(_hosts(engine, one) for one in stored)])
        runs = read_runs(engine)
        if not any(run.wall_ns for run in runs):
            raise NoisetopError("the runs have no duration: record for some seconds at least")
        lossy = sum(run.lost > 0 for run in runs)
        damaged = sum(run.damage != "" for run in runs)
        if lossy or damaged:
            notice(
                f"{lossy} of {len(runs)} runs lost records, {damaged} are damaged: noise may lack"
            )
        yield engine, runs


def _hosts(engine: Engine, stored: StoredFleet) -> str:
    """What the hosts of a fleet are called by that only the engine can read."""
    content = engine.text(stored.marker)
    if not content:
        raise UsageError(f"{stored.url} holds no fleet: copy the folder that noisetop export wrote")
    return hosts_of_marker(content.encode(), stored.url)


def group_of(args: argparse.Namespace, runs: Sequence[Run]) -> Callable[[Run], Group]:
    """How ``--by`` groups the runs. Raises UsageError."""
    return grouping(runs, [key.strip() for key in args.by.split(",") if key.strip()])


def group_name(args: argparse.Namespace, group: Group) -> str:
    """``kernel 6.1.0, env production``; empty where nothing is grouped. Not harmless yet."""
    keys = [key.strip() for key in args.by.split(",") if key.strip()]
    return ", ".join(f"{k} {v or 'not known'}" for k, v in zip(keys, group, strict=True))


def answer(args: argparse.Namespace, content: dict[str, object], lines: Iterable[str]) -> None:
    """Prints the answer, as text or as JSON. Names in ``lines`` need not be harmless yet."""
    if args.json:
        print(json.dumps(content).replace("\x7f", "\\u007f"))
    else:
        print_lines(fit(map(printable, lines), output_width()), pager=args.pager)


def _keep_off_isolated_cpus(housekeeping: str | None) -> None:
    """Threads that an engine starts later stay there as well."""
    if housekeeping is not None:
        bind(cpus_from_list(housekeeping))
    elif free := choose({*isolated_cpus(), *nohz_full_cpus()}):
        bind(free)
