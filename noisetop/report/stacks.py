"""The stacks of those who acted: what they cost by where it was done."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from noisetop.columns.tasks import described
from noisetop.columns.triggers import verb_of
from noisetop.diagnosis.evidence import Path, Share
from noisetop.events.interruption import Source
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.recording.recording import Recording
from noisetop.summary.worst import WorstInterruption
from noisetop.text.sanitize import printable
from noisetop.text.styled import DETAIL, styled
from noisetop.text.units import format_count, format_ns

_WIDTH = 100
_INDENT = 28
_TITLES = "from", "in"
_TRACING = ("__traceiter_", "bpf_trace_run")


@dataclass(frozen=True, slots=True)
class StackRow:
    """One source from one place. Stacks are innermost function first."""

    path: Path
    trigger: Trigger
    kernel: tuple[str, ...]
    user: tuple[str, ...]
    """Of the program, below those of the kernel; empty: not known."""
    count: int
    net_ns: int
    rank_ns: int

    def as_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "path": list(self.path),
            "trigger": self.trigger.label,
            "tid": self.trigger.tid,
            "count": self.count,
            "net_ns": self.net_ns,
            "stack": list(self.kernel),
            "user_stack": list(self.user),
        }


def kernel_stack(recording: Recording, trigger: Trigger) -> tuple[str, ...]:
    """Of a trigger, without what called our program; empty: not recorded."""
    functions = recording.stacks.get(trigger.stack, ())
    tracing = [at for at, name in enumerate(functions) if name.startswith(_TRACING)]
    return functions[tracing[-1] + 1 :] if tracing else functions


def victim_stack(recording: Recording, one: WorstInterruption) -> tuple[str, ...]:
    """Where the victim was in a worst moment; empty: not recorded."""
    where, tid = one.interval, one.victim_tid
    key = recording.victim_stacks.during(tid, where.cpu, where.start_ns, where.end_ns)
    return recording.user_stacks.get((tid, key), ())


def stack_rows(recording: Recording, shares: Sequence[Share]) -> tuple[StackRow, ...]:
    """All that have a stack, over all CPUs, most expensive first."""
    sums: dict[tuple[Path, Trigger, tuple[str, ...], tuple[str, ...]], list[int]] = {}
    for share in shares:
        one = share.trigger
        kernel, user = kernel_stack(recording, one), recording.user_stack_of(one)
        if kernel or user:
            who = one._replace(stack=-1, user_stack=-1)
            figures = sums.setdefault((share.cause, who, kernel, user), [0, 0, 0])
            for at, more in enumerate((share.count, share.net_ns, share.rank_ns)):
                figures[at] += more
    rows = [StackRow(*key, *figures) for key, figures in sums.items()]
    return tuple(sorted(rows, key=lambda row: (-row.rank_ns, -row.count, row.path, row.trigger)))


def stacks_lines(
    rows: Sequence[StackRow], directory: TaskDirectory, top: int, width: int
) -> Iterator[str]:
    """The first of them, each with its functions; nothing when there are none."""
    for row in rows[:top]:
        source = Source(row.path)
        who = f"{verb_of(source)} {described(row.trigger, directory)}"
        figures = f"{format_ns(row.net_ns):>8} {format_count(row.count):>7}"
        yield f"{figures}  {printable(source.label)}  {who}"
        yield from stack_lines(row.kernel, row.user, width)
    if rest := rows[top:]:
        net = format_ns(sum(row.net_ns for row in rest))
        yield f"and {len(rest)} more with {net} in total"


def stack_lines(kernel: Sequence[str], user: Sequence[str], width: int) -> list[str]:
    """The functions of the kernel, then those of the program, innermost first."""
    lines: list[str] = []
    for title, functions in zip(_TITLES, (kernel, user), strict=True):
        lines += functions_lines(title, functions, width)
    return lines


def functions_lines(title: str, functions: Sequence[str], width: int) -> list[str]:
    """One stack with a word before it; none where it is empty."""
    if not functions:
        return []
    indent = " " * _INDENT
    lines = textwrap.wrap(
        printable(" ← ".join(functions)),
        max(min(width, _WIDTH), 2 * _INDENT),
        initial_indent=f"{indent}{title:<4} ",
        subsequent_indent=f"{indent}     ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [styled(line, DETAIL) for line in lines]
