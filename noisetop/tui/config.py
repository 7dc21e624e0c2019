"""The settings of the dashboard in a file: ``~/.config/noisetop/config.toml``."""

from __future__ import annotations

import json
import os
import pwd
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisetop.errors import NoisetopError, UsageError
from noisetop.output import Output, give_to_caller
from noisetop.text.units import format_ns, parse_duration
from noisetop.tracing.capabilities import FILES, raised
from noisetop.tui.themes import LOOKS

_MOST_BYTES = 1 << 20
_VIEW, _KEYS = "view", "keys"


@dataclass(frozen=True, slots=True)
class Config:
    """What the user wants otherwise than it is."""

    look: str = ""
    """Empty: what the terminal tells."""
    refresh_ns: int = 0
    """Live: at least this much between two drawings; 0: every sample is drawn."""
    hidden: frozenset[str] = frozenset()
    """Names of columns that are left out of tables."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Keys by the name of what they do, as Textual has them, separated by commas."""


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    """Of the user who called, through sudo or not. Relative XDG paths are ignored, as the XDG base
    directory specification wants."""
    named = Path(environment.get("XDG_CONFIG_HOME", ""))
    if named.is_absolute():
        return named / "noisetop/config.toml"
    return _home(environment) / ".config/noisetop/config.toml"


def _home(environment: Mapping[str, str]) -> Path:
    caller = environment.get("SUDO_UID", "")
    if caller.isdecimal() and not os.geteuid():
        try:
            return Path(pwd.getpwuid(int(caller)).pw_dir)
        except (KeyError, OverflowError):
            pass
    return Path(environment.get("HOME") or "~").expanduser()


def read_config(path: Path, commands: Iterable[str]) -> Config:
    """The settings, where there is such a file. ``commands``: names that keys may have. Raises
    UsageError with one line on what is wrong."""
    try:
        with path.open("rb") as file:
            content = tomllib.loads(file.read(_MOST_BYTES).decode())
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}: correct it or remove it") from None
    try:
        return _config(content, set(commands))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None


def _config(content: dict[str, Any], commands: set[str]) -> Config:
    view, keys = _table(content, _VIEW), _table(content, _KEYS)
    _check_names("table", content, {_VIEW, _KEYS})
    _check_names("setting", view, {"theme", "refresh", "hidden_columns"})
    _check_names("command", keys, commands)
    look, refresh = view.get("theme", ""), view.get("refresh", "")
    hidden = view.get("hidden_columns", [])
    if look and look not in LOOKS:
        raise UsageError(f"there is no theme {look!r}: {', '.join(LOOKS)}")
    if not isinstance(refresh, str):
        raise UsageError("refresh is a duration in quotes, as in '2s'")
    if not isinstance(hidden, list) or not all(isinstance(one, str) for one in hidden):
        raise UsageError("hidden_columns is a list of names")
    if not all(isinstance(one, str) and one for one in keys.values()):
        raise UsageError("keys are in quotes, as in 'f' or 'ctrl+f'")
    refresh_ns = parse_duration(refresh) if refresh else 0
    return Config(look, refresh_ns, frozenset(hidden), keys)


def _table(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{name} is a table: write [{name}]")
    return found


def _check_names(what: str, found: Mapping[str, Any], known: set[str]) -> None:
    for name in found:
        if name not in known:
            raise UsageError(f"there is no {what} {name!r}: {', '.join(sorted(known))}")


def config_text(config: Config, commands: Mapping[str, tuple[str, str]]) -> str:
    """The file, with a comment on each setting. ``commands``: keys and help by name."""
    lines = [
        "# Settings of the dashboard of noisetop. C in the dashboard writes this file.",
        "",
        f"[{_VIEW}]",
        f"# {', '.join(LOOKS)}; without it: as the terminal tells",
        _setting("theme", config.look),
        "# live: at least this much between two drawings",
        _setting("refresh", _duration(config.refresh_ns)),
        "# columns that tables leave out, by the names of --json",
        f"hidden_columns = {json.dumps(sorted(config.hidden))}",
        "",
        f"[{_KEYS}]",
        "# Several keys are separated by commas: 'f,ctrl+f'. Remove the # before what you change.",
    ]
    for name, (keys, help) in commands.items():
        changed = config.keys.get(name)
        mark = "" if changed else "# "
        lines.append(f"{mark}{name} = {json.dumps(changed or keys)}  # {help}")
    return "\n".join(lines) + "\n"


def _setting(name: str, value: str) -> str:
    return f"{name} = {json.dumps(value)}" if value else f'# {name} = ""'


def _duration(ns: int) -> str:
    return format_ns(ns).replace(" ", "") if ns else ""


def write_config(path: Path, text: str) -> None:
    """Writes the file, and makes its folders; a former one is kept beside it. Raises
    NoisetopError."""
    with raised(FILES):
        _replace(path, text)


def _replace(path: Path, text: str) -> None:
    try:
        _make_folder(path.parent)
        _check_owner(path.parent)
        if path.exists():
            path.replace(path.with_name(f"{path.name}.bak"))
    except OSError as error:
        raise NoisetopError(f"cannot write {path}: {error.strerror}") from None
    with Output(path, force=True).opened() as file:
        file.write(text.encode())


def _check_owner(folder: Path) -> None:
    """Under sudo nothing is written where the user who called could not."""
    caller = os.environ.get("SUDO_UID", "")
    if not os.geteuid() and caller.isdecimal() and folder.stat().st_uid != int(caller):
        raise NoisetopError(f"cannot write to {folder}: it belongs to another user")


def _make_folder(folder: Path) -> None:
    """Folders that are new belong to the user who called."""
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir()
        fd = os.open(one, os.O_RDONLY | os.O_DIRECTORY)
        try:
            give_to_caller(fd)
        finally:
            os.close(fd)
