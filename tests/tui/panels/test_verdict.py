"""The first line of the dashboard: how bad it is, what was worst, and whether to trust it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from noisetop.counters.losses import Losses
from noisetop.summary.summary import Summary
from noisetop.tui.panels.verdict import verdict_parts
from noisetop.tui.severity import LEVELS, SHADES, severity_of, shade_colour, shade_mark, shade_of
from tests.builders import SECOND_NS, START_NS, FakeFeed, cpu, sample, side_figures, source, summary
from tests.tui.driving import DISK, TICK, dashboard, screen, shown


def words(one: Summary, width: int = 200) -> str:
    return "".join(text for text, _ in verdict_parts(one, one.all_cpus(), width))


def test_how_much_the_worst_and_the_trust() -> None:
    one = summary(
        cpu(1, source(*TICK, durations_ns=[2_000] * 250), source(*DISK, durations_ns=[40_000])),
        cpu(2, source(*TICK, durations_ns=[3_000] * 250)),
    )
    assert words(one) == (
        "- 0.0645% noise (net)   worst 40.0 µs: CPU 1 irq › 36 virtio1-req.0   "
        "lost 0, unattributed 0%"
    )


def test_a_stretch_of_many_parts_is_told_by_its_moment() -> None:
    parts = source(*TICK, durations_ns=[2_000] * 9, max_start_ns=START_NS)
    start_ns = START_NS + SECOND_NS // 4
    one = summary(cpu(1, parts, max_single_ns=18_000, max_single_start_ns=start_ns))
    assert "worst 18.0 µs: CPU 1 at 0.250 s" in words(one)


def test_turns_of_others_are_not_the_worst() -> None:
    turn = replace(source("thread", "bench", durations_ns=[9_000_000]), aside="contention")
    one = summary(cpu(1, turn, source(*DISK, durations_ns=[40_000]), max_single_ns=9_040_000))
    assert "worst 40.0 µs: CPU 1 irq › 36 virtio1-req.0" in words(one)
    assert "worst" not in words(summary(cpu(1, turn, max_single_ns=9_000_000)))


def test_what_is_lost_stays_where_the_line_is_short() -> None:
    one = summary(cpu(1, source(*DISK, durations_ns=[40_000_000])))
    ends = {width: words(one, width).partition("worst 40.0 ms")[2] for width in (90, 78, 58, 48)}
    assert ends == {
        90: ": CPU 1 irq › 36 virtio1-req.0   lost 0, unattributed 0%",
        78: ": CPU 1 irq › 36 virtio1-req.0   lost 0",
        58: ": … virtio1-req.0   lost 0",
        48: "   lost 0",
    }


def test_no_noise_is_said() -> None:
    assert words(summary(cpu(1))) == "no noise   lost 0, unattributed 0%"


def test_doubt_has_a_mark() -> None:
    lost = side_figures(losses=Losses({1: {"ring_full": 1_234}}))
    assert words(summary(cpu(1, source(*TICK)), counters=lost)).endswith(
        "? LOST 1.23k, unattributed 0%"
    )
    gap = source("thread", "unattributed", durations_ns=[30_000])
    told = words(summary(cpu(1, source(*TICK, durations_ns=[70_000]), gap)))
    assert told.endswith("? lost 0, unattributed 30%")
    one = summary(cpu(1, source(*TICK, durations_ns=[70_000]), gap))
    ends = {width: words(one, width).partition("? ")[2] for width in (78, 60)}
    assert ends == {78: "lost 0, unattributed 30%", 60: "lost 0"}


@given(st.integers(1, 200), st.text("a日", max_size=60))
def test_it_fits_or_leaves_out(width: int, name: str) -> None:
    one = summary(cpu(1, source("thread", name or "x", durations_ns=[40_000])))
    told = words(one, width)
    assert cell_len(told) <= max(width, cell_len("+ 0.004% noise (net)   worst 40.0 µs") + 2)


async def test_it_follows_the_period() -> None:
    quiet = summary(cpu(1))
    feed = FakeFeed(sample(summary(cpu(1, source(*DISK, durations_ns=[40_000_000]))), quiet))
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot)
        line = screen(app).splitlines()[1]
        assert line.startswith(" ! 4% noise (net)   worst 40.0 ms: CPU 1 irq › 36 virtio1-req.0")
        await pilot.press("t")
        assert screen(app).splitlines()[1].startswith(" no noise")


async def test_history_has_a_mark_for_each_cpu() -> None:
    parts = [cpu(1, source(*DISK, durations_ns=[200_000_000])), cpu(2), cpu(3, source(*TICK))]
    async with dashboard(FakeFeed(sample(summary(*parts))), (100, 30)) as (app, pilot):
        await shown(app, pilot)
        lines = screen(app).splitlines()
        column = next(line for line in lines if "History" in line).index("History") + 6
        marks = {line[:4].strip(): line[column] for line in lines if line[:2] in ("1 ", "2 ", "3 ")}
        assert marks == {"1": "#", "2": " ", "3": "·"}


@pytest.mark.parametrize("share", [0.0, 1e-7, 0.00011, 0.0011, 0.011, 0.11, 1.0])
def test_levels_ascend_and_shades_agree_with_them(share: float) -> None:
    level = severity_of(share)
    assert level.least <= share
    assert shade_mark(shade_of(share)) in {one.mark for one in LEVELS}
    assert shade_colour(shade_of(share)).startswith("#")
    assert 0 <= shade_of(share) <= SHADES


def test_marks_are_all_different() -> None:
    assert len({level.mark for level in LEVELS}) == len(LEVELS)
    assert [level.least for level in LEVELS] == sorted(level.least for level in LEVELS)
