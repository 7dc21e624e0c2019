"""The parts of the report about triggers of the noise and waits of the victims."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from noisetop.columns.noise import SourceRow, trigger_label
from noisetop.columns.triggers import (
    TRIGGER,
    TRIGGER_FIGURES,
    is_known,
    triggers_of_all,
    triggers_of_source,
)
from noisetop.events.trigger import Trigger
from noisetop.recording.recording import Recording
from noisetop.summary.summary import Summary, VictimWait
from noisetop.text.column import NOTHING, aligned, show_count
from noisetop.text.sanitize import printable
from noisetop.text.styled import DETAIL, styled
from noisetop.text.units import format_ns

_NAMED = 2
_STACK_WIDTH = 100
_STACK_INDENT = 28


def by_line(row: SourceRow, width: int) -> Iterator[str]:
    """The top triggers of a source with their shares; nothing when none is known."""
    rows = triggers_of_source(row.source)
    if not any(is_known(one.part.trigger) for one in rows):
        return
    text = ""
    for one in rows[:_NAMED]:
        share = 100 * one.part.net_ns / one.whole_ns if one.whole_ns else 0.0
        more = f"{text}, {one.label} {share:.0f} %" if text else f"{one.label} {share:.0f} %"
        if text and len(more) + 8 > width:
            break
        text = more
    yield f"     by {text}"


def who_lines(summary: Summary, top: int) -> Iterator[str]:
    """Each trigger over all sources; nothing when none is known."""
    rows = triggers_of_all(summary.all_cpus())
    if not any(is_known(one.part.trigger) for one in rows):
        return
    yield from aligned((*TRIGGER_FIGURES, TRIGGER), rows[:top])
    if rest := rows[top:]:
        net = format_ns(sum(row.part.net_ns for row in rest))
        yield f"and {len(rest)} more with {net} in total"


def wait_lines(summary: Summary, top: int, width: int) -> Iterator[str]:
    """Each victim that was runnable but not running: how often and how long, by reason.

    Where figures and names are wider than ``width`` together, the name stands above its figures.
    """
    if not summary.waits:
        return
    reasons = tuple(dict.fromkeys(reason for one in summary.waits for reason in one.wait.count))
    titles = "".join(f" {printable(name):>9}# {printable(name):>9}" for name in reasons)
    header = f"{'Total':>8} {'Longest':>8}{titles}"
    shown = [(_wait_figures(one, reasons), _victim(one)) for one in summary.waits[:top]]
    fits = max(len(figures) + len(victim) + 2 for figures, victim in shown) <= width
    yield from [f"{header}  Victim"] if fits else ["Victim", header]
    for figures, victim in shown:
        yield from [f"{figures}  {victim}"] if fits else [victim, figures]
    if rest := summary.waits[top:]:
        total = format_ns(sum(one.wait.sum_ns for one in rest))
        yield f"and {len(rest)} more with {total} in total"


def _victim(one: VictimWait) -> str:
    return printable(f"{one.name} {one.tid}".strip())


def _wait_figures(one: VictimWait, reasons: Sequence[str]) -> str:
    wait = one.wait
    figures = "".join(
        f" {show_count(wait.count[reason]):>10} {format_ns(wait.total_ns[reason]):>9}"
        if wait.count.get(reason)
        else f" {NOTHING:>10} {NOTHING:>9}"
        for reason in reasons
    )
    return f"{format_ns(wait.sum_ns):>8} {format_ns(wait.max_ns):>8}{figures}"


def by_trigger(trigger: Trigger) -> str:
    """Who caused a part of a long interruption; empty when it is not known."""
    return f"  by {trigger_label(trigger)}" if is_known(trigger) else ""


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
