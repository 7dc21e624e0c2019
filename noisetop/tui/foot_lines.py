"""The lines at the bottom: running time, losses, what the tool itself costs, the keys."""

from __future__ import annotations

from noisetop.absence import describe_absences
from noisetop.losses import describe_losses
from noisetop.summary import OwnCost, Summary
from noisetop.tui.head_line import clock
from noisetop.tui.text_line import TextLine

KEYS = "q quit  h help  d causes  / filter  s S sort  p pause  r reset  c CPUs  t last"


class FootLines(TextLine):
    """Three lines; the first or second is an alert when the figures cannot be trusted."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._before = (0, 0)
        self._now_percent = 0.0

    def show_waiting(self) -> None:
        """Before the first sample."""
        self.show("", "", KEYS)

    def show_summary(self, summary: Summary, running_ns: int) -> None:
        """Losses and cost so far; ``running_ns`` since the books were opened."""
        lost = describe_losses(summary.losses)
        offline = describe_absences(summary.absences)
        mark = f"{self.ALERT} " if summary.losses.total or offline else ""
        first = "  ".join(filter(None, (f"{mark}running {clock(running_ns)}", offline, lost)))
        if missing := len(summary.missing):
            first += f"  {missing} {'source' if missing == 1 else 'sources'} missing (h)"
        own = summary.own_cost
        second = f"{self._cpu_cost(own, running_ns)}  {_bpf_cost(summary, running_ns)}"
        if own.housekeeping:
            second += f"  house: CPU {own.housekeeping}"
        else:
            second = f"{self.ALERT} NO CPU LEFT TO KEEP HOUSE, disturbs what it watches  {second}"
        self.show(first, second, KEYS)

    def _cpu_cost(self, own: OwnCost, running_ns: int) -> str:
        """Share of one CPU since the last drawing, and so far."""
        cpu_ns = own.cpu_ns - self._before[0]
        elapsed_ns = running_ns - self._before[1]
        if elapsed_ns > 0:
            self._now_percent = max(100 * cpu_ns / elapsed_ns, 0.0)
            self._before = (own.cpu_ns, running_ns)
        mean_percent = 100 * own.cpu_ns / max(running_ns, 1)
        return f"own CPU {self._now_percent:.2f}% (mean {mean_percent:.2f}%)"


def _bpf_cost(summary: Summary, running_ns: int) -> str:
    """Run time of the BPF programs on all CPUs, as a share of one."""
    own = summary.own_cost
    if own.bpf_ns is None:
        return "BPF not measured"
    share_percent = 100 * own.bpf_ns / max(running_ns, 1)
    return f"BPF ~{own.bpf_ns_per_record:.0f} ns/record, {share_percent:.3f}% of a CPU"
