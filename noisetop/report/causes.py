"""The parts of the report about triggers of the noise and waits of the victims."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from noisetop.columns.noise import SourceRow, label_of
from noisetop.columns.tasks import SHORT_LIVED, NamedShare, TaskNamer, described, short_lived_rows
from noisetop.columns.triggers import (
    TRIGGER,
    TRIGGER_FIGURES,
    culprits,
    is_known,
    verb_of,
)
from noisetop.events.trigger import Trigger
from noisetop.recording.recording import Recording
from noisetop.summary.summary import Summary, VictimWait
from noisetop.summary.worst import Part
from noisetop.text.column import NOTHING, aligned, percent, show_count
from noisetop.text.sanitize import printable
from noisetop.text.styled import DETAIL, styled
from noisetop.text.units import format_ns

_NAMED = 2
_VERB = 14
"""Cells before and behind a list of shares."""
_STACK_WIDTH = 100
_STACK_INDENT = 28


def by_lines(row: SourceRow, namer: TaskNamer, width: int) -> Iterator[str]:
    """The top triggers of a source with their shares, before them the tasks that a program is.
    Nothing when none is known."""
    whole_ns = row.source.rank_ns
    if tasks := namer.programs_of(row.source):
        yield f"     task {_shares(tasks, whole_ns, width)}"
    triggers = namer.triggers_of(row.source)
    if any(is_known(one.part.trigger) for one in triggers):
        yield f"     {verb_of(row.source.source)} {_shares(triggers, whole_ns, width)}"


def _shares(parts: Sequence[NamedShare], whole_ns: int, width: int) -> str:
    text = ""
    for one in parts[:_NAMED]:
        share = f"{one.label} {percent(one.part.rank_ns, whole_ns):.0f} %"
        more = f"{text}, {share}" if text else share
        if text and len(more) + _VERB > width:
            break
        text = more
    return text


def who_lines(summary: Summary, top: int) -> Iterator[str]:
    """Who is behind all noise; nothing when nobody is known."""
    rows = culprits(summary)
    if not any(is_known(one.part.trigger) for one in rows):
        return
    yield from aligned((*TRIGGER_FIGURES, TRIGGER), rows[:top])
    if rest := rows[top:]:
        net = format_ns(sum(row.part.net_ns for row in rest))
        yield f"and {len(rest)} more with {net} in total"


def short_lived_lines(summary: Summary, top: int) -> Iterator[str]:
    """Tasks that are started again and again; nothing when there are none."""
    rows = short_lived_rows(summary)
    if rows:
        yield from aligned(SHORT_LIVED, rows[:top])
    if rest := rows[top:]:
        yield f"and {len(rest)} more with {sum(row.one.starts for row in rest)} starts in total"


def wait_lines(summary: Summary, top: int, width: int) -> Iterator[str]:
    """Each victim that was runnable but not running: how often and how long, by reason.

    Where figures and names are wider than ``width`` together, the name stands above its figures.
    """
    if not summary.waits:
        return
    reasons = tuple(dict.fromkeys(reason for one in summary.waits for reason in one.wait.count))
    titles = "".join(f" {printable(name):>9}# {printable(name):>9}" for name in reasons)
    header = f"{'Total':>8} {'Longest':>8}{titles}"
    namer = TaskNamer(summary)
    shown = [(_wait_figures(one, reasons), _victim(one, namer)) for one in summary.waits[:top]]
    fits = max(len(figures) + len(victim) + 2 for figures, victim in shown) <= width
    yield from [f"{header}  Victim"] if fits else ["Victim", header]
    for figures, victim in shown:
        yield from [f"{figures}  {victim}"] if fits else [victim, figures]
    if rest := summary.waits[top:]:
        total = format_ns(sum(one.wait.sum_ns for one in rest))
        yield f"and {len(rest)} more with {total} in total"


def _victim(one: VictimWait, namer: TaskNamer) -> str:
    known = one.tid in namer.summary.directory.infos
    return namer.name(one.tid) if known else printable(f"{one.name} {one.tid}".strip())


def _wait_figures(one: VictimWait, reasons: Sequence[str]) -> str:
    wait = one.wait
    figures = "".join(
        f" {show_count(wait.count[reason]):>10} {format_ns(wait.total_ns[reason]):>9}"
        if wait.count.get(reason)
        else f" {NOTHING:>10} {NOTHING:>9}"
        for reason in reasons
    )
    return f"{format_ns(wait.sum_ns):>8} {format_ns(wait.max_ns):>8}{figures}"


def part_text(part: Part, namer: TaskNamer) -> str:
    """A part of a long interruption: what ran, as which task, and who caused it."""
    who = f" {namer.number(part.tid)}" if part.tid and namer.is_program(part.tid) else ""
    trigger = described(part.trigger, namer.summary.directory)
    by = f"  {verb_of(part.source)} {trigger}" if is_known(part.trigger) else ""
    return f"{label_of(part.source)}{who}{by}"


def stack_lines(recording: Recording, trigger: Trigger, width: int) -> list[str]:
    """The kernel stack of a trigger, innermost function first; none when it was not recorded."""
    functions = _without_us(recording.stacks.get(trigger.stack, ()))
    if not functions:
        return []
    indent = " " * _STACK_INDENT
    lines = textwrap.wrap(
        printable(" ← ".join(functions)),
        max(min(width, _STACK_WIDTH), 2 * _STACK_INDENT),
        initial_indent=f"{indent}from ",
        subsequent_indent=f"{indent}     ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [styled(line, DETAIL) for line in lines]


def _without_us(functions: tuple[str, ...]) -> tuple[str, ...]:
    """A stack taken at a tracepoint begins with what called our program."""
    tracing = [at for at, name in enumerate(functions) if name.startswith("__traceiter_")]
    return functions[tracing[0] + 1 :] if tracing else functions
