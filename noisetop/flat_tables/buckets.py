"""The table of histograms: how many interruptions of a source took how long."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from noisetop.flat_tables.kinds import ASIDE_MEANING, CLASS_MEANING, ORIGIN_MEANING, SOURCE_MEANING
from noisetop.flat_tables.schema import TEXT, Batch, Cell, Column, FlatTable, batch_of
from noisetop.flat_tables.sources import by_cpu, named
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from noisetop.tables.histogram import edges_ns

_COLUMNS = (
    Column("cpu", "uint16", "where it ran"),
    Column("kind", TEXT, "`noise` or `side`: no noise, such as page faults and entries"),
    Column("class", TEXT, CLASS_MEANING),
    Column("source", TEXT, SOURCE_MEANING),
    Column("origin", TEXT, ORIGIN_MEANING),
    Column("aside", TEXT, ASIDE_MEANING),
    Column("bucket", "uint16", "number of the bucket, the same in every recording"),
    Column("from_ns", "uint64", "the shortest net time in it"),
    Column("below_ns", "uint64", "net times in it are shorter than this"),
    Column("count", "uint64", "interruptions of victims in it, never 0"),
)


def _batches(recording: Recording) -> Iterator[Batch]:
    return batch_of(_COLUMNS, _rows(recording))


def _rows(recording: Recording) -> Iterator[tuple[Cell, ...]]:
    edges = edges_ns().tolist()
    for cpu, kind, one in by_cpu(summary_of(recording)):
        for bucket in np.flatnonzero(one.histogram).tolist():
            yield (
                *named(cpu, kind, one),
                bucket,
                edges[bucket],
                edges[bucket + 1],
                int(one.histogram[bucket]),
            )


TABLE = FlatTable("buckets", "a bucket of the histogram of a source on one CPU", _COLUMNS, _batches)
