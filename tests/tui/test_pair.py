"""Two recordings in the dashboard: what changed, and now the one and now the other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisetop.events.interruption import Interruptions
from noisetop.live.pair import Pair
from noisetop.live.periods import Periods, usual_length_ns
from noisetop.live.playback import Playback
from noisetop.live.playback_feed import PlaybackFeed
from noisetop.recording.open import open_recording
from noisetop.tui.app import CHANGES, Dashboard
from noisetop.tui.panels.changes import Changes
from noisetop.tui.state import View
from tests.recordings import interruption, recording, table, write_recording
from tests.tui.driving import labels, overlay, screen, until

_SECOND_NS = 1_000_000_000


def _rows(softirq_ns: int) -> Interruptions:
    """A timer that stays as it is, and a softirq."""
    noise = np.random.default_rng(1).integers(0, 90, 2_000).tolist()
    rows = []
    for at, more in enumerate(noise):
        start_ns = at * _SECOND_NS // 1_000
        rows.append(interruption(start_ns, 2_000 + more, source=0))
        rows.append(interruption(start_ns + 50_000, softirq_ns + more, source=1, cpu=3))
    return table(*rows)


def _file(folder: Path, name: str, softirq_ns: int) -> Path:
    path = folder / name
    write_recording(recording(_rows(softirq_ns), duration_ns=2 * _SECOND_NS), path, force=True)
    return path


def feed_of(path: Path) -> PlaybackFeed:
    recorded = open_recording(path)
    length_ns = usual_length_ns(recorded.duration_ns)
    periods = Periods.of(recorded.start_ns, recorded.end_ns, length_ns)
    return PlaybackFeed(Playback(recorded, periods), path.name)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    files = _file(tmp_path, "a.noisetop", 3_000), _file(tmp_path, "b.noisetop", 9_000)
    return Pair(feed_of(files[0]), feed_of(files[1]), files)


async def test_it_opens_with_the_figures_of_compare(pair: Pair) -> None:
    app = Dashboard(pair.shown, pair=pair)
    app.begins_with = CHANGES
    async with app.run_test(size=(170, 30)) as pilot:
        await until(pilot, lambda: "1 significant change" in screen(app))
        comparison = pair.comparison()
        panel = overlay(app)
        assert isinstance(panel, Changes)
        assert [row.label for row in panel.rows] == [
            "total",
            "softirq › RCU",
            "timer › local_timer",
        ]
        lines = screen(app).splitlines()
        changed = next(line for line in lines if line.startswith("softirq › RCU"))
        same = next(line for line in lines if line.startswith("timer › local_timer"))
        assert "▲ MORE time" in changed
        assert "MORE" not in same
        figure = next(row for row in comparison.rows if row.label == "softirq › RCU").time
        assert figure.significant
        assert figure.b / figure.a == pytest.approx(3, rel=0.05)
        assert f"{figure.b / figure.a:.3f}" in changed


async def test_enter_shows_the_source_and_v_the_other_recording(pair: Pair) -> None:
    app = Dashboard(pair.shown, pair=pair)
    app.begins_with = CHANGES
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "significant" in screen(app))
        await until(pilot, lambda: app.latest is not None)
        await pilot.press("down", "enter")
        await until(pilot, lambda: labels(app) == ["RCU"])
        assert app.state.view == View(filter="^softirq › RCU")
        mean = app.latest.total.all_cpus().sources[0].mean_ns if app.latest else 0
        assert mean == pytest.approx(9_000, rel=0.05)
        await pilot.press("V")
        await pilot.pause()
    assert app.return_value is True
    assert app.reader_ended.wait(10)
    pair.swap()
    assert pair.letter == "A"
    other = Dashboard(pair.shown, pair=pair)
    other.change_view(app.state.view)
    async with other.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: labels(other) == ["RCU"])
        found = other.latest.total.all_cpus().sources if other.latest else ()
        mean = next(one.mean_ns for one in found if one.source.path[-1] == "RCU")
        assert mean == pytest.approx(3_000, rel=0.05)
        await pilot.press("V")
        await pilot.pause()
    # A recording that was shown before is shown again.
    assert other.reader_ended.wait(10)
    pair.swap()
    again = Dashboard(pair.shown, pair=pair)
    async with again.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: again.latest is not None)
        await until(pilot, lambda: pair.b.columns.newest + 1 == len(pair.b.playback.periods))
        await pilot.press("question_mark")
        assert "what changed from A to B" in screen(again)


async def test_too_short_to_compare(pair: Pair, tmp_path: Path) -> None:
    short = tmp_path / "short.noisetop"
    rows = table(interruption(0, 5))
    write_recording(recording(rows, duration_ns=1_000_000), short, force=True)
    pair = replace(pair, files=(short, pair.files[1]))
    app = Dashboard(pair.shown, pair=pair)
    async with app.run_test(size=(160, 30)) as pilot:
        await until(pilot, lambda: app.latest is not None)
        await pilot.press("D")
        await until(pilot, lambda: "too short to compare" in screen(app))
        await pilot.press("escape")
        assert overlay(app) is None
