"""The flame graph: its figures, where frames lie, and how it is driven."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import Interruptions
from noisetop.summary.noise_stacks import Frame, Stack, noise_stacks, noise_tree
from noisetop.summary.recorded import summary_of
from noisetop.tui.flame_graph import FlameGraph
from noisetop.tui.flame_layout import flame_levels, found_in, frame_at
from noisetop.tui.panels.flame import ALL, EXTERNAL, Choice, Flame, flame_of
from noisetop.tui.state import View
from tests.recordings import nested_tables, recording
from tests.tui.driving import overlay, screen, until
from tests.tui.test_playback import opened_noisy

_PATHS = st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(tuple)
_STACKS = st.lists(st.tuples(_PATHS, st.integers(1, 9_999)), min_size=1)


@given(nested_tables())
def test_its_widths_are_the_net_times_of_the_summary(rows: Interruptions) -> None:
    summary = summary_of(recording(rows))
    everything, external = (flame_of(summary, Choice(whose=one)) for one in (ALL, EXTERNAL))
    assert everything.net_ns == summary.noise_ns
    assert external.net_ns == summary.all_cpus().external_ns
    for cpu in summary.cpus:
        frame = frame_at(everything, (f"cpu {cpu.cpu}",))
        assert (frame.net_ns if frame else 0) == cpu.noise_ns
    merged = flame_of(summary, Choice(by_cpu=False, whose=ALL))
    assert {name: one.net_ns for name, one in merged.above.items()} == summary.all_cpus().by_origin
    by_class = Counter[str]()
    for origin in merged.above.values():
        by_class.update({name: one.net_ns for name, one in origin.above.items()})
    assert by_class == {
        name: one.net_ns for name, one in summary.all_cpus().by_class().items() if one.count
    }


@given(_STACKS, st.integers(1, 60))
def test_a_level_covers_what_it_lies_on_and_no_more(
    stacks: list[tuple[Stack, int]], width: int
) -> None:
    root = noise_tree(stacks)
    levels = flame_levels(root, (), width)
    assert [(cell.x, cell.width) for cell in levels[0]] == [(0, width)]
    for level in levels[1:]:
        assert all(a.x + a.width <= b.x for a, b in pairwise(level))
        for cell in level:
            assert cell.width > 0
            exact = width * cell.frame.net_ns / root.net_ns
            assert abs(cell.width - exact) <= 1
            assert frame_at(root, cell.path) is cell.frame
            below = [one for one in levels[len(cell.path) - 1] if one.path == cell.path[:-1]]
            assert not below or below[0].x <= cell.x


@given(_STACKS)
def test_what_is_searched_for_counts_once(stacks: list[tuple[Stack, int]]) -> None:
    paths, net_ns = found_in(noise_tree(stacks), lambda name: name == "a")
    assert net_ns == sum(ns for stack, ns in stacks if "a" in stack)
    assert all(path[-1] == "a" for path in paths)


def _graph(panel: object) -> FlameGraph:
    assert isinstance(panel, Flame)
    return panel.query_one(FlameGraph)


async def test_zoom_by_keys() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        await pilot.press("f")
        await until(pilot, lambda: "% of all" in screen(app))
        graph = _graph(overlay(app))
        assert "external noise" in screen(app)
        await pilot.press("down", "enter")
        (first,) = graph.zoom
        assert first == graph.root.largest_first[0].name
        await pilot.press("down", "down", "enter")
        assert len(graph.zoom) == 3
        assert f"100% of '{graph.zoom[-1]}'" not in screen(app)
        await pilot.press("down")
        assert f"of '{graph.zoom[-1]}'" in screen(app)
        for left in (2, 1, 0):
            await pilot.press("escape")
            assert len(graph.zoom) == left
        await pilot.press("escape")
        assert overlay(app) is None


async def test_zoom_by_mouse() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        await pilot.press("f")
        await until(pilot, lambda: "% of all" in screen(app))
        graph = _graph(overlay(app))
        tall = graph.size.height // len(graph._levels)
        place = (2, min(tall, 3))  # the largest CPU
        await pilot.click(FlameGraph, offset=place)
        assert (graph.zoom, graph.cursor) == ((), (graph.root.largest_first[0].name,))
        await pilot.click(FlameGraph, offset=place, times=2)
        assert [graph.zoom, graph.cursor] == [(graph.root.largest_first[0].name,)] * 2
        await pilot.click(FlameGraph, offset=(2, 0))  # what it lies on
        assert graph.zoom == ()


async def test_origins_cpus_and_search() -> None:
    async with opened_noisy() as (app, pilot, feed):
        summary = feed.playback.total(16)
        await pilot.press("f")
        await until(pilot, lambda: "% of all" in screen(app))
        graph = _graph(overlay(app))
        seen = [graph.root.net_ns]
        await pilot.press("o")
        seen.append(graph.root.net_ns)
        for _ in summary.all_cpus().by_origin:
            await pilot.press("o")
            seen.append(graph.root.net_ns)
        assert seen[:2] == [summary.all_cpus().external_ns, summary.noise_ns]
        assert seen[2:] == list(summary.all_cpus().by_origin.values())
        await pilot.press("o", "c")
        assert not any(name.startswith("cpu ") for name in graph.root.above)
        await pilot.press("slash", *"net_rx|hrtimer", "enter")
        stacks = list(noise_stacks(summary, Choice().includes))
        wanted = re.compile("NET_RX|hrtimer", re.IGNORECASE)
        expected = [ns for stack, ns in stacks if any(map(wanted.search, stack))]
        assert expected
        assert f"{100 * sum(expected) / graph.root.net_ns:.3g}% of all" in screen(app)
        assert {path[-1] for path in graph.found} >= {"NET_RX"}
        await pilot.press("slash", "(")
        assert "is no regular expression" in screen(app)
        await pilot.press("escape")
        assert not graph.found
        assert isinstance(overlay(app), Flame)


async def test_it_begins_with_the_cpu_in_view() -> None:
    async with opened_noisy() as (app, pilot, _feed):
        app.change_view(View(cpu=1))
        await pilot.press("f")
        await until(pilot, lambda: "% of all" in screen(app))
        assert _graph(overlay(app)).zoom == ("cpu 1",)


@pytest.mark.parametrize(
    "size",
    [
        (80, 24),
        pytest.param((60, 16), marks=pytest.mark.thorough),
        pytest.param((200, 50), marks=pytest.mark.thorough),
        (10, 3),
        (3, 2),
    ],
)
async def test_sizes(size: tuple[int, int]) -> None:
    async with opened_noisy(size) as (app, pilot, _feed):
        await pilot.press("f", "down", "down", "enter", "right", "c", "o")
        await pilot.pause()
        screen(app)  # checks the width of every line


def test_an_empty_tree() -> None:
    assert [len(level) for level in flame_levels(Frame("noise"), (), 10)] == [1]
