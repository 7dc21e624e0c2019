"""What holds for every flat table, also for one that is added later."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from noisetop.errors import UsageError
from noisetop.flat_tables import EVENTS, all_tables, table_named
from noisetop.flat_tables.catalogue import markdown
from noisetop.flat_tables.schema import BOOL, TEXT, Texts, row_count, storable
from tests.recordings import everything, interruption, recording, table

_DOCS = Path(__file__).parents[2] / "docs/tables.md"


def test_the_page_is_up_to_date() -> None:
    told = "run: python -m noisetop.flat_tables.catalogue > docs/tables.md"
    assert _DOCS.read_text() == markdown(), told


@pytest.mark.parametrize("name", all_tables())
def test_batches_have_the_columns_and_types_that_are_declared(name: str) -> None:
    table = table_named(name)
    batches = list(table.batches(everything()))
    assert batches
    for batch in batches:
        assert list(batch) == [column.name for column in table.columns]
        for column in table.columns:
            values = batch[column.name]
            if isinstance(values, Texts):
                assert column.type == TEXT
                assert len(set(values.values)) == len(values.values)
                assert len(values.numbers) == row_count(batch)
                continue
            assert values.dtype == (np.bool_ if column.type == BOOL else column.type)
            assert len(values) == row_count(batch)
            assert isinstance(values, np.ma.MaskedArray) == column.nullable


@pytest.mark.parametrize("name", all_tables())
def test_names_of_columns_are_unique_and_times_have_their_unit(name: str) -> None:
    columns = table_named(name).columns
    assert len({column.name for column in columns}) == len(columns)
    assert all(column.meaning for column in columns)


@pytest.mark.parametrize("name", all_tables())
def test_a_recording_without_interruptions(name: str) -> None:
    rows = sum(map(row_count, table_named(name).batches(recording())))
    assert rows == (1 if name == "runs" else 0)


def test_an_unknown_name_lists_those_that_are_known() -> None:
    with pytest.raises(UsageError, match="'rows': choose one of buckets, events, moments"):
        table_named("rows")
    assert EVENTS in all_tables()


def test_only_what_is_no_character_is_replaced() -> None:
    assert storable("a\x00\n\x1b\x7f›") == "a\x00\n\x1b\x7f›"
    assert storable("a\ud800b") == "a?b"


def test_large_numbers_of_few_rows_take_little_memory() -> None:
    rows = table(*(interruption(i, 5, victim=(1 << 32) - 1, tid=1 << 31) for i in range(3)))
    tracemalloc.start()
    try:
        batches = list(table_named(EVENTS).batches(recording(rows)))
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()
    assert [row_count(batch) for batch in batches] == [3]
