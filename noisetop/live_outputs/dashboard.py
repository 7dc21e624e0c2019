"""The dashboard, as a live output."""

from __future__ import annotations

from typing import TextIO

from noisetop.live.output import Default, LiveOutput, Settings
from noisetop.live.sample import Feed


def _run(feed: Feed, _out: TextIO, settings: Settings) -> None:
    """Draws on the terminal itself until the user quits."""
    from noisetop.tui.app import run_dashboard  # takes long: it brings Textual

    run_dashboard(feed, snapshots=settings.snapshots)


OUTPUT = LiveOutput(_run, default=Default.TERMINAL, owns_terminal=True)
