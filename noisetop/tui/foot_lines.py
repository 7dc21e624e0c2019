"""The lines at the bottom: running time, losses, what the tool itself costs, the keys."""

from __future__ import annotations

from noisetop.losses import describe_losses
from noisetop.summary import OwnCost, Summary
from noisetop.tui.head_line import clock
from noisetop.tui.text_line import TextLine

KEYS = "q quit  h help  / filter  s S sort  p pause  r reset  c per CPU  i idle  t last second"


class FootLines(TextLine):
    """Three lines; the first or second is an alert when the figures cannot be trusted."""

    def show_waiting(self) -> None:
        """Before the first sample."""
        self.show("", "", KEYS)

    def show_summary(self, summary: Summary, running_ns: int) -> None:
        """Losses and cost so far; ``running_ns`` since the books were opened."""
        lost = describe_losses(summary.losses)
        mark = f"{self.ALERT} " if summary.losses.total else ""
        first = f"{mark}running {clock(running_ns)}  {lost}"
        if missing := len(summary.missing):
            noun = "source" if missing == 1 else "sources"
            first += f"  {missing} {noun} missing on this kernel (h)"
        cost = describe_cost(summary.own_cost, len(summary.cpus), running_ns)
        if summary.own_cost.housekeeping:
            second = f"{cost}  keeps house on CPU {summary.own_cost.housekeeping}"
        else:
            second = f"{self.ALERT} {cost}  NO CPU LEFT TO KEEP HOUSE: disturbs what it watches"
        self.show(first, second, KEYS)


def describe_cost(own: OwnCost, cpus: int, running_ns: int) -> str:
    """CPU time of the tool's own threads, and run time of its BPF programs on watched CPUs."""
    if running_ns <= 0:
        return "own cost not known yet"
    cpu = f"own cost {100 * own.cpu_ns / running_ns:.2f}% of a CPU"
    if own.bpf_ns_per_run is None:
        return f"{cpu}, BPF not measured"
    share = 100 * own.bpf_ns_per_run * own.bpf_runs / (running_ns * max(cpus, 1))
    # An event is two runs: of the program at its entry and of the one at its exit.
    return f"{cpu}, BPF {2 * own.bpf_ns_per_run:.0f} ns/event {share:.3f}% of each"
