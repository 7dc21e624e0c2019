"""What lies beside the two tables: who caused it, page faults, the hardware, the causes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisetop.diagnosis import diagnose
from noisetop.hardware_figures import STEAL, HardwareFigure
from noisetop.live import Sample
from noisetop.trigger import Trigger
from noisetop.trigger_totals import TriggerSummary
from noisetop.tui.causes_screen import CausesScreen
from noisetop.tui.hardware_screen import HardwareScreen
from noisetop.tui.trigger_screen import TriggerScreen, TriggerTable
from tests.builders import SECOND_NS, FakeFeed, cpu, sample, source, summary
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence
from tests.tui.driving import DISK, RCU, TICK, busy, dashboard, labels, screen, shown, until


def _caused(seconds: int = 1) -> Sample:
    triggers = (
        TriggerSummary(Trigger("\x1b[2Jsender", 7, cpu=3), 2, 60_000 * seconds, 40_000),
        TriggerSummary(Trigger(), 1, 20_000, 20_000),
    )
    one = source("ipi", "x", durations_ns=[80_000] * seconds, triggers=triggers)
    return sample(summary(cpu(1, one, source(*RCU)), duration_ns=seconds * SECOND_NS))


@pytest.mark.parametrize("key", ["b", "enter"])
async def test_who_caused_a_source_in_a_panel_that_goes_on(key: str) -> None:
    feed = FakeFeed(_caused())
    async with dashboard(feed, (130, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "\\x1b[2Jsender 7 on CPU 3" in screen(app)
        await pilot.press(key)
        panel = app.screen
        assert isinstance(panel, TriggerScreen)
        table = panel.query_one(TriggerTable)
        await until(pilot, lambda: bool(table.rows))
        assert [row.label for row in table.rows] == ["\\x1b[2Jsender 7 on CPU 3", "unknown"]
        assert "75.00%" in screen(app)
        feed.push(_caused(2))
        await shown(app, pilot, 2)
        assert [row.part.net_ns for row in table.rows] == [120_000, 20_000]
        await pilot.press("escape")
        assert not isinstance(app.screen, TriggerScreen)


async def test_who_caused_it_stays_out_of_80_columns() -> None:
    async with dashboard(FakeFeed(_caused()), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "sender" not in screen(app)
        assert "80.0 µs" in screen(app)


async def test_page_faults_have_lines_of_their_own_below_the_noise() -> None:
    faults = (
        source("fault", "major", durations_ns=[4_000, 6_000]),
        source("fault", "major", "asleep", durations_ns=[900_000]),
    )
    busy = sample(summary(cpu(1, source(*TICK), faults=faults), cpu(2, source(*DISK))))
    quiet = sample(summary(cpu(1, source(*TICK)), duration_ns=2 * SECOND_NS))
    feed = FakeFeed(busy)
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        titles, major = [line.split() for line in screen(app).splitlines()[-6:-4]]
        assert titles[:3] == ["Fault", "Total", "Count"]
        assert major == [
            "major",
            "10.0",
            "µs",
            "2",
            "2",
            "5.00",
            "µs",
            "6.00",
            "µs",
            "900",
            "µs",
            "1",
            "900",
            "µs",
        ]
        assert sorted(labels(app)) == ["36 virtio1-req.0", "tick_nohz_handler"]
        await pilot.press("tab", "down", "down", "enter")
        assert app.view.cpu == 2
        assert "major" not in screen(app)
        feed.push(quiet)
        await shown(app, pilot, 2)
        assert "Fault" not in screen(app)


def _stolen(second: int) -> Sample:
    """12 ms in each second so far, and in the last one alone 36 ms."""

    def figures(each_ns: int, nmis: int) -> tuple[HardwareFigure, ...]:
        words = "steps of 10.0 ms"
        return (
            *(HardwareFigure(on, STEAL, each_ns * on, None, words, 10_000_000) for on in (1, 2)),
            HardwareFigure(1, ("hardware", "nmi"), None, nmis, "exact count"),
            HardwareFigure(None, ("hardware", "smi"), None, 0, "exact count; each stops all CPUs"),
        )

    return sample(
        summary(
            cpu(1, source(*TICK)),
            cpu(2),
            duration_ns=second * SECOND_NS,
            hardware=figures(4_000_000 * second, 3 * second),
            missing_hardware=("hardware › throttle › core: \x1b[31m is absent",),
        ),
        summary(cpu(1, source(*TICK)), cpu(2), hardware=figures(12_000_000, 1)),
    )


async def test_what_the_hardware_admits_is_seen_in_the_smallest_terminal() -> None:
    feed = FakeFeed(_stolen(1))
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        lines = screen(app).splitlines()
        told = "hardware (w)  steal 12.0 ms/s (±10.0 ms per CPU)  nmi 3  none: smi"
        assert lines[-4].strip() == told
        titles = lines[1]
        at = titles.index("Steal/s")
        cells = [line[at : at + 7].strip() for line in lines[2:5]]
        assert cells == ["12.0 ms", "4.00 ms", "8.00 ms"]
        await pilot.press("t")
        assert "steal 36.0 ms/s" in screen(app).splitlines()[-4]


async def test_the_panel_tells_each_figure_with_its_resolution_and_goes_on() -> None:
    feed = FakeFeed()
    async with dashboard(feed, (100, 30)) as (app, pilot):
        await pilot.press("w")
        assert not isinstance(app.screen, HardwareScreen), "there is nothing to tell yet"
        feed.push(_stolen(1))
        await shown(app, pilot)
        await pilot.press("w")
        assert isinstance(app.screen, HardwareScreen)
        text = screen(app)
        assert "hardware › steal  CPU 1  4.00 ms  steps of 10.0 ms" in text
        assert "hardware › nmi    CPU 1  3 times  exact count" in text
        assert "none on all CPUs: smi" in text
        assert "is absent" in text
        assert "\x1b" not in text
        feed.push(_stolen(2))
        await shown(app, pilot, 2)
        assert "hardware › nmi    CPU 1  6 times" in screen(app)
        await pilot.press("w")
        assert not isinstance(app.screen, HardwareScreen)
        assert app.paused is False


async def test_a_machine_that_tells_nothing_of_its_hardware_says_so() -> None:
    async with dashboard(FakeFeed(busy()), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "hardware (w)  nothing is told" in screen(app).splitlines()[-4]


async def test_causes_are_collected_while_the_panel_is_open() -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "d causes" in screen(app)
        assert not feed.diagnosing
        await pilot.press("d")
        assert isinstance(app.screen, CausesScreen)
        assert feed.diagnosing
        assert "collecting from now on" in screen(app)
        found = diagnose(evidence(share(*RCU, net_ns=1_000_000), share("thread", "\x1b[2Jx")))
        feed.push(replace(busy(2), diagnosis=found))
        await shown(app, pilot, 2)
        text = screen(app)
        assert "Causes of noise in 1.00 s" in text
        assert "1.00 ms/s  99 %  The kernel frees memory of its own on this CPU" in text
        assert "rcu_nocbs=2-3 on the kernel command line" in text
        await pilot.press("escape")
        assert not isinstance(app.screen, CausesScreen)
        assert not feed.diagnosing
