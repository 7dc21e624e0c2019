"""Thousands of hosts in a moment: sums over the blocks of a real recording that host() draws."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from noisetop.events.source_groups import group_label
from noisetop.fleet.rates import Numbers, Rates, Table
from noisetop.summary.recorded import summary_of
from noisetop.tables.histogram import edges_ns
from tests.fleet.fleets import BLOCK_NS, block_count, chosen, host

RECORDING = "unloaded"


@dataclass(frozen=True, slots=True)
class BlockSums:
    """What each block has of each row of the table of sources: axes block, row."""

    groups: list[str]
    """The source of each row, as questions tell them apart."""
    cpus: int
    count: Numbers
    net_ns: Numbers
    max_ns: Numbers
    squares: Table


@functools.cache
def block_sums(name: str = RECORDING) -> BlockSums:
    """Of all blocks of a recording."""
    middles = (edges_ns()[:-1] + edges_ns()[1:]) / 2
    found: dict[tuple[int, str, Hashable], Table] = {}
    cpus = 0
    for block in range(block_count(name)):
        summary = summary_of(host(0, recording=name, taken=np.array([block])))
        cpus = len(summary.cpus)
        for cpu in summary.cpus:
            for one in cpu.external:
                key = block, group_label(one.source), (cpu.cpu, one.source, one.origin)
                square = float((one.histogram * middles**2).sum())
                found[key] = np.array([one.count, one.net_ns, one.max_ns, square])
    rows = {row: at for at, row in enumerate(dict.fromkeys(key[1:] for key in found))}
    sums = np.zeros((4, block_count(name), len(rows)))
    for (block, group, row), figures in found.items():
        sums[:, block, rows[group, row]] = figures
    count, net_ns, max_ns = sums[:3].astype(np.int64)
    return BlockSums([group for group, _ in rows], cpus, count, net_ns, max_ns, sums[3])


def choices(seeds: range, blocks: int, name: str = RECORDING) -> Numbers:
    """Blocks of the hosts with these seeds, a row for each."""
    return np.stack([chosen(name, seed, blocks) for seed in seeds])


def drawn(blocks: Numbers, name: str = RECORDING) -> tuple[Rates[int], Table]:
    """What tests.fleet.fleets.rates_and_squares() finds of hosts that consist of these blocks."""
    of = block_sums(name)
    counts = of.count[blocks].sum(axis=1)
    occurs = counts.any(axis=0)
    sources = sorted({group for group, there in zip(of.groups, occurs, strict=True) if there})
    shape = len(blocks), len(sources)
    count, net_ns, max_ns, rows = (np.zeros(shape, np.int64) for _ in range(4))
    squares = np.zeros(shape)
    for row in np.flatnonzero(occurs).tolist():
        at = sources.index(of.groups[row])
        count[:, at] += counts[:, row]
        net_ns[:, at] += of.net_ns[blocks, row].sum(axis=1)
        max_ns[:, at] = np.maximum(max_ns[:, at], of.max_ns[blocks, row].max(axis=1))
        squares[:, at] += of.squares[blocks, row].sum(axis=1)
        rows[:, at] += counts[:, row] > 0
    wall_ns = np.full(len(blocks), blocks.shape[1] * BLOCK_NS * of.cpus)
    rates = Rates(list(range(len(blocks))), wall_ns, sources, count, net_ns, max_ns)
    return rates, squares * np.minimum(rows, of.cpus)
