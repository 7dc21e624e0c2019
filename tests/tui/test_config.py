"""The settings of the dashboard: read, written, and what is wrong with them in one line."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from noisetop.errors import NoisetopError, UsageError
from noisetop.tui.app import _commands
from noisetop.tui.config import Config, config_path, config_text, read_config, write_config
from noisetop.tui.panels.flame import Flame
from noisetop.tui.panels.help import Help
from noisetop.tui.severity import DARK, use_palette
from tests.builders import FakeFeed
from tests.tui.driving import busy, cpus, dashboard, overlay, screen, shown, until

_KNOWN = {name: (key.names, key.help) for name, (key, _) in _commands().items()}


@pytest.fixture(autouse=True)
def _usual_colours() -> Iterator[None]:
    yield
    use_palette(DARK)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    config = Config("light", 2_000_000_000, frozenset({"self_ns"}), {"flame_open": "F,ctrl+f"})
    path = tmp_path / "a/b/config.toml"
    write_config(path, config_text(config, _KNOWN))
    assert read_config(path, _KNOWN) == config
    write_config(path, config_text(Config(), _KNOWN))
    assert read_config(path, _KNOWN) == Config()
    assert read_config(path.with_name("config.toml.bak"), _KNOWN) == config
    text = path.read_text()
    assert all(f"# {name} = " in text for name in _KNOWN)


def test_all_that_is_commented_out_is_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = config_text(Config(), _KNOWN)
    lines = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    write_config(path, "\n".join(lines))
    assert read_config(path, _KNOWN).keys == {name: keys for name, (keys, _) in _KNOWN.items()}


def test_every_command_has_a_name_of_its_own() -> None:
    assert {"pause", "step_1", "step_back_10", "save_svg", "flame_open", "timeline_worse"} <= set(
        _KNOWN
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[view", "correct it or remove it"),
        ("\xff\xfe", "correct it or remove it"),
        ("[views]", "there is no table 'views'"),
        ("view = 1", "view is a table: write [view]"),
        ("[view]\nthem = 'x'", "there is no setting 'them'"),
        ("[view]\ntheme = 'pink'", "there is no theme 'pink': dark, light"),
        ("[view]\nrefresh = 2", "refresh is a duration in quotes"),
        ("[view]\nrefresh = 'soon'", "is not a duration"),
        ("[view]\nhidden_columns = 'x'", "hidden_columns is a list"),
        ("[keys]\nfly = 'x'", "there is no command 'fly'"),
        ("[keys]\npause = 3", "keys are in quotes"),
    ],
)
def test_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError) as error:
        read_config(path, _KNOWN)
    assert told in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config_path({"XDG_CONFIG_HOME": "/x"}) == Path("/x/noisetop/config.toml")
    there = Path("/home/a/.config/noisetop/config.toml")
    assert config_path({"XDG_CONFIG_HOME": "x", "HOME": "/home/a"}) == there
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    entry = pwd.struct_passwd(("u", "x", 77, 77, "", "/home/a", ""))
    monkeypatch.setattr(pwd, "getpwuid", {77: entry}.__getitem__)
    assert config_path({"SUDO_UID": "77", "HOME": "/root"}) == there
    root = Path("/root/.config/noisetop/config.toml")
    assert config_path({"SUDO_UID": "78", "HOME": "/root"}) == root


def test_under_sudo_nothing_is_written_into_the_folder_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", str(os.getuid() + 1))
    with pytest.raises(NoisetopError, match="belongs to another user"):
        write_config(tmp_path / "config.toml", "")


async def test_keys_theme_and_columns_of_the_user(config_home: Path) -> None:
    own = Config("light", 0, frozenset({"noise_ns_per_s"}), {"flame_open": "u", "help_open": "f"})
    write_config(config_home / "noisetop/config.toml", config_text(own, _KNOWN))
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        assert app.theme == "textual-light"
        assert "Noise/s" not in screen(app)
        assert "Noise %" in screen(app)
        assert "u flame" in screen(app)
        assert "f help" in screen(app)
        await pilot.press("f")
        assert isinstance(overlay(app), Help)
        assert "  u          flame graph" in screen(app)
        await pilot.press("f")
        assert overlay(app) is None
        await pilot.press("u")
        assert isinstance(overlay(app), Flame)
        await pilot.press("u")
        assert overlay(app) is None
        await pilot.press("question_mark")
        assert overlay(app) is None


async def test_the_present_settings_are_written(config_home: Path) -> None:
    async with dashboard(FakeFeed(busy())) as (app, pilot):
        await shown(app, pilot)
        await pilot.press("T", "C")
        path = config_home / "noisetop/config.toml"
        await until(pilot, path.exists)
        assert read_config(path, _KNOWN) == Config(look="light")
        assert cpus(app).columns


async def test_a_wrong_file_ends_it_in_one_line(config_home: Path) -> None:
    (config_home / "noisetop").mkdir()
    (config_home / "noisetop/config.toml").write_text("[view]\ntheme = 'pink'\n")
    with pytest.raises(UsageError, match="there is no theme 'pink'"):
        async with dashboard(FakeFeed(busy())):
            pass
