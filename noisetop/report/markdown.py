"""The report in short as Markdown, for the summary page of a build."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisetop.columns.noise import label_of
from noisetop.columns.tasks import UNKNOWN, TaskNamer
from noisetop.counters.losses import LOSSES, describe_losses
from noisetop.events.interruption import Source
from noisetop.limits.outcome import Outcome, exceeded, loss_warning
from noisetop.report.text import Report
from noisetop.report.verdict import verdict_rows
from noisetop.summary.summary import SourceSummary
from noisetop.text.column import NOTHING
from noisetop.text.sanitize import printable
from noisetop.text.units import format_ns

Cells = tuple[str, ...]

_LIMIT_TITLES = ("Limit", "Result", "Figure", "Mostly", "Who")
_SOURCE_TITLES = ("Top source", "≈Cost", "Net", "Count", "Max", "Origin", "Who")


def markdown_lines(report: Report, *, top: int) -> Iterator[str]:
    """Verdict, limits and the ``top`` largest sources, as GitHub's Markdown with tables.

    Whatever can hold a name from the kernel is in code spans, where nothing has a meaning.
    """
    summary, outcomes = report.summary, report.limits
    yield f"## {_title(outcomes)}"
    losses = summary.counters.of(LOSSES)
    rows = [*verdict_rows(summary, report.worst, report.diagnosis)]
    rows.append(("losses", describe_losses(losses)))
    if damage := report.recording.damage:
        rows.append(("damage", damage))
    yield from _table(("Verdict", ""), [(title, code(text)) for title, text in rows])
    if outcomes:
        yield from _table(_LIMIT_TITLES, [_limit_cells(one) for one in outcomes])
    if warning := loss_warning(outcomes, losses.total, report.recording.damage):
        yield from ("", f"**Incomplete:** {code(warning)}")
    sources = [one for one in summary.all_cpus().external if one.count]
    namer = TaskNamer(summary)
    if sources:
        yield from _table(_SOURCE_TITLES, [_source_cells(one, namer) for one in sources[:top]])
    if rest := sources[top:]:
        net = format_ns(sum(one.net_ns for one in rest))
        yield from ("", f"and {len(rest)} more with {net} net in total")


def code(text: str) -> str:
    """A code span that no text can leave, in a table or not; empty for none."""
    harmless = printable(text).replace("`", "\\x60").replace("|", "\\x7c")
    return f"`{harmless}`" if harmless.strip() else ""


def _title(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return "noisetop"
    crossed = len(exceeded(outcomes))
    if not crossed:
        return f"noisetop: all {len(outcomes)} limits kept"
    return f"noisetop: {crossed} of {len(outcomes)} limits exceeded"


def _table(titles: Cells, rows: Sequence[Cells]) -> Iterator[str]:
    yield ""
    yield _row(titles)
    yield _row(tuple("---" for _ in titles))
    yield from map(_row, rows)


def _row(cells: Cells) -> str:
    return f"| {' | '.join(cells)} |"


def _limit_cells(one: Outcome) -> Cells:
    blamed = one.culprit
    path = Source(blamed.path).label if blamed else ""
    where = "" if one.cpu is None else f" on CPU {one.cpu}"
    result = "**exceeded**" if one.exceeded else "kept"
    who = (blamed.who if blamed else None) or ""
    return code(one.limit.text), result, f"{one.value_text}{where}", code(path), code(who)


def _source_cells(one: SourceSummary, namer: TaskNamer) -> Cells:
    cost = NOTHING if one.cost_ns is None else format_ns(one.cost_ns)
    known = (share.label for share in namer.culprits_of(one) if share.label != UNKNOWN)
    figures = cost, format_ns(one.net_ns), str(one.count), format_ns(one.max_ns)
    return code(label_of(one.source)), *figures, one.origin.label, code(next(known, ""))
