"""The filter of the sources: a regular expression, or what does not match one."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

NEGATION = "!"
_SPECIAL = re.compile(r"([.^$*+?{}\[\]\\|()])")


@lru_cache(maxsize=64)
def matcher(text: str) -> Callable[[str], bool]:
    """Tells whether a path matches, ignoring case; ``!`` before the expression: whether it does
    not. Text that is no regular expression is looked for as it is."""
    negated, pattern = text.startswith(NEGATION), text.removeprefix(NEGATION)
    if not pattern:
        return lambda _: True
    try:
        found = re.compile(pattern, re.IGNORECASE).search
    except re.error:
        found = re.compile(re.escape(pattern), re.IGNORECASE).search
    return lambda path: (found(path) is None) is negated


def exactly(label: str) -> str:
    """The filter for one path and those that begin with it."""
    return "^" + _SPECIAL.sub(r"\\\1", label)
