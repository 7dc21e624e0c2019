"""Tables and bar charts of text output."""

from __future__ import annotations

from noisetop.text.layout import ANY_WIDTH, fit, fold_empty_rows, output_width, table_lines


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    rows = [("name", "a", "b"), ("x", "1000000", "2"), ("longer name", "1", "30")]
    assert table_lines(rows, left=[0]) == [
        "name               a   b",
        "x            1000000   2",
        "longer name        1  30",
    ]


def test_no_rows_are_no_lines() -> None:
    assert table_lines([]) == []


def test_only_runs_of_empty_rows_are_folded() -> None:
    rows = [(False, "a"), (True, "b"), (False, "c"), (True, "d"), (True, "e"), (False, "f")]
    assert list(fold_empty_rows(rows, "  ")) == ["a", "b", "c", "  (2 empty rows)", "f"]


def test_long_lines_are_wrapped_below_their_indentation() -> None:
    assert list(fit(["  short", "  a longer line"], 11)) == ["  short", "  a longer", "      line"]


def test_a_number_keeps_its_unit() -> None:
    assert list(fit(["waited 5.00 µs"], 12)) == ["waited", "    5.00 µs"]


def test_output_that_is_no_terminal_is_not_broken() -> None:
    assert output_width() == ANY_WIDTH
