"""The help: keys, what each column means, what this kernel does not offer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.tui.keys import QUIT, Key, ViewKind, command_name, general_keys, renamed
from noisetop.tui.panels import panels_of
from noisetop.tui.severity import severity_words
from noisetop.tui.state import State
from noisetop.tui.text_panel import TextPanel

_TERMS = (
    "Noise is net time that interruptions took from a task.",
    "Net time excludes nested interruptions.",
    "What ran on an idle CPU is not noise and is counted separately.",
    "A class has two columns: interruptions (name#) and net time (name).",
    "History: a bar per interval, · for none; the highest bar is the worst",
    "interval shown on any CPU. Colour and the mark behind it tell how bad",
    f"noise is, as a share of the time: {severity_words()}.",
    "First line: noise of all CPUs; the longest interval without progress",
    "with the largest interruption in it; what is lost or unattributed,",
    "with ? where the figures are in doubt.",
    "Overhead: CPU time of noisetop and run time of its BPF programs, in",
    "percent of one CPU.",
)


class Help(TextPanel[tuple[str, ...]]):
    """All panels explain themselves in it."""

    TITLE = "noisetop help"
    ORDER = 1
    KEYS = (Key("h  ?", "this help", "h,question_mark", hint="h help"),)

    def take(self, state: State) -> tuple[str, ...]:
        """Sources that this kernel does not offer."""
        return state.latest.total.counters.of(UNAVAILABLE) if state.latest else ()

    def lines(self, taken: tuple[str, ...]) -> Iterable[str]:
        """Part of TextPanel."""
        yield from help_lines(taken, self.dashboard.kind, self.dashboard.own_keys)


def help_lines(
    unavailable: Iterable[str],
    kind: ViewKind = ViewKind.LIVE,
    own_keys: Mapping[str, str] = MappingProxyType({}),
) -> Iterable[str]:
    """The whole text of such a view; ``unavailable`` are the sources that this kernel does not
    offer, ``own_keys`` those of the user by command."""
    panels = panels_of(kind)
    yield "KEYS"
    of_panels = [
        renamed(key, own_keys.get(command_name(key.action, panel.__name__)) if key.names else "")
        for panel in panels
        for key in panel.KEYS
    ]
    general = [renamed(key, own_keys.get(command_name(key.action))) for key in general_keys(kind)]
    keys: list[Key] = [QUIT, *of_panels, *general]
    yield from (f"  {key.label:<10} {key.help}" for key in keys if key.label)
    yield from ("", "TERMS", *(f"  {term}" for term in _TERMS))
    for panel in panels:
        for title, columns in panel.help_sections():
            yield from ("", title.upper())
            yield from (f"  {column.title:<10} {column.help}" for column in columns)
    yield from ("", "NOT SUPPORTED BY THIS KERNEL")
    yield from (f"  {name}" for name in unavailable or ("none",))


PANELS = (Help,)
