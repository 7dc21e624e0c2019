"""The lines at the bottom: running time, losses, what the tool itself costs, the keys."""

from __future__ import annotations

from noisetop.losses import describe_losses
from noisetop.summary import Summary
from noisetop.tui.head_line import clock
from noisetop.tui.text_line import TextLine

KEYS = "q quit  h help  / filter  s S sort  p pause  r reset  c per CPU  i idle  t last second"


class FootLines(TextLine):
    """Three lines; the first or second is an alert when the figures cannot be trusted."""

    def show_waiting(self) -> None:
        """Before the first sample."""
        self.show("", "", KEYS)

    def show_summary(self, summary: Summary, running_ns: int) -> None:
        """Losses and cost of the period; ``running_ns`` since the program began."""
        lost = describe_losses(summary.losses)
        mark = f"{self.ALERT} " if summary.losses.total else ""
        first = f"{mark}running {clock(running_ns)}  {lost}"
        if missing := len(summary.missing):
            noun = "source" if missing == 1 else "sources"
            first += f"  {missing} {noun} missing on this kernel (h)"
        self.show(first, self._cost(summary), KEYS)

    def _cost(self, summary: Summary) -> str:
        cost = describe_cost(summary)
        if summary.own_cost.housekeeping:
            return f"{cost}  keeps house on CPU {summary.own_cost.housekeeping}"
        return f"{self.ALERT} {cost}  NO CPU LEFT TO KEEP HOUSE: noisetop disturbs what it watches"


def describe_cost(summary: Summary) -> str:
    """CPU time of the tool's own threads, and run time of its BPF programs on the watched CPUs."""
    own, duration_ns = summary.own_cost, summary.duration_ns
    if duration_ns <= 0:
        return "own cost unknown yet"
    cpu = f"own cost {100 * own.cpu_ns / duration_ns:.2f}% of a CPU"
    events = sum(one.count + one.idle_count for cpu in summary.cpus for one in cpu.sources)
    if own.bpf_ns_per_run is None or not events:
        return f"{cpu}, BPF not measured"
    bpf_ns = own.bpf_ns_per_run * own.bpf_runs
    share = 100 * bpf_ns / (duration_ns * max(len(summary.cpus), 1))
    return f"{cpu}, BPF {bpf_ns / events:.0f} ns/event {share:.3f}% of each"
