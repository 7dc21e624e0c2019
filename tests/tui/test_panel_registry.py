"""Panels are found, and what they declare is consistent."""

from __future__ import annotations

from collections import Counter

from rich.cells import cell_len

from noisetop.tui.keys import GENERAL, OPEN, QUIT, ViewKind
from noisetop.tui.panel import Place
from noisetop.tui.panels import load_panels, panel_modules, panels_of
from noisetop.tui.panels.footer import key_hints
from noisetop.tui.panels.help import help_lines


def test_every_module_has_its_panels() -> None:
    modules = {panel.__module__.rsplit(".", 1)[1] for panel in load_panels()}
    assert modules == set(panel_modules())


def test_names_are_unique() -> None:
    names = [panel.__name__ for panel in load_panels()]
    assert len(names) == len(set(names))


def test_no_key_is_bound_twice() -> None:
    keys = [*GENERAL, QUIT, *(key for panel in load_panels() for key in panel.KEYS)]
    names = Counter(name for key in keys for name in key.names.split(",") if name)
    assert [name for name, times in names.items() if times > 1] == []


def test_every_key_has_its_action() -> None:
    for panel in load_panels():
        for key in panel.KEYS:
            if key.names and not (panel.PLACE is Place.OVERLAY and key.action == OPEN):
                assert hasattr(panel, f"action_{key.action}"), key


def test_the_help_lists_every_key() -> None:
    for kind in ViewKind:
        text = "\n".join(help_lines((), kind))
        for panel in panels_of(kind):
            for key in panel.KEYS:
                assert not key.label or f"  {key.label:<10} {key.help}" in text


def test_keys_of_the_playback_are_not_offered_live() -> None:
    only = {panel for panel in load_panels() if ViewKind.LIVE not in panel.VIEWS}
    assert only
    assert only.isdisjoint(panels_of(ViewKind.LIVE))
    assert "n worst" not in key_hints(1_000)
    assert "r reset" not in key_hints(1_000, ViewKind.PLAYBACK)


def test_hints_are_left_out_whole_where_there_is_no_room() -> None:
    for width in range(120):
        hints = key_hints(width)
        assert cell_len(hints) < max(width, 2)
        assert set(hints.split("  ")) <= set(key_hints(1_000).split("  ")) | {"…"}
    assert key_hints(20) == "q quit  h help  …"
