"""No test of the dashboard reads or writes the settings of who runs the tests, or waits or draws in
vain."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import RenderableType
from textual._compositor import Compositor
from textual.screen import Screen

from tests.tui.settling import settle


@pytest.fixture(autouse=True)
def config_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("config")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    monkeypatch.delenv("SUDO_UID", raising=False)
    return folder


@pytest.fixture(autouse=True)
def _settled_and_not_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("textual.pilot.wait_for_idle", settle)
    monkeypatch.setattr("textual.app.wait_for_idle", settle)
    # There is no terminal that the first frame has to get to.
    monkeypatch.setattr("noisetop.tui.app._WRITTEN_S", 0.001)  # 0 is no timer
    monkeypatch.setattr("textual.screen.UPDATE_PERIOD", 0.001)


@pytest.fixture
def each_change_is_drawn() -> None:
    """For tests of drawing itself: see _drawn_when_looked_at()."""


@pytest.fixture(autouse=True)
def _drawn_when_looked_at(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal Textual draws each change and throws it away, which takes a fifth of the
    time of these tests. screen() and pictures draw all there is."""
    if "each_change_is_drawn" in request.fixturenames:
        return
    render = Compositor.render_update

    def rendered(
        compositor: Compositor,
        full: bool = False,
        screen_stack: list[Screen[object]] | None = None,
        simplify: bool = False,
    ) -> RenderableType | None:
        if full:
            return render(compositor, full, screen_stack, simplify)
        compositor._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", rendered)
