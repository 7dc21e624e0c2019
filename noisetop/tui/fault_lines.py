"""The page faults of the victims, below the noise that they are no part of."""

from __future__ import annotations

from noisetop.columns import aligned
from noisetop.fault_columns import FAULT, FAULT_FIGURES, fault_rows
from noisetop.summary import CpuSummary, Summary
from noisetop.tui.text_line import TextLine


class FaultLines(TextLine):
    """A line of titles and one for each kind that occurred; not there when none did."""

    def show_summary(self, summary: Summary, cpu: CpuSummary) -> None:
        """Takes the faults of one CPU of a summary, or of its ``all_cpus()``."""
        rows = fault_rows(summary, cpu)
        self.show(*(aligned((FAULT, *FAULT_FIGURES), rows) if rows else ()))
        self.display = bool(rows)
        self.styles.height = len(self.lines)

    def show_nothing(self) -> None:
        """Before the first sample of a period."""
        self.show()
        self.display = False
