"""Where the time of each victim thread went, wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from noisetop.columns.noise import label_of
from noisetop.summary.summary import Summary, Victim
from noisetop.text.column import Column, aligned, percent, show_ns
from noisetop.text.sanitize import printable

TITLE = "Where the time went, by victim thread: the columns add up to the wall time"
_RIVALS = 2


def _name(one: Victim) -> str:
    return printable(f"{one.name} {one.time.tid}".strip())


def _of_origin(origin: str, title: str, whose: str) -> Column[Victim]:
    return Column(
        f"{origin}_ns", title, "ns", max(len(title), 7),
        lambda one: one.time.noise_ns.get(origin) or None, show_ns,
        f"net time of interruptions that were the doing of {whose}",
    )  # fmt: skip


def _rivals(one: Victim) -> str | None:
    """The tasks that had its CPU for longest."""
    longest = sorted(one.time.contention.items(), key=lambda pair: -pair[1])[:_RIVALS]
    return ", ".join(label_of(source) for source, _ in longest) or None


VICTIM: Column[Victim] = Column(
    "victim", "Victim", "", 24, _name, str, "name and tid of the thread", left=True
)
VICTIM_FIGURES: tuple[Column[Victim], ...] = (
    Column(
        "wall_ns", "Wall", "ns", 7, lambda one: one.time.wall_ns, show_ns,
        "its part of the period",
    ),
    Column(
        "on_cpu_ns", "On CPU", "ns", 7, lambda one: one.time.on_cpu_ns, show_ns,
        "time on a CPU, undisturbed",
    ),
    Column(
        "lost_percent", "Lost", "%", 6, lambda one: percent(one.lost_ns, one.time.wall_ns),
        lambda v: f"{v:.2f}%",
        "interruptions that are not self-inflicted, and waits, as a share of the wall time",
    ),
    _of_origin("program", "Program", "other threads of its process"),
    _of_origin("others", "Others", "other tasks"),
    _of_origin("kernel", "Kernel", "the kernel's own housekeeping"),
    _of_origin("device", "Device", "devices"),
    _of_origin("outside", "Outside", "the hypervisor or firmware"),
    Column(
        "self_ns", "Self", "ns", 7, lambda one: one.time.self_ns or None, show_ns,
        "net time of self-inflicted interruptions",
    ),
    Column(
        "contention_ns", "Content.", "ns", 8, lambda one: one.time.contention_ns or None, show_ns,
        "contention: runnable while another task had its CPU",
    ),
    Column(
        "throttled_ns", "Throttled", "ns", 9, lambda one: one.time.throttled_ns or None, show_ns,
        "the CPU quota of its control group was exhausted",
    ),
    Column(
        "blocked_ns", "Blocked", "ns", 7, lambda one: one.time.blocked_ns or None, show_ns,
        "it slept",
    ),
    Column(
        "unattributed_ns", "Unattr.", "ns", 7,
        lambda one: one.time.unattributed_ns or None, show_ns,
        "unattributed: no event accounts for it",
    ),
)  # fmt: skip
RIVALS: Column[Victim] = Column(
    "rivals", "Contention with", "", 24, _rivals, str,
    "tasks that had its CPU for longest while it was runnable", left=True,
)  # fmt: skip


def victim_lines(victims: Sequence[Victim]) -> Iterator[str]:
    """A line of titles and one for each victim; columns in which nothing occurred are left out."""
    if not victims:
        return
    figures = [
        column
        for column in (*VICTIM_FIGURES, RIVALS)
        if any(column.value(one) is not None for one in victims)
    ]
    yield from aligned((VICTIM, *figures), victims)


def shown_victims(summary: Summary, top: int) -> Sequence[Victim]:
    """Those that ran or wanted to, who lost most first."""
    active = [one for one in summary.victims if one.time.run_ns or one.time.delay_ns]
    return active[:top]
