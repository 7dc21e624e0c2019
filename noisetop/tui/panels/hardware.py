"""Hardware and hypervisor counters: a line below the tables, and an overlay with all of them."""

from __future__ import annotations

from collections.abc import Iterable

from noisetop.counters.hardware import HARDWARE
from noisetop.counters.hardware_figures import hardware_lines
from noisetop.tui.keys import Key
from noisetop.tui.panel import Panel
from noisetop.tui.state import Period, State
from noisetop.tui.text_line import TextLine
from noisetop.tui.text_panel import TextPanel


class HardwareLine(TextLine, Panel[Period | None]):
    """All CPUs in one line."""

    ORDER = 40
    DEFAULT_CSS = """
    HardwareLine {
        height: 1;
        background: $panel;
    }
    """

    def take(self, state: State) -> Period | None:
        """Its counters."""
        return state.period

    def draw(self, taken: Period | None) -> None:
        """Part of Panel."""
        if taken is None:
            self.show()
            return
        summary = taken.summary
        brief = HARDWARE.brief(summary.counters.of(HARDWARE), summary.duration_ns)
        self.show(f"hardware (w)  {brief.text or 'not available'}")


class Hardware(TextPanel[Period | None]):
    """Every counter with its resolution, then those that are not available and why."""

    TITLE = f"{HARDWARE.title}: not counted as noise"
    ORDER = 45
    KEYS = (Key("w", "hardware counters: steal, throttling, NMIs, SMIs", "w"),)

    def take(self, state: State) -> Period | None:
        """Its counters."""
        return state.period

    def lines(self, taken: Period | None) -> Iterable[str]:
        """Part of TextPanel."""
        if taken is None:
            yield "no sample yet"
            return
        counters = taken.summary.counters.of(HARDWARE)
        yield from hardware_lines(counters.figures)
        yield from ("", "NOT AVAILABLE ON THIS MACHINE")
        yield from (f"  {line}" for line in counters.unavailable or ("none",))


PANELS = (HardwareLine, Hardware)
