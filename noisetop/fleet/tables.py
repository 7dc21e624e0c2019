"""The tables of a fleet: those of one recording, with what tells runs apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from noisetop.events.interruption import Source
from noisetop.events.source_groups import group_label
from noisetop.flat_tables import all_tables
from noisetop.flat_tables.schema import (
    BOOL,
    TEXT,
    Batch,
    Column,
    FlatTable,
    Texts,
    Values,
    batch_of,
    row_count,
    storable,
)
from noisetop.fleet.run import RunHead
from noisetop.recording.recording import Recording

FLEET_VERSION = 1
"""Of these tables. Goes up as noisetop.flat_tables.schema.SCHEMA_VERSION does."""
RUNS, EVENTS = "runs", "events"
ALWAYS = ("sources", "buckets", "moments", RUNS)
"""What is written of every run; a run counts once its row is there, so that comes last."""

_SIGNED = "int64"
"""Type of all numbers: Spark has no unsigned ones."""
_LEAD = (
    Column("run", TEXT, "number of the run"),
    Column("day", TEXT, "day of its start, UTC; `unknown`: not known"),
    Column("host", TEXT, "where it was recorded, or a hash of that"),
)
_GROUP = Column("source_group", TEXT, "the source without the numbers that differ between hosts")
_OF_RUNS = (
    Column("fleet_version", _SIGNED, "version of these tables"),
    Column("started_ns", _SIGNED, "start of the recording, ns since 1970; 0: not known"),
    Column("cpu_model", TEXT, "vendor, family and model; empty: not known"),
    Column("labels", TEXT, "what `--label` said, as JSON: an object of texts"),
)
_LEFT_OUT = ("host", "metadata")
_TOLD_BY_NAME = ("command", "target")
"""Columns of runs that may name the host, and are empty where names are hashed."""

HeadOf = Callable[[Recording], RunHead]


def fleet_tables(head: RunHead | None = None) -> dict[str, FlatTable]:
    """The tables by name, for rows of the run with that head; without one for their columns."""
    return {name: _fleet_table(table, head) for name, table in all_tables().items()}


def _fleet_table(table: FlatTable, head: RunHead | None) -> FlatTable:
    own = tuple(
        one if one.type in (TEXT, BOOL) else replace(one, type=_SIGNED)
        for one in table.columns
        if table.name != RUNS or one.name not in _LEFT_OUT
    )
    grouped = any(one.name == "source" for one in own)
    columns = (*_LEAD, *(_OF_RUNS if table.name == RUNS else ()), *own, *([_GROUP] * grouped))

    def batches(recording: Recording) -> Iterator[Batch]:
        if head is None:
            return
        for batch in table.batches(recording):
            known = {**batch, **_constants(head, row_count(batch))}
            if grouped:
                known[_GROUP.name] = _groups(batch["source"])
            yield {one.name: _signed(known[one.name], one) for one in columns}

    return replace(table, columns=columns, batches=batches)


def _constants(head: RunHead, rows: int) -> Batch:
    """The columns that have one value in all rows."""
    labels = json.dumps(dict(sorted(head.labels.items())), ensure_ascii=False)
    lead = _LEAD + _OF_RUNS
    values = (head.run, head.day, head.host, FLEET_VERSION, head.started_ns, head.cpu_model, labels)
    one_row = next(batch_of(lead, [values]))
    told = {name: Texts(np.zeros(1, np.int64), [""]) for name in _TOLD_BY_NAME if head.anonymous}
    return {name: _repeated(one, rows) for name, one in {**one_row, **told}.items()}


def _repeated(values: Values, rows: int) -> Values:
    if isinstance(values, Texts):
        return Texts(np.zeros(rows, np.int64), values.values)
    return np.repeat(values, rows)


def _groups(sources: Values) -> Texts:
    assert isinstance(sources, Texts)
    found = [group_label(Source(tuple(one.split(" › ")))) for one in sources.values]
    return Texts(sources.numbers, [storable(one) for one in found])


def _signed(values: Values, column: Column) -> Values:
    if isinstance(values, Texts) or column.type == BOOL:
        return values
    return values.astype(np.int64)
