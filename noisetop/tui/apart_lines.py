"""What is no part of the noise, below it."""

from __future__ import annotations

from noisetop.apart import TABLES
from noisetop.summary import CpuSummary, Summary
from noisetop.tui.text_line import TextLine


class ApartLines(TextLine):
    """For each kind a line of titles and one for each row; not there when nothing occurred."""

    def show_summary(self, summary: Summary, cpu: CpuSummary) -> None:
        """Takes what occurred on one CPU of a summary, or on its ``all_cpus()``."""
        self.show(*(line for table in TABLES for line in table.lines(summary, (cpu,))))
        self.display = bool(self.lines)
        self.styles.height = len(self.lines)

    def show_nothing(self) -> None:
        """Before the first sample of a period."""
        self.show()
        self.display = False
