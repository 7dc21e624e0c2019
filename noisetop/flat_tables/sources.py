"""The table of sources: totals per CPU, source and origin, as a report has them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import starmap

from noisetop.flat_tables.kinds import (
    ASIDE_MEANING,
    CLASS_MEANING,
    NOISE,
    ORIGIN_MEANING,
    SIDE,
    SOURCE_MEANING,
)
from noisetop.flat_tables.schema import TEXT, Batch, Cell, Column, FlatTable, batch_of
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.summary.summary import SourceSummary, Summary

_COLUMNS = (
    Column("cpu", "uint16", "where it ran"),
    Column(
        "kind",
        TEXT,
        "`noise`: with its `idle_*` columns for what ran on the idle CPU; `side`: no noise, such "
        "as page faults and entries. Only sum rows of one kind",
    ),
    Column("class", TEXT, CLASS_MEANING),
    Column("source", TEXT, SOURCE_MEANING),
    Column("origin", TEXT, ORIGIN_MEANING),
    Column("aside", TEXT, ASIDE_MEANING),
    Column("count", "uint64", "how often it ran, on an idle CPU included"),
    Column("net_ns", "uint64", "time that it took, excluding nested interruptions and idle CPUs"),
    Column("cost_ns", "uint64", "estimate of what victims lost to it", nullable=True),
    Column("cost_low_ns", "uint64", "with the 10th percentile of the entry cost", nullable=True),
    Column("cost_high_ns", "uint64", "with the 90th percentile of the entry cost", nullable=True),
    Column("max_ns", "uint64", "largest net time of one"),
    Column("max_start_ns", "uint64", "when that one began, CLOCK_MONOTONIC"),
    Column("mean_ns", "uint64", "mean net time"),
    Column("p50_ns", "uint64", "median net time, at most 6.25 % too high"),
    Column("p99_ns", "uint64", "99th percentile of net times, at most 6.25 % too high"),
    Column("idle_count", "uint64", "how often of `count` the CPU was idle"),
    Column("idle_ns", "uint64", "net time on the idle CPU: no noise"),
)


def _batches(recording: Recording) -> Iterator[Batch]:
    return batch_of(_COLUMNS, starmap(_row_of, by_cpu(summary_of(recording))))


def by_cpu(summary: Summary) -> Iterator[tuple[int, str, SourceSummary]]:
    """CPU and kind of each source, in the order of a report."""
    for cpu in summary.cpus:
        for one in cpu.sources:
            yield cpu.cpu or 0, NOISE, one
        for found in cpu.side.values():
            for one in found:
                yield cpu.cpu or 0, SIDE, one


def named(cpu: int, kind: str, one: SourceSummary) -> tuple[Cell, ...]:
    """The first cells of a row about a source: what it is."""
    source = one.source
    return cpu, kind, source.noise_class, source.label, one.origin.label, one.aside


def _row_of(cpu: int, kind: str, one: SourceSummary) -> tuple[Cell, ...]:
    low_ns, high_ns = one.cost_range_ns or (None, None)
    return (
        *named(cpu, kind, one),
        one.count + one.idle_count,
        one.net_ns,
        one.cost_ns,
        low_ns,
        high_ns,
        one.max_ns,
        one.max_start_ns,
        round(one.mean_ns),
        one.percentile_ns(0.5),
        one.percentile_ns(0.99),
        one.idle_count,
        one.idle_ns,
    )


TABLE = FlatTable("sources", "what ran on one CPU, with its totals", _COLUMNS, _batches)
