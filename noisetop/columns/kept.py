"""The figures of the worst moments that are kept in files."""

from __future__ import annotations

from noisetop.recording.moment import KeptMoment
from noisetop.text.column import Column, Value, shorten_end, show_count, show_ns
from noisetop.text.sanitize import printable

_WHO = 24
_FILE = 40


def _what(row: KeptMoment) -> str:
    return printable(" › ".join(row.figures.source)) or "unattributed"


def _who(row: KeptMoment) -> Value:
    return printable(row.figures.by) or None


KEPT: Column[KeptMoment] = Column(
    "path", "Mostly", "", 24, _what, str, "what took most of it", left=True
)
KEPT_FIGURES: tuple[Column[KeptMoment], ...] = (
    Column("rank", "Rank", "", 5, lambda row: -row.rank, lambda v: str(v).lstrip("-"),
           "1: the worst, by what orders them"),
    Column("net_ns", "Net", "ns", 7, lambda row: row.figures.net_ns, show_ns,
           "external noise in it"),
    Column("cost_ns", "≈Cost", "ns", 7, lambda row: row.figures.cost_ns, show_ns,
           "the same with the estimated cost of entries"),
    Column("duration_ns", "Lasted", "ns", 7, lambda row: row.figures.duration_ns, show_ns,
           "from its beginning to its end"),
    Column("cpu", "CPU", "", 4,
           lambda row: row.figures.cpu if row.figures.cpu >= 0 else None, str, "where it was"),
    Column("by", "By", "", _WHO, _who, lambda v: shorten_end(str(v), _WHO),
           "who caused most of it", left=True),
    Column("lost", "Lost", "", 7, lambda row: row.figures.lost or None, show_count,
           "records that are missing in the file"),
    Column("file", "File", "", _FILE, lambda row: printable(row.file.name),
           lambda v: shorten_end(str(v), _FILE), "its recording: noisetop view FILE", left=True),
)  # fmt: skip
