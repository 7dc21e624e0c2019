"""Page faults and entries, in lines below the noise."""

from __future__ import annotations

from tests.builders import SECOND_NS, FakeFeed, cpu, sample, source, summary
from tests.tui.driving import DISK, TICK, dashboard, labels, screen, shown


async def test_page_faults_have_lines_of_their_own_below_the_noise() -> None:
    faults = (
        source("fault", "major", durations_ns=[4_000, 6_000]),
        source("fault", "major", "asleep", durations_ns=[900_000]),
    )
    busy = sample(summary(cpu(1, source(*TICK), side={"fault": faults}), cpu(2, source(*DISK))))
    quiet = sample(summary(cpu(1, source(*TICK)), duration_ns=2 * SECOND_NS))
    feed = FakeFeed(busy)
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        lines = [line.split() for line in screen(app).splitlines()]
        at = next(place for place, words in enumerate(lines) if words[:1] == ["Fault"])
        titles, major = lines[at : at + 2]
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
        assert app.state.view.cpu == 2
        assert "major" not in screen(app)
        feed.push(quiet)
        await shown(app, pilot, 2)
        assert "Fault" not in screen(app)
