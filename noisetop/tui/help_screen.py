"""The help screen: keys, what each column means, what this kernel does not offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from noisetop.apart import TABLES
from noisetop.columns import (
    CPU,
    CPU_FIGURES,
    CPU_IDLE,
    CPU_STEAL,
    MAX_SINGLE_AT,
    SOURCE,
    SOURCE_BY,
    SOURCE_CPU,
    SOURCE_FIGURES,
    SOURCE_IDLE,
    TICK_KEPT_BY,
    TICK_STOPPED,
    Column,
)
from noisetop.sanitize import printable

_KEYS = (
    ("q  Ctrl-C", "quit"),
    ("h  ?", "this help; any of q, h, Esc closes it"),
    ("/  f", "show only sources whose path holds a text; Enter keeps it, Esc clears it"),
    ("s  S", "sort by the next column; turn the order round (or click on a title)"),
    ("p  Space", "freeze the tables; tracing goes on"),
    ("r", "reset: count from now on"),
    ("c", "sources of all CPUs together, or a row per CPU"),
    ("Enter", "on a CPU: only its sources; on the row 'all': those of all CPUs"),
    ("Enter  b", "on a source: who caused it, with count, net time, share and the largest"),
    ("d", "what causes the noise and what to do about it, from when it is opened"),
    ("i", "show also what ran while the CPU was idle; that is no noise"),
    ("t", "figures since the start, or of the last interval alone"),
    ("w", "what the hardware admits to: steal, throttling, machine checks, NMIs, SMIs"),
    ("Tab", "go to the other table"),
    ("↑ ↓  j k", "move; PgUp, PgDn, Home, End too"),
    ("← →", "scroll to the columns that do not fit"),
    ("Esc", "clear the filter, then go back to all CPUs"),
)
_TERMS = (
    "Noise is net time that interruptions took from a task; what ran on an idle CPU is kept apart.",
    "A class has two columns: how many interruptions (name#) and their net time (name).",
    "History: a bar per interval, · for none; a full bar is the worst in view on any CPU.",
)


class HelpScreen(ModalScreen[None]):
    """Closed by q, h, ?, Esc or Enter."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,h,question_mark,escape,enter", "dismiss", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
    ]

    def __init__(self, missing: Iterable[str]) -> None:
        super().__init__()
        self.missing = tuple(missing)

    def compose(self) -> ComposeResult:
        """Part of Textual."""
        with VerticalScroll(id="help"):
            yield Static(Text(help_text(self.missing)), markup=False)

    def action_scroll(self, lines: int) -> None:
        """Scrolls the text."""
        self.query_one("#help").scroll_relative(y=lines, animate=False)


def help_text(missing: Iterable[str]) -> str:
    """The whole text; ``missing`` are the sources that this kernel does not offer."""
    lines = ["KEYS", *(f"  {keys:<10} {what}" for keys, what in _KEYS), "", "WORDS"]
    lines += [f"  {term}" for term in _TERMS]
    more = (CPU_STEAL, CPU_IDLE, MAX_SINGLE_AT, TICK_STOPPED, TICK_KEPT_BY)
    lines += ["", "CPUS", *_columns((CPU, *CPU_FIGURES, *more))]
    lines += [
        "",
        "SOURCES",
        *_columns((SOURCE, SOURCE_CPU, *SOURCE_FIGURES, SOURCE_BY, *SOURCE_IDLE)),
    ]
    for table in TABLES:
        lines += ["", table.title.upper(), *_columns((table.kind, *table.figures))]
    lines += ["", "MISSING ON THIS KERNEL"]
    return "\n".join(lines + [f"  {printable(name)}" for name in missing or ("nothing",)])


def _columns(columns: Iterable[Column[Any]]) -> list[str]:
    return [f"  {column.title:<10} {column.help}" for column in columns]
