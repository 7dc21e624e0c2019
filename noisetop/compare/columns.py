"""The figures of a comparison in a table: A and B side by side, and what changed."""

from __future__ import annotations

from noisetop.compare.comparison import Figure, Row
from noisetop.compare.report import interval_text, ratio_text, verdict_of
from noisetop.text.column import Column, show_ns, show_rate
from noisetop.text.sanitize import printable

_NO_RATIO = 1e18
"""Sorts what is new before all that grew."""


def _ratio(figure: Figure) -> float:
    ratio = figure.ratio
    return _NO_RATIO if ratio is None else ratio


def _factor(title: str, name: str, of: str) -> Column[Row]:
    def figure(row: Row) -> Figure:
        found: Figure = getattr(row, of)
        return found

    return Column(
        name, title, "", 7, lambda row: _ratio(figure(row)),
        lambda v: "new" if v == _NO_RATIO else ratio_text(float(v or 0)),
        f"{of} of B as a multiple of that of A", sortable=True,
    )  # fmt: skip


COMPARED: Column[Row] = Column(
    "source", "Source", "", 24, lambda row: printable(row.label), str,
    "what ran, class first", left=True,
)  # fmt: skip
CHANGE: Column[Row] = Column(
    "change", "Change", "", 11, lambda row: verdict_of(row) or None, str,
    "what changed significantly; too rare: no test can tell", left=True,
)  # fmt: skip
INTERVAL: Column[Row] = Column(
    "interval", "B-A, 95 %", "ns", 24, lambda row: abs(row.time.b - row.time.a),
    str, "interval that holds the true change of time per second with 95 %",
)  # fmt: skip
COMPARED_FIGURES: tuple[Column[Row], ...] = (
    CHANGE,
    Column(
        "time_a", "Time/s A", "ns/s", 8, lambda row: row.time.a, show_ns,
        "net time per second and CPU in A",
    ),
    Column(
        "time_b", "Time/s B", "ns/s", 8, lambda row: row.time.b, show_ns,
        "net time per second and CPU in B",
    ),
    _factor("B/A", "time_ratio", "time"),
    INTERVAL,
    Column(
        "rate_a", "Rate/s A", "1/s", 8, lambda row: row.rate.a, show_rate,
        "interruptions per second and CPU in A",
    ),
    Column(
        "rate_b", "Rate/s B", "1/s", 8, lambda row: row.rate.b, show_rate,
        "interruptions per second and CPU in B",
    ),
    _factor("B/A", "rate_ratio", "rate"),
    Column(
        "length_a", "Mean A", "ns", 8, lambda row: row.length.a, show_ns,
        "mean net time of an interruption in A",
    ),
    Column(
        "length_b", "Mean B", "ns", 8, lambda row: row.length.b, show_ns,
        "mean net time of an interruption in B",
    ),
)  # fmt: skip


def interval_cell(row: Row) -> str:
    """The interval in the width of its column."""
    return INTERVAL.pad(interval_text(row.time))
