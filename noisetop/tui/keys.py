"""Keys of the dashboard: what each one does, and how the help and the footer list it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum

OPEN = "open"
"""The action of the key that opens an overlay; there the same key closes it."""


class ViewKind(Enum):
    """What the dashboard is over."""

    LIVE = "a running trace"
    PLAYBACK = "a recording"
    PAIR = "one of two recordings that are compared"


@dataclass(frozen=True, slots=True)
class Key:
    """One key, or several that do the same."""

    label: str
    """As people write it: ``/  f``."""
    help: str
    """What it does, in one line."""
    names: str = ""
    """Textual's names, separated by commas; empty: a widget binds the key itself."""
    action: str = OPEN
    """Name of the method that it calls, without ``action_``."""
    hint: str = ""
    """What the footer shows; empty: the key is in the help alone."""


_CALL = re.compile(r"(\w+)\((-?)'?(\w+)'?\)")


def command_name(action: str, panel: str = "") -> str:
    """The name of what a key does, for the configuration: ``pause``, ``step_back_10``,
    ``flame_open``."""
    if call := _CALL.fullmatch(action):
        action = f"{call[1]}_{'back_' if call[2] else ''}{call[3]}"
    return f"{panel.lower()}_{action}" if panel else action


def renamed(key: Key, names: str | None) -> Key:
    """The key where the user has others for it: help and hint name these."""
    if not names:
        return key
    first = names.split(",")[0]
    words = key.hint.split(" ")[-1] if key.hint else ""
    return replace(key, label=names.replace(",", "  "), hint=words and f"{first} {words}")


QUIT = Key("q  Ctrl-C", "quit", "q", "quit", "q quit")
_SORT = Key("s  S", "sort by the next column; reverse the sort order", hint="s S sort")
STEPS = (
    Key(".", "one period further", "full_stop", "step(1)", ". , step"),
    Key(",", "one period back; live it pauses: p goes on", "comma", "step(-1)"),
    Key(">", "ten periods further", "greater_than_sign", "step(10)"),
    Key("<", "ten periods back", "less_than_sign", "step(-10)"),
)
"""Over a recording through all of it, live through the last minutes."""
_LIVE = (
    Key("p  Space", "freeze the tables; tracing continues", "p,space", "pause", "p pause"),
    Key("r", "reset the counters", "r", "reset", "r reset"),
    Key("R", "write the last seconds into a file, an ordinary recording", "R", "snapshot"),
    Key("t", "figures since the start, or of the last interval only", "t", "last_only", "t last"),
    Key("+  -", "refresh more often, less often", "plus,equals_sign", "faster", "+ - refresh"),
    Key("", "refresh less often", "minus", "slower"),
)
_TABLES = (
    Key("Tab", "go to the other table"),
    Key("↑ ↓  j k", "move; also PgUp, PgDn, Home, End"),
    Key("← →", "scroll to columns that do not fit"),
    Key("Mouse", "click a title to sort by it; double-click a row to open it"),
)
_SCREEN = (
    Key("T", "the next theme: dark, light, the terminal's own, colour-blind", "T", "look"),
    Key("x  X", "save the screen as SVG; as text", "x", "save('svg')"),
    Key("", "save the screen as text", "X", "save('txt')"),
    Key("C", "write theme, keys and columns into config.toml, with comments", "C", "write_config"),
    Key("Ctrl-P", "all commands, to search and to select"),
)
ON_OVERLAYS = _SCREEN
"""Keys that work on an overlay as well."""
GENERAL = (_SORT, *_LIVE, *STEPS, *_TABLES, *_SCREEN)
"""Keys that belong to no panel."""
_GENERAL_OF_PLAYBACK = (*STEPS, _SORT, *_TABLES, *_SCREEN)
"""The same over a recording, where the timeline has the others."""


SWAP = Key("V", "show the other of two recordings", "V", "swap", "V other")


def general_keys(kind: ViewKind) -> tuple[Key, ...]:
    """Keys that belong to no panel of such a view."""
    of_pair = (SWAP,) if kind is ViewKind.PAIR else ()
    return GENERAL if kind is ViewKind.LIVE else (*of_pair, *_GENERAL_OF_PLAYBACK)
