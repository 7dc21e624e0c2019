"""The table of where the time of victims went."""

from __future__ import annotations

from noisetop.columns.victims import shown_victims, victim_lines
from noisetop.events.interruption import Source
from noisetop.events.victim_time import VictimTime
from noisetop.summary.summary import Summary, Victim

RIVAL = Source(("thread", "\x1b[2Jrival"))


def victim(tid: int, *, contention_ns: int = 0, self_ns: int = 0, blocked_ns: int = 0) -> Victim:
    """A second of a thread."""
    on_cpu_ns = 1_000_000_000 - contention_ns - self_ns - blocked_ns
    time = VictimTime(
        tid=tid,
        wall_ns=1_000_000_000,
        on_cpu_ns=on_cpu_ns,
        noise_ns={"others": 0},
        self_ns=self_ns,
        contention={RIVAL: contention_ns} if contention_ns else {},
        throttled_ns=0,
        blocked_ns=blocked_ns,
        unattributed_ns=0,
        run_ns=on_cpu_ns + self_ns,
        delay_ns=contention_ns,
    )
    assert time.adds_up()
    return Victim("worker", time)


def test_columns_in_which_nothing_occurred_are_left_out() -> None:
    header, row = victim_lines([victim(7, contention_ns=250_000_000)])
    assert header.split() == [
        "Victim", "Wall", "On", "CPU", "Lost", "Content.", "Contention", "with",
    ]  # fmt: skip
    assert row.split()[:8] == ["worker", "7", "1.00", "s", "750", "ms", "25.00%", "250"]


def test_names_are_harmless() -> None:
    assert not any("\x1b" in line for line in victim_lines([victim(7, contention_ns=1_000)]))


def test_what_is_self_inflicted_is_no_loss() -> None:
    assert victim(7, self_ns=400_000_000).lost_ns == 0


def test_who_never_ran_nor_wanted_to_is_not_shown() -> None:
    asleep, active = victim(1, blocked_ns=1_000_000_000), victim(2, blocked_ns=500_000_000)
    summary = Summary(0, 1_000_000_000, (), victims=(asleep, active))
    assert shown_victims(summary, 10) == [active]


def test_nobody_needs_no_title() -> None:
    assert list(victim_lines(())) == []
