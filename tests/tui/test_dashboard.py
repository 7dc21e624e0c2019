"""The dashboard, driven by keys and clicks, fed with samples; state first, then the screen."""

from __future__ import annotations

from functools import partial

import pytest

from noisetop.counters.losses import Losses
from noisetop.counters.offline_cpus import OfflineInterval
from noisetop.counters.overhead import Overhead
from noisetop.errors import NoisetopError
from noisetop.summary.summary import Summary
from noisetop.tui.app import Dashboard
from noisetop.tui.feed_reader import NewSample
from noisetop.tui.line_table import LineTable
from noisetop.tui.panels.cpus import CpuTable
from noisetop.tui.panels.help import Help
from noisetop.tui.panels.sources import SourceTable
from tests.builders import (
    SECOND_NS,
    START_NS,
    FakeFeed,
    cpu,
    growing,
    sample,
    side_figures,
    source,
    summary,
)
from tests.tui.driving import (
    DISK,
    RCU,
    TICK,
    busy,
    cpus,
    dashboard,
    labels,
    overlay,
    screen,
    shown,
    sources,
    until,
)


async def test_the_first_frame_needs_no_sample() -> None:
    async with dashboard(FakeFeed()) as (app, _):
        assert "waiting for the first second" in screen(app)
        assert "CPU▲" in screen(app)
        assert "q quit" in screen(app)
    async with dashboard(FakeFeed(interval_ns=250_000_000)) as (app, _):
        assert "waiting for the first 250 ms" in screen(app)


async def test_a_sample_fills_both_tables() -> None:
    async with dashboard(FakeFeed(busy()), (150, 30)) as (app, pilot):
        await shown(app, pilot)
        assert [row.cpu.cpu for row in cpus(app).rows] == [None, 1, 2]
        assert labels(app) == ["tick_nohz_handler", "RCU", "36 virtio1-req.0"]
        text = screen(app)
        assert "CPUs 1-2  since start 00:00:01" in text
        assert "1.25 ms  91.91%     500" in text  # the tick on both CPUs
        assert "0.250 s" in text
        assert "running 00:00:01  lost 0" in text


async def test_figures_of_every_sample_replace_the_last() -> None:
    feed = FakeFeed(*growing((1, 2), [TICK, DISK], 3))
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 3)
        assert sources(app).rows[0].source.count == 18
        assert cpus(app).rows[0].cpu.count == 36
        assert "since start 00:00:03" in screen(app)
        assert len(app.history.bars(1, 12).strip()) == 3


async def test_sort_by_key_and_by_click() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("S")
        assert labels(app) == ["36 virtio1-req.0", "RCU", "tick_nohz_handler"]
        assert "Total▲" in screen(app)
        await pilot.press("S", "s", "s")
        assert sources(app).sort_name == "count"
        assert "by Count▼" in screen(app)
        await pilot.click(SourceTable, offset=(2, 0))
        assert sources(app).sort_name == "path"
        assert labels(app) == ["36 virtio1-req.0", "RCU", "tick_nohz_handler"]
        await pilot.click(SourceTable, offset=(2, 0))
        assert labels(app) == ["tick_nohz_handler", "RCU", "36 virtio1-req.0"]


async def test_every_title_sorts_where_it_is_clicked() -> None:
    async with dashboard(FakeFeed(busy()), size=(200, 30)) as (app, pilot):
        await shown(app, pilot)
        for column in sources(app).columns:
            line = screen(app).splitlines()[sources(app).region.y]
            title = line.index(f" {column.title}") + 1
            await pilot.click(SourceTable, offset=(title, 0))
            assert sources(app).sort_name == column.name


async def test_the_cpu_table_sorts_on_its_own_and_skips_the_history() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        cpus(app).focus()
        names = []
        for _ in range(20):
            await pilot.press("s")
            names.append(cpus(app).sort_name)
        assert "history" not in names
        assert {"cpu", "noise_percent", "timer_ns", "idle_ns"} <= set(names)
        cpus(app).sort_by("noise_percent")
        assert [row.cpu.cpu for row in cpus(app).rows] == [None, 2, 1]
        assert sources(app).sort_name == "net_ns"


async def test_filter_while_typing_then_keep_then_clear() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("slash", *"TiCk")
        assert labels(app) == ["tick_nohz_handler"]
        await pilot.press("enter")
        assert sources(app).has_focus
        assert "matching 'TiCk' (1 of " in screen(app)
        await pilot.press("escape")
        assert len(labels(app)) == 3
        await pilot.press("slash", "q", "p")
        assert labels(app) == []
        assert not app.state.paused
        await pilot.press("escape")
        assert len(labels(app)) == 3


def is_open(app: Dashboard, name: str) -> bool:
    return type(overlay(app)).__name__ == name


async def test_the_key_of_another_overlay_opens_that_in_its_place() -> None:
    async with dashboard(FakeFeed(sample(summary(cpu(1, source(*DISK)))))) as (app, pilot):
        await shown(app, pilot)
        for key, name in (("f", "Flame"), ("W", "MomentTable"), ("v", "Victims"), ("h", "Help")):
            await pilot.press(key)
            await until(pilot, partial(is_open, app, name))
            assert len(app.screen_stack) == 2
        await pilot.press("h")
        await until(pilot, lambda: overlay(app) is None)


async def test_pause_freezes_the_tables_but_not_the_time() -> None:
    samples = growing((1, 2), [TICK], 4)
    feed = FakeFeed(*samples[:2])
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 2)
        bars = cpus(app).history.bars(1, 12)
        await pilot.press("space")
        feed.push(*samples[2:])
        await shown(app, pilot, 4)
        assert sources(app).rows[0].source.count == 12
        assert "PAUSED at 00:00:02" in screen(app)
        assert "since start 00:00:04" in screen(app)
        assert cpus(app).history.bars(1, 12) == bars
        await pilot.press("S", "c")
        assert [row.source.count for row in sources(app).rows] == [6, 6]
        await pilot.press("p")
        assert [row.source.count for row in sources(app).rows] == [12, 12]
        assert "PAUSED" not in screen(app)
        assert len(cpus(app).history.bars(1, 12).strip()) == 4


async def test_scrolling_back_through_the_last_minutes() -> None:
    samples = growing((1, 2), [TICK, DISK, RCU], 16)
    feed = FakeFeed(*samples[:15])
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 15)
        await pilot.press("full_stop")
        assert not app.state.paused
        await pilot.press("comma")
        assert app.state.shown is not None
        assert app.state.shown.total == samples[13].interval
        assert "1.00 s from 00:00:13  PAUSED (p goes on, 00:00:15)" in screen(app)
        feed.push(samples[15])
        await until(pilot, lambda: "(p goes on, 00:00:16)" in screen(app))
        await pilot.press("less_than_sign", "comma", "full_stop")
        assert app.state.shown.total == samples[3].interval
        assert cpus(app).rows[0].cpu == samples[3].interval.all_cpus()
        await pilot.press("less_than_sign", "comma")
        assert app.state.shown.total == samples[0].interval
        await pilot.press("greater_than_sign", "greater_than_sign")
        assert not app.state.paused
        assert "since start 00:00:16" in screen(app)


async def test_a_step_back_while_paused_counts_from_where_it_paused() -> None:
    samples = growing((1,), [TICK], 8)
    feed = FakeFeed(*samples[:4])
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 4)
        await pilot.press("p")
        feed.push(*samples[4:])
        await shown(app, pilot, 8)
        await pilot.press("comma")
        assert app.state.shown is not None
        assert app.state.shown.total == samples[2].interval


async def test_reset_drops_what_came_before() -> None:
    feed = FakeFeed(busy(5))
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 5)
        await pilot.press("r")
        app.on_new_sample(NewSample(busy(6), resets=0))  # was under way
        assert app.latest is None
        assert "waiting for the first second" in screen(app)
        await until(pilot, lambda: feed.resets == 1)
        feed.push(busy(1))
        await shown(app, pilot)
        assert "since reset 00:00:01" in screen(app)


async def test_a_row_per_cpu_or_all_together() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("c")
        assert [(row.cpu, row.source.net_ns) for row in sources(app).rows] == [
            (2, 750_000),
            (1, 500_000),
            (2, 70_000),
            (1, 40_000),
        ]
        await pilot.press("c")
        assert {row.cpu for row in sources(app).rows} == {None}


async def test_enter_on_a_cpu_shows_its_sources_only() -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        cpus(app).focus()
        await pilot.press("down", "j", "enter")
        assert labels(app) == ["tick_nohz_handler", "RCU"]
        assert "CPU 2 → sources by" in screen(app)
        await pilot.press("home", "enter")
        assert "all CPUs → sources by" in screen(app)
        await pilot.click(CpuTable, offset=(1, 2), times=2)
        assert "CPU 1 → sources by" in screen(app)
        await pilot.press("escape")
        assert "all CPUs → sources by" in screen(app)


async def test_what_ran_idle_is_shown_on_demand() -> None:
    async with dashboard(FakeFeed(busy()), size=(200, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "kworker/1:1" not in labels(app)
        await pilot.press("i")
        assert labels(app)[-1] == "kworker/1:1"
        assert "8.00 µs" in screen(app)
        await pilot.press("i")
        assert "kworker/1:1" not in labels(app)


async def test_figures_of_the_last_interval_alone() -> None:
    async with dashboard(FakeFeed(busy(3))) as (app, pilot):
        await shown(app, pilot, 3)
        await pilot.press("t")
        assert labels(app) == ["RCU"]
        assert "last 1.00 s" in screen(app)
        await pilot.press("t")
        assert len(labels(app)) == 3


async def test_the_cursor_stays_on_its_row() -> None:
    first, second = growing((1,), [TICK, DISK, RCU], 2)
    feed = FakeFeed(first)
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("down", "down")
        before = sources(app).row_at_cursor()
        assert before is not None
        await pilot.press("S")
        feed.push(second)
        await shown(app, pilot, 2)
        after = sources(app).row_at_cursor()
        assert after is not None
        assert after.label == before.label
        assert sources(app).rows.index(after) == 0


async def test_losses_are_an_alert_with_reasons() -> None:
    lost = Losses(by_cpu={2: {"ring_full": 1_234}})
    async with dashboard(FakeFeed(busy(counters=side_figures(losses=lost)))) as (app, pilot):
        await shown(app, pilot)
        assert "! running 00:00:01  LOST 1234 events: ring full 1234 (CPU 2)" in screen(app)


async def test_the_cost_of_the_tool_and_a_missing_housekeeping_cpu() -> None:
    cost = Overhead(cpu_ns=12_300_000, bpf_ns_per_record=120.0, records=5_000, housekeeping="0,3")
    async with dashboard(FakeFeed(busy(counters=side_figures(overhead=cost)))) as (app, pilot):
        await shown(app, pilot)
        assert "overhead 1.23% (mean 1.23%), BPF 0.060% (~120 ns/record)" in screen(app)
        assert "housekeeping CPU 0,3" in screen(app)
    cost = Overhead(cpu_ns=1, bpf_ns_per_record=None)
    async with dashboard(FakeFeed(busy(counters=side_figures(overhead=cost)))) as (app, pilot):
        await shown(app, pilot)
        assert "! no housekeeping CPU: noisetop perturbs the measurement" in screen(app)
        assert "BPF not measured" in screen(app)


async def test_a_cpu_that_is_offline_is_an_alert() -> None:
    gone = (OfflineInterval(1, START_NS, None), OfflineInterval(2, START_NS, START_NS + 1))
    async with dashboard(FakeFeed(busy(counters=side_figures(offline=gone)))) as (app, pilot):
        await shown(app, pilot)
        assert "! running 00:00:01  lost 0  CPU 1 OFFLINE, CPU 2 was offline" in screen(app)


async def test_help_lists_what_is_missing_and_closes() -> None:
    feed = FakeFeed(busy(counters=side_figures(unavailable=("thermal_apic",))))
    async with dashboard(feed, size=(100, 30)) as (app, pilot):
        await shown(app, pilot)
        assert "1 source not available (h)" in screen(app)
        await pilot.press("question_mark")
        assert isinstance(overlay(app), Help)
        await pilot.press("end")
        await pilot.pause()
        assert "thermal_apic" in screen(app).splitlines()[-1]
        await pilot.press("q")
        assert not isinstance(overlay(app), Help)
        assert app.is_running


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quit_lets_the_feed_go(key: str) -> None:
    feed = FakeFeed(busy())
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot)
        await pilot.press(key)
        await until(pilot, lambda: not app.is_running)
    assert feed.wakes == 1
    assert app.failure is None


async def test_the_end_of_the_feed_is_told_and_the_tables_stay() -> None:
    ended = sample(busy(2).total, ended="PID 5 (x) exited")
    async with dashboard(FakeFeed(busy(), ended)) as (app, pilot):
        await shown(app, pilot, 2)
        assert "finished (PID 5 (x) exited)" in screen(app)
        await pilot.press("r")
        assert len(labels(app)) == 3


async def test_an_error_of_the_feed_ends_the_app() -> None:
    error = NoisetopError("the kernel took the program away")
    async with dashboard(FakeFeed(busy(), error)) as (app, pilot):
        await until(pilot, lambda: not app.is_running)
    assert app.failure is error


async def test_refresh_is_never_faster_than_asked() -> None:
    samples = growing((1,), [TICK], 7)
    drawn: list[int] = []

    feed = FakeFeed()
    app = Dashboard(feed, refresh_ns=3 * SECOND_NS)
    async with app.run_test() as pilot:
        app.watch(
            app, "state", lambda state: drawn.append(state.running_ns // SECOND_NS), init=False
        )
        feed.push(*samples)
        await shown(app, pilot, 7)
        assert drawn == [1, 4, 7]
        assert len(app.history.bars(1, 12).strip()) == 7


HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "[bold red]x[/]",
    "[@click=app.quit]x",
    "\u202egnp",
    "日本語日本語日本語日本語日本語日本語日本語",
    "a\nb\tc",
    "\x9b31m",
]


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (33, 12)])
async def test_hostile_names_are_shown_and_not_obeyed(size: tuple[int, int]) -> None:
    total = summary(cpu(1, *(source("thread", name) for name in HOSTILE)))
    ended = sample(total, ended=HOSTILE[0])
    async with dashboard(FakeFeed(ended, title=HOSTILE[1]), size) as (app, pilot):
        await until(pilot, lambda: app.latest is not None)
        text = screen(app)  # checks the width of every line
        assert not set("\x1b\x07\x9b\u202e\t") & set(text)
        if size[0] > 100:
            assert "\\x1b[31mred\\x1b[0m" in text
            assert "[bold red]x[/]" in text
            assert "\\u202egnp" in text


async def test_many_cpus_scroll_below_their_sum() -> None:
    feed = FakeFeed(*growing(range(128), [TICK, DISK], 1))
    async with dashboard(feed, (80, 24)) as (app, pilot):
        await shown(app, pilot)
        cpus(app).focus()
        await pilot.press("end")
        await pilot.pause()
        lines = screen(app).splitlines()
        top = cpus(app).region.y
        assert lines[top + 1].startswith("all ")
        assert lines[top + cpus(app).size.height - 1].startswith("127 ")
        await pilot.press("enter")
        assert "CPU 127 → sources by" in screen(app)
        await pilot.press("g")
        assert cpus(app).row_at_cursor() is cpus(app).total
        await pilot.press("pagedown", "down")
        await pilot.pause()
        cursor = cpus(app).row_at_cursor()
        assert cursor is not None
        shown_lines = screen(app).splitlines()[top : top + cpus(app).size.height]
        assert any(line.startswith(f"{cursor.cpu.cpu} ") for line in shown_lines)


async def test_columns_that_do_not_fit_are_scrolled_to() -> None:
    async with dashboard(FakeFeed(busy()), (80, 24)) as (app, pilot):
        await shown(app, pilot)
        head = screen(app).splitlines()[sources(app).region.y]
        assert head.rstrip().endswith("›")
        assert "Worst at" not in head
        assert head.split()[-2:] == ["Max", "›"]
        await pilot.press(*["right"] * 8)
        await pilot.pause()
        lines = screen(app).splitlines()[sources(app).region.y :]
        assert "Worst at" in lines[0]
        assert lines[1].startswith("timer › ")
        assert "0.250 s" in lines[3]


@pytest.mark.parametrize("size", [(200, 50), (20, 5), (1, 1), (80, 24)])
async def test_resize(size: tuple[int, int]) -> None:
    async with dashboard(FakeFeed(busy()), (100, 40)) as (app, pilot):
        await shown(app, pilot)
        await pilot.resize_terminal(*size)
        await pilot.pause()
        screen(app)
        await pilot.resize_terminal(100, 40)
        await pilot.pause()
        assert "tick_nohz_handler" in screen(app)


@pytest.mark.usefixtures("each_change_is_drawn")
async def test_only_lines_that_changed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first = busy(2)
    feed = FakeFeed(first)
    async with dashboard(feed) as (app, pilot):
        await shown(app, pilot, 2)
        drawn: list[int] = []
        original = LineTable.render_line

        def counted(self: LineTable[object], y: int) -> object:
            if isinstance(self, SourceTable):
                drawn.append(y)
            return original(self, y)

        monkeypatch.setattr(LineTable, "render_line", counted)
        one, two = first.total.cpus
        more = cpu(2, *two.sources[:1], source(*RCU, durations_ns=[80_000]))
        total = Summary(
            START_NS, first.total.end_ns, (one, more), side_figures(overhead=Overhead(1))
        )
        before = app.latest
        feed.push(sample(total, first.interval))
        await until(pilot, lambda: app.latest is not before)
        # Shares depend on the whole noise, so the three sources; but neither title nor blanks.
        assert set(drawn) <= {1, 2, 3}
        assert 2 in drawn


async def test_an_exception_in_the_app_is_kept_for_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no such figure")

    feed = FakeFeed()
    app = Dashboard(feed)

    async def fail() -> None:
        async with app.run_test() as pilot:
            monkeypatch.setattr(CpuTable, "draw", broken)
            feed.push(busy())
            await until(pilot, lambda: not app.is_running)

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert isinstance(app.failure, ZeroDivisionError)
    assert "Traceback" not in capsys.readouterr().err
    assert feed.wakes == 1


async def test_a_scroll_bar_covers_nothing() -> None:
    paths = [("timer", "local_timer", f"function_{number}") for number in range(40)]
    first, second = growing(range(40), paths, 2)
    feed = FakeFeed(first)
    async with dashboard(feed, (80, 24)) as (app, pilot):
        for seconds in (1, 2):
            await shown(app, pilot, seconds)
            lines = screen(app).splitlines()
            for table in (cpus(app), sources(app)):
                top = table.region.y
                assert lines[top][78:] == "› "
                assert {line[78] for line in lines[top + 1 : top + table.size.height]} == {" "}
            feed.push(second)
