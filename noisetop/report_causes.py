"""The parts of the report that tell who caused the noise, and who waited."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from noisetop.columns import NOTHING, SourceRow, aligned, show_count, trigger_label
from noisetop.recording import Recording
from noisetop.sanitize import printable
from noisetop.summary import Summary, VictimWait
from noisetop.trigger import Trigger
from noisetop.trigger_columns import (
    TRIGGER,
    TRIGGER_FIGURES,
    is_known,
    triggers_of_all,
    triggers_of_source,
)
from noisetop.units import format_ns
from noisetop.waits import REASONS

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
        yield f"and {len(rest)} more with {net} together"


def wait_lines(summary: Summary, top: int) -> Iterator[str]:
    """Each victim that could have run but did not: how often and how long, by reason."""
    if not summary.waits:
        return
    titles = "".join(f" {reason:>9}# {reason:>9}" for reason in REASONS)
    yield f"{'Total':>8} {'Longest':>8}{titles}  Victim"
    for one in summary.waits[:top]:
        yield _wait_line(one)
    if rest := summary.waits[top:]:
        total = format_ns(sum(one.wait.sum_ns for one in rest))
        yield f"and {len(rest)} more with {total} together"


def _wait_line(one: VictimWait) -> str:
    wait = one.wait
    figures = "".join(
        f" {show_count(wait.count[reason]):>10} {format_ns(wait.total_ns[reason]):>9}"
        if wait.count.get(reason)
        else f" {NOTHING:>10} {NOTHING:>9}"
        for reason in REASONS
    )
    who = printable(f"{one.name} {one.tid}".strip())
    return f"{format_ns(wait.sum_ns):>8} {format_ns(wait.max_ns):>8}{figures}  {who}"


def by_trigger(trigger: Trigger) -> str:
    """Who caused a part of a long interruption; empty when it is not known."""
    return f"  by {trigger_label(trigger)}" if is_known(trigger) else ""


def stack_lines(recording: Recording, trigger: Trigger, width: int) -> list[str]:
    """The kernel stack of a trigger, innermost function first; none when it was not recorded."""
    functions = _without_us(recording.stacks.get(trigger.stack, ()))
    if not functions:
        return []
    indent = " " * _STACK_INDENT
    return textwrap.wrap(
        printable(" ← ".join(functions)),
        max(min(width, _STACK_WIDTH), 2 * _STACK_INDENT),
        initial_indent=f"{indent}from ",
        subsequent_indent=f"{indent}     ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _without_us(functions: tuple[str, ...]) -> tuple[str, ...]:
    """A stack taken at a tracepoint begins with what called our program."""
    tracing = [at for at, name in enumerate(functions) if name.startswith("__traceiter_")]
    return functions[tracing[0] + 1 :] if tracing else functions
