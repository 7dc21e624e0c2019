"""What a comparison knows of one run: sums per source over blocks of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.errors import NoisetopError
from noisetop.events.interruption import Interruptions
from noisetop.gaps.result import CpuSpin, ProbeResult
from noisetop.recording.recording import Recording
from noisetop.tables.histogram import BUCKETS, Counts, bucket_of, edges_ns, percentile_ns
from noisetop.tables.rows import select

Table = npt.NDArray[np.float64]
Vector = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.integer[Any]]

BLOCKS = 100
MIN_BLOCKS = 10
MAX_BLOCKS = 10 * BLOCKS
"""Of a run that is much longer than the other, so many blocks are kept. With all of them the
uncertainty of the difference would be 5 % smaller at best: the shorter run decides it."""
_MIN_BLOCK_NS = 1_000_000
_SEED = 20_240_601
"""Fixed, so that the same two files give the same answer every time."""


@dataclass(slots=True)
class Durations:
    """Figures about single interruptions of one source."""

    count: int = 0
    total_ns: int = 0
    square_ns2: float = 0.0
    max_ns: int = 0
    histogram: Counts = field(default_factory=lambda: np.zeros(BUCKETS, np.int64), repr=False)

    def add(self, net_ns: npt.NDArray[np.uint64]) -> None:
        """Adds interruptions of at least one."""
        self.count += len(net_ns)
        self.total_ns += int(net_ns.sum())
        self.square_ns2 += float(np.square(net_ns.astype(np.float64)).sum())
        self.max_ns = max(self.max_ns, int(net_ns.max()))
        self.histogram += np.bincount(bucket_of(net_ns), minlength=BUCKETS)

    @property
    def deviation_ns(self) -> float:
        """Standard deviation."""
        if self.count < 2:
            return 0.0
        mean = self.total_ns / self.count
        variance = max(self.square_ns2 / self.count - mean * mean, 0.0)
        return float(np.sqrt(variance * self.count / (self.count - 1)))

    @property
    def median_ns(self) -> int:
        """Median, within 6.25 %."""
        return percentile_ns(self.histogram, 0.5, self.max_ns)


@dataclass(slots=True)
class Sample:
    """One run. Row per block, column per source; times are per CPU."""

    name: str
    block_ns: int
    blocks: int
    """In the whole run. Where the tables hold fewer, those are chosen at random."""
    cpus: int
    labels: tuple[str, ...]
    counts: Table
    net_ns: Table
    total_counts: Table
    """All sources together, per block."""
    total_ns: Table
    durations: dict[str, Durations]
    """By source, where single interruptions are known."""
    all_durations: Durations
    lost: int = 0
    """Events, or gaps of a probe, that none of these figures know of."""
    caveats: tuple[str, ...] = ()
    """What was lost or damaged, in words, not harmless on a terminal."""

    def columns(self, labels: Sequence[str]) -> tuple[Table, Table]:
        """Counts and net times per block, of all together in the first column, then of these
        sources, zeros where they did not occur."""
        place = {label: i for i, label in enumerate(self.labels)}
        shape = len(self.total_counts), 1 + len(labels)
        counts, net = np.zeros(shape), np.zeros(shape)
        counts[:, 0], net[:, 0] = self.total_counts, self.total_ns
        for i, label in enumerate(labels, 1):
            if label in place:
                counts[:, i] = self.counts[:, place[label]]
                net[:, i] = self.net_ns[:, place[label]]
        return counts, net

    def sums(self, labels: Sequence[str]) -> tuple[Table, Table]:
        """The sums over all blocks of the run, of the same columns."""
        if self.blocks == len(self.total_counts):
            counts, net = self.columns(labels)
            return counts.sum(axis=0), net.sum(axis=0)
        found = [self.all_durations, *(self.durations.get(one, Durations()) for one in labels)]
        return (
            np.array([one.count for one in found], np.float64),
            np.array([one.total_ns for one in found], np.float64),
        )

    def split(self, chosen: npt.NDArray[np.bool_]) -> tuple[Sample, Sample]:
        """Two samples of the blocks that are chosen and of the others."""
        return self._only(chosen), self._only(~chosen)

    def _only(self, chosen: npt.NDArray[np.bool_]) -> Sample:
        return replace(
            self,
            blocks=int(chosen.sum()),
            counts=self.counts[chosen],
            net_ns=self.net_ns[chosen],
            total_counts=self.total_counts[chosen],
            total_ns=self.total_ns[chosen],
        )


def block_length_ns(durations_ns: Iterable[int]) -> int:
    """One length for all runs: a hundredth of the shortest."""
    return max(min(durations_ns) // BLOCKS, _MIN_BLOCK_NS)


def sample_of_recording(name: str, recording: Recording, block_ns: int) -> Sample:
    """Reads a recording once. Time on idle CPUs is no noise and left out."""
    blocks = recording.duration_ns // block_ns
    if blocks < MIN_BLOCKS:
        raise NoisetopError(f"{name} is too short to compare: record for some seconds at least")
    tally = _Tally(recording.start_ns, block_ns, blocks)
    size = len(tally.kept)
    for chunk in recording.chunks():
        tally.add(select(chunk, chunk["victim_tid"] != 0))
    labels = tuple(recording.sources[i].label for i in sorted(tally.durations))
    columns = [tally.columns[i] for i in sorted(tally.durations)]
    counts = np.stack([c for c, _ in columns], axis=1) if columns else np.zeros((size, 0))
    net = np.stack([n for _, n in columns], axis=1) if columns else np.zeros((size, 0))
    everything = Durations()
    for one in tally.durations.values():
        _merge(everything, one)
    return Sample(
        name=name,
        block_ns=block_ns,
        blocks=blocks,
        cpus=max(len(recording.cpus), 1),
        labels=labels,
        counts=counts,
        net_ns=net,
        total_counts=counts.sum(axis=1),
        total_ns=net.sum(axis=1),
        durations={recording.sources[i].label: one for i, one in tally.durations.items()},
        all_durations=everything,
        lost=recording.counters.of(LOSSES).total,
        caveats=tuple(
            filter(None, (describe_losses(recording.counters.of(LOSSES)), recording.damage))
        ),
    )


@dataclass(slots=True)
class _Tally:
    start_ns: int
    block_ns: int
    blocks: int
    kept: npt.NDArray[np.int64] = field(init=False)
    """Numbers of the blocks that have a row, ascending."""
    columns: dict[int, tuple[Table, Table]] = field(default_factory=dict)
    """Counts and net times by source: of the blocks that are kept."""
    durations: dict[int, Durations] = field(default_factory=dict)
    """By source: of all blocks."""

    def __post_init__(self) -> None:
        if self.blocks <= MAX_BLOCKS:
            self.kept = np.arange(self.blocks)
        else:
            chosen = np.random.default_rng(_SEED).choice(self.blocks, MAX_BLOCKS, replace=False)
            self.kept = np.sort(chosen)

    def add(self, table: Interruptions) -> None:
        """Adds the interruptions that begin in a whole block."""
        block = (table["start_ns"].astype(np.int64) - self.start_ns) // self.block_ns
        whole = (block >= 0) & (block < self.blocks)
        table, block = select(table, whole), block[whole]
        order = np.argsort(table["source"], kind="stable")
        source, net_ns = table["source"][order], table["net_ns"][order]
        for number, mine in _runs(source):
            self.durations.setdefault(number, Durations()).add(net_ns[mine])
            self.columns.setdefault(number, (np.zeros(len(self.kept)), np.zeros(len(self.kept))))
        self._add_blocks(source, block[order], net_ns.astype(np.float64))

    def _add_blocks(self, source: Numbers, block: Numbers, net_ns: Vector) -> None:
        size = len(self.kept)
        row = np.searchsorted(self.kept, block)
        is_kept = self.kept[np.minimum(row, size - 1)] == block
        row, net_ns = row[is_kept], net_ns[is_kept]
        for number, mine in _runs(source[is_kept]):
            counts, total = self.columns[number]
            counts += np.bincount(row[mine], minlength=size)
            total += np.bincount(row[mine], net_ns[mine], size)


def _runs(ordered: Numbers) -> Iterator[tuple[int, slice]]:
    """Each number of an ordered column, and where it stands."""
    numbers, begins = np.unique(ordered, return_index=True)
    ends = [*begins[1:].tolist(), len(ordered)]
    for number, begin, end in zip(numbers.tolist(), begins.tolist(), ends, strict=False):
        yield number, slice(begin, end)


def _merge(into: Durations, one: Durations) -> None:
    into.count += one.count
    into.total_ns += one.total_ns
    into.square_ns2 += one.square_ns2
    into.max_ns = max(into.max_ns, one.max_ns)
    into.histogram += one.histogram


def sample_of_result(name: str, result: ProbeResult) -> Sample:
    """The first setting of a spin result; the total is the time in gaps, explained or not."""
    if result.kind != "spin" or not result.spin or not result.spin[0].cpus:
        raise NoisetopError(
            f"{name} is a result of probe {result.kind}: compare takes those of spin"
        )
    cpus = result.spin[0].cpus
    size = min(len(cpu.blocks.lost_ns) for cpu in cpus)
    if size < MIN_BLOCKS:
        raise NoisetopError(f"{name} is too short to compare: spin for a second at least")
    labels = tuple(sorted({label for cpu in cpus for label in cpu.blocks.sources}))
    unstored = sum(cpu.unstored_gaps for cpu in cpus)
    return Sample(
        name=name,
        block_ns=cpus[0].blocks.length_ns,
        blocks=size,
        cpus=len(cpus),
        labels=labels,
        counts=_block_table(cpus, labels, 0, size),
        net_ns=_block_table(cpus, labels, 1, size),
        total_counts=_summed([cpu.blocks.gap_count for cpu in cpus], size),
        total_ns=_summed([cpu.blocks.lost_ns for cpu in cpus], size),
        durations={},
        all_durations=_gap_durations(cpus),
        lost=unstored,
        caveats=(f"{unstored} gaps were counted only",) if unstored else (),
    )


def _summed(rows: Sequence[Sequence[int]], size: int) -> Table:
    total = np.zeros(size)
    for row in rows:
        total += np.array(row[:size], np.float64)
    return total


def _block_table(cpus: Sequence[CpuSpin], labels: Sequence[str], which: int, size: int) -> Table:
    table = np.zeros((size, len(labels)))
    for i, label in enumerate(labels):
        rows = [cpu.blocks.sources[label][which] for cpu in cpus if label in cpu.blocks.sources]
        table[:, i] = _summed(rows, size)
    return table


def _gap_durations(cpus: Sequence[CpuSpin]) -> Durations:
    """From the histograms: the middle of its bucket stands for each gap in the deviation."""
    edges = edges_ns()
    found = Durations()
    for cpu in cpus:
        for bucket, count in cpu.histogram.items():
            if not 0 <= int(bucket) < BUCKETS:
                raise NoisetopError("a histogram in the result is damaged")
            found.histogram[int(bucket)] += count
            middle = float(edges[int(bucket)] + edges[int(bucket) + 1] - 1) / 2
            found.square_ns2 += count * middle * middle
        found.count += cpu.gaps - cpu.unstored_gaps
        found.total_ns += cpu.lost_ns - cpu.unstored_ns
        found.max_ns = max(found.max_ns, cpu.max_ns)
    return found
