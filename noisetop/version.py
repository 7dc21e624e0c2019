"""The installed version."""

from __future__ import annotations


def version() -> str:
    """As the package's metadata have it."""
    # What reads these takes a quarter of the program's start, so it is imported only now.
    from importlib import metadata

    return metadata.version("noisetop")
