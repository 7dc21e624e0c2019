"""No test of the dashboard reads or writes the settings of who runs the tests, or waits in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

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
