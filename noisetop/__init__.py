"""See what stole time from your CPUs.

``noisetop.open(path)`` gives a recording to programs: see docs/api.md and noisetop.api.
"""

from __future__ import annotations

_OF_INTERFACE = ("NoisetopError", "Recording", "open")

__all__ = ["NoisetopError", "Recording", "open"]


def __getattr__(name: str) -> object:
    """The Python interface, imported when it is used: the program starts without NumPy."""
    if name not in _OF_INTERFACE:
        raise AttributeError(f"module 'noisetop' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("noisetop.api"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_OF_INTERFACE])
