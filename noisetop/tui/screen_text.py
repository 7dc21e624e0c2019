"""What a screen shows, as plain text."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen


def screen_text(screen: Screen[Any]) -> str:
    """A line of text for each of the screen, without colours and trailing blanks."""
    # Textual has no public way to it: its own export draws these strips as SVG.
    lines = screen._compositor.render_strips()
    return "".join(f"{line.text.rstrip()}\n" for line in lines)
