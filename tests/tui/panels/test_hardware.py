"""Hardware and hypervisor counters, in their line and in the overlay."""

from __future__ import annotations

from noisetop.counters.hardware_figures import STEAL, HardwareFigure
from noisetop.live.sample import Sample
from noisetop.tui.app import Dashboard
from noisetop.tui.panels.hardware import Hardware
from tests.builders import SECOND_NS, FakeFeed, cpu, sample, side_figures, source, summary
from tests.tui.driving import TICK, busy, cpus, dashboard, overlay, screen, shown


def line_of_hardware(app: Dashboard) -> str:
    [line] = [line for line in screen(app).splitlines() if "hardware (w)" in line]
    return line


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
            counters=side_figures(
                hardware=figures(4_000_000 * second, 3 * second),
                unavailable_hardware=("hardware › throttle › core: \x1b[31m is absent",),
            ),
        ),
        summary(
            cpu(1, source(*TICK)), cpu(2), counters=side_figures(hardware=figures(12_000_000, 1))
        ),
    )


async def test_what_the_hardware_admits_is_seen_in_the_smallest_terminal() -> None:
    feed = FakeFeed(_stolen(1))
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        lines = screen(app).splitlines()
        told = line_of_hardware(app)
        for part in ("steal 12.0 ms/s", "±10.0 ms", "nmi 3", "none: smi"):
            assert part in told
        top = cpus(app).region.y
        titles = lines[top]
        at = titles.index("Steal/s")
        cells = [line[at : at + 7].strip() for line in lines[top + 1 : top + 4]]
        assert cells == ["12.0 ms", "4.00 ms", "8.00 ms"]
        await pilot.press("t")
        assert "steal 36.0 ms/s" in line_of_hardware(app)


async def test_the_panel_tells_each_figure_with_its_resolution_and_goes_on() -> None:
    feed = FakeFeed()
    async with dashboard(feed, (100, 30)) as (app, pilot):
        await pilot.press("w")
        assert isinstance(overlay(app), Hardware)
        assert "no sample yet" in screen(app)
        await pilot.press("w")
        feed.push(_stolen(1))
        await shown(app, pilot)
        await pilot.press("w")
        assert isinstance(overlay(app), Hardware)
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
        assert not isinstance(overlay(app), Hardware)
        assert app.state.paused is False


async def test_a_machine_that_tells_nothing_of_its_hardware_says_so() -> None:
    async with dashboard(FakeFeed(busy()), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        assert "not available" in line_of_hardware(app)
