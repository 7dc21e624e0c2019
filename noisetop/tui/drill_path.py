"""Where one is on the way from a CPU to a remedy."""

from __future__ import annotations

from noisetop.text.column import shorten_end
from noisetop.tui.overlay_screen import OverlayScreen
from noisetop.tui.state import StatefulApp

ARROW = " → "
_WIDEST = 48


def path_words(app: StatefulApp) -> str:
    """``CPU 1 → ipi › call_function_single › flush → redis 4711 → remedy``: a step for the view and
    for each overlay; Esc takes the last one back."""
    cpu = app.state.view.cpu
    steps = ["all CPUs" if cpu is None else f"CPU {cpu}"]
    panels = [one.panel for one in app.screen_stack if isinstance(one, OverlayScreen)]
    steps += [shorten_end(panel.step, _WIDEST) for panel in panels if panel.step]
    return ARROW.join(steps)
