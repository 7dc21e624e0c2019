"""Hosts that do not exist: blocks of real recordings, drawn anew with a seed for each host."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import Flag, Interruptions, Source
from noisetop.events.source_groups import group_label
from noisetop.exporters.parquet_table import parquet_writer
from noisetop.fleet.folder import Fleet, create_fleet
from noisetop.fleet.rates import Numbers, Rates, Table
from noisetop.fleet.run import Anonymity
from noisetop.fleet.write import write_run
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.tables.histogram import edges_ns
from noisetop.tables.rows import joined
from tests.recordings import DATA

K = TypeVar("K", bound=Hashable)
BLOCK_NS = 50_000_000
FIRST_DAY = datetime(2026, 11, 1, 6, tzinfo=UTC)


@functools.cache
def _real(name: str) -> tuple[Interruptions, Recording, int]:
    """All interruptions of a recording, and how many whole blocks it has."""
    real = open_recording(DATA / f"{name}.noisetop")
    rows = joined(list(real.chunks()))
    return rows, real, real.duration_ns // BLOCK_NS


def block_count(name: str) -> int:
    """Whole blocks of a recording."""
    return _real(name)[2]


def chosen(name: str, seed: int, blocks: int) -> Numbers:
    """Which blocks of a recording a host consists of."""
    return np.random.default_rng(seed).integers(0, _real(name)[2], blocks)


def _put_together(name: str, blocks: Numbers) -> Interruptions:
    rows, real, whole = _real(name)
    at = rows["start_ns"].astype(np.int64) - real.start_ns
    block = at // BLOCK_NS
    ends_in_it = (at + rows["gross_ns"].astype(np.int64)) // BLOCK_NS == block
    parts = []
    for place, number in enumerate(blocks.tolist()):
        part = rows[(block == number) & ends_in_it].copy()
        part["start_ns"] += np.uint64((place + whole - number) * BLOCK_NS)
        parts.append(part)
    return joined(parts)


def _slow_down(table: Interruptions, sources: Sequence[Source], slower: dict[str, float]) -> None:
    for label, factor in slower.items():
        mine = np.isin(table["source"], [i for i, one in enumerate(sources) if one.label == label])
        for name in ("net_ns", "gross_ns"):
            table[name][mine] = (table[name][mine] * factor).astype(np.uint64)


def _planted(
    kind: np.dtype[np.void], at_ns: npt.NDArray[np.int64], source: int, net_ns: int
) -> Interruptions:
    """On CPU 0 and 1 in turns."""
    rows = np.zeros(len(at_ns), kind)
    rows["start_ns"], rows["gross_ns"], rows["net_ns"] = at_ns, net_ns, net_ns
    rows["source"], rows["cpu"] = source, np.arange(len(at_ns)) % 2
    rows["victim_tid"], rows["level"], rows["flags"] = 100, 4, Flag.OUTERMOST
    return rows


def host(
    number: int,
    *,
    recording: str = "unloaded",
    day: int = 0,
    blocks: int = 40,
    seed: int | None = None,
    taken: Numbers | None = None,
    slower: dict[str, float] | None = None,
    planted: Sequence[tuple[str, int, int]] = (),
    **metadata: str,
) -> Recording:
    """A run of one host on one day.

    ``taken``: the blocks that it consists of, else they are drawn by ``seed``. ``slower``: net
    times of these sources are multiplied. ``planted``: path of a source, how often it runs on each
    CPU and for how long.
    """
    _, real, whole = _real(recording)
    if taken is None:
        taken = chosen(recording, (number + 1) * 1000 + day if seed is None else seed, blocks)
    blocks, table = len(taken), _put_together(recording, taken)
    sources = list(real.sources)
    start_ns = real.start_ns + whole * BLOCK_NS
    _slow_down(table, sources, slower or {})
    for label, count, net_ns in planted:
        sources.append(Source(tuple(label.split(" › "))))
        at_ns = start_ns + np.arange(2 * count) // 2 * (blocks * BLOCK_NS // count)
        table = joined([table, _planted(table.dtype, at_ns, len(sources) - 1, net_ns)])
    started = FIRST_DAY + timedelta(days=day, minutes=number)
    made = Recording(
        metadata={
            **real.metadata,
            "host": f"node-{number}",
            "started": started.isoformat(),
            **metadata,
        },
        cpus=real.cpus,
        start_ns=start_ns,
        end_ns=start_ns + blocks * BLOCK_NS,
        sources=sources,
        read_chunks=lambda: iter([table]),
        triggers=list(real.triggers),
        tasks=dict(real.tasks),
        directory=real.directory,
    )
    # Blocks do not fit together to the nanosecond, and what was lengthened overlaps.
    made.whole = made
    return made


def fleet_of(path: Path, runs: Sequence[tuple[Recording, dict[str, str]]]) -> Fleet:
    """A fleet of these runs with their labels."""
    fleet = create_fleet(path, "names")
    with parquet_writer() as writer:
        for one, labels in runs:
            write_run(fleet, one, writer, labels=labels, anonymity=Anonymity(), events=False)
    return fleet


def rates_and_squares(runs: Sequence[tuple[K, Recording]]) -> tuple[Rates[K], Table]:
    """What an engine computes of these runs, each a unit of its own, by other means."""
    units, walls = [unit for unit, _ in runs], []
    figures: dict[tuple[int, str], tuple[int, int, int]] = {}
    squared: dict[tuple[int, str], float] = {}
    cpus: Counter[tuple[int, str]] = Counter()
    middles = (edges_ns()[:-1] + edges_ns()[1:]) / 2
    for row, (_, recorded) in enumerate(runs):
        walls.append(recorded.duration_ns * len(recorded.cpus))
        for cpu in summary_of(recorded).cpus:
            for one in cpu.external:
                key = row, group_label(one.source)
                count, net_ns, max_ns = figures.get(key, (0, 0, 0))
                most = max(max_ns, one.max_ns)
                figures[key] = count + one.count, net_ns + one.net_ns, most
                square = float((one.histogram * middles**2).sum())
                squared[key] = squared.get(key, 0.0) + square
                cpus[key] += one.count > 0
    sources = sorted({source for (_, source), (count, *_) in figures.items() if count})
    sums = np.zeros((3, len(units), len(sources)), np.int64)
    squares = np.zeros(sums.shape[1:])
    for (row, source), values in figures.items():
        if source in sources:
            sums[:, row, sources.index(source)] = values
            at_once = min(cpus[row, source], len(runs[row][1].cpus))
            squares[row, sources.index(source)] = squared[row, source] * at_once
    return Rates(units, np.array(walls), sources, *sums), squares
