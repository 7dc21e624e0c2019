"""Objects of JSON that are no longer what we write: other types, numbers, names and shapes."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

NUMBERS = (
    0, -1, 1, 2, 7, 63, 64, 255, 65_535, 65_536, 1 << 31, (1 << 32) - 1, 1 << 53, (1 << 63) - 1,
    1 << 63, (1 << 64) - 1, 1 << 64, -(1 << 63), 10**30, 10**400, 0.5, -0.0, 1e-320, 1e18, 1e308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS = (
    "", "x", "0", "-1", "1e9", "NaN", "\x1b[31mred\x1b[0m", "\u202egnp", "\ud800", "\0", "a\nb",
    "<script>", "%s%n", "{0}", "[/b]", "'; rm -rf / #", "x" * 300, "é" * 70, "9" * 40, "timer",
)  # fmt: skip
_MOST_DEEP = 150
_STOPS = 0.1
"""How often an object or a list is changed and not something in it."""


def mutated(value: Any, random: Random) -> Any:
    """The same value, changed in place, in which one to four places are others."""
    holder = [value]
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        _change(*_place(holder, random), random)
    return holder[0]


def _place(holder: list[Any], random: Random) -> tuple[Any, Any]:
    """A list or an object and one of its keys, found on a walk from the top."""
    container: Any = holder
    key: Any = 0
    while isinstance(inner := container[key], (dict, list)) and inner:
        if random.random() < _STOPS:
            break
        container = inner
        key = random.choice(list(inner)) if isinstance(inner, dict) else _index(inner, random)
    return container, key


def _index(container: list[Any], random: Random) -> int:
    return random.randrange(len(container))


def _change(container: Any, key: Any, random: Random) -> None:
    old, how = container[key], random.randrange(9)
    if how == 0 and len(container) > 1:
        del container[key]
    elif how == 1 and isinstance(container, list):
        container.insert(random.randrange(len(container) + 1), copy.deepcopy(old))
    elif how == 2 and isinstance(container, dict):
        container[random.choice((*TEXTS, *map(str, NUMBERS[:15])))] = container.pop(key)
    elif how == 3 and isinstance(old, list):
        random.shuffle(old)
    elif how == 4 and isinstance(old, int):
        container[key] = old + random.choice((-1, 1, 1 << 20, -(1 << 20)))
    else:
        container[key] = _hostile(random)


def _hostile(random: Random) -> Any:
    how = random.randrange(8)
    if how < 3:
        return random.choice(NUMBERS)
    if how < 5:
        return random.choice(TEXTS)
    if how == 5:
        return _nested(random.choice((3, 60, _MOST_DEEP)))
    return random.choice(([], {}, None, True, False, [[]], {"": {}}, [1, 2, 3], [["a"]]))


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value
