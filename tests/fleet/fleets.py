"""Hosts that do not exist: blocks of real recordings, drawn anew with a seed for each host."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from noisetop.events.interruption import Flag, Interruptions, Source
from noisetop.fleet.folder import Fleet, create_fleet
from noisetop.fleet.run import Anonymity
from noisetop.fleet.write import write_run
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.tables.rows import joined
from tests.recordings import DATA

BLOCK_NS = 50_000_000
FIRST_DAY = datetime(2026, 11, 1, 6, tzinfo=UTC)


@functools.cache
def _real(name: str) -> tuple[Interruptions, Recording, int]:
    """All interruptions of a recording, and how many whole blocks it has."""
    real = open_recording(DATA / f"{name}.noisetop")
    rows = joined(list(real.chunks()))
    return rows, real, real.duration_ns // BLOCK_NS


def _drawn(name: str, seed: int, blocks: int) -> Interruptions:
    rows, real, whole = _real(name)
    at = rows["start_ns"].astype(np.int64) - real.start_ns
    block = at // BLOCK_NS
    ends_in_it = (at + rows["gross_ns"].astype(np.int64)) // BLOCK_NS == block
    parts = []
    for place, chosen in enumerate(np.random.default_rng(seed).integers(0, whole, blocks)):
        part = rows[(block == chosen) & ends_in_it].copy()
        part["start_ns"] += np.uint64((place + whole - int(chosen)) * BLOCK_NS)
        parts.append(part)
    return joined(parts)


def host(
    number: int,
    *,
    recording: str = "unloaded",
    day: int = 0,
    blocks: int = 40,
    seed: int | None = None,
    slower: dict[str, float] | None = None,
    planted: Sequence[tuple[str, int, int]] = (),
    **metadata: str,
) -> Recording:
    """A run of one host on one day.

    ``slower``: net times of these sources are multiplied. ``planted``: path of a source, how often
    it runs on each CPU and for how long.
    """
    _, real, whole = _real(recording)
    table = _drawn(recording, (number + 1) * 1000 + day if seed is None else seed, blocks)
    sources = list(real.sources)
    start_ns = real.start_ns + whole * BLOCK_NS
    for label, factor in (slower or {}).items():
        mine = np.isin(table["source"], [i for i, one in enumerate(sources) if one.label == label])
        table["net_ns"][mine] = (table["net_ns"][mine] * factor).astype(np.uint64)
        table["gross_ns"][mine] = (table["gross_ns"][mine] * factor).astype(np.uint64)
    for label, count, net_ns in planted:
        sources.append(Source(tuple(label.split(" › "))))
        rows = np.zeros(2 * count, table.dtype)
        rows["start_ns"] = start_ns + np.arange(2 * count) // 2 * (blocks * BLOCK_NS // count)
        rows["gross_ns"] = rows["net_ns"] = net_ns
        rows["source"], rows["cpu"] = len(sources) - 1, np.arange(2 * count) % 2
        rows["victim_tid"], rows["level"], rows["flags"] = 100, 4, Flag.OUTERMOST
        table = joined([table, rows])
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
    for one, labels in runs:
        write_run(fleet, one, labels=labels, anonymity=Anonymity(), events=False)
    return fleet
