"""Waits until a dashboard has taken in what came.

Textual's own way sleeps until the process is still: 20 ms at least, up to a second.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time

from textual._context import active_app

_TASKS = "/proc/self/task"
_STAT_BYTES = 128
"""The state comes behind the number and the name, which has 15 bytes at most."""
_STEP_S = 0.001
_STILL_STEPS = 2
"""A thread that waits for the interpreter is seen as running in the next step."""


def _others_run() -> bool:
    """Whether a thread of this process other than the calling one runs or wants to."""
    own = str(threading.get_native_id())
    with os.scandir(_TASKS) as tasks:
        return any(_runs(task.path) for task in tasks if task.name != own)


def _runs(task: str) -> bool:
    """Files of pathlib and text would take most of the time of a wait."""
    try:
        fd = os.open(f"{task}/stat", os.O_RDONLY)
        try:
            stat = os.read(fd, _STAT_BYTES)
        finally:
            os.close(fd)
    except (FileNotFoundError, ProcessLookupError):  # it ended
        return True
    return stat.rpartition(b") ")[2][:1] != b"S"


def _is_drawn() -> bool:
    app = active_app.get(None)
    if app is None or not app.screen_stack:
        return True
    screen = app.screen
    return not (
        app._resize_timer
        or screen._layout_required
        or screen._scroll_required
        or screen._repaint_required
        or screen._dirty_widgets
        or screen._callbacks
    )


async def settle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Returns once no task of the loop can run, no thread does, and the screen is drawn."""
    loop = asyncio.get_running_loop()
    end = time.monotonic() + max_sleep
    still = 0
    while still < _STILL_STEPS and time.monotonic() < end:
        await asyncio.sleep(_STEP_S)
        ready = len(loop._ready)  # type: ignore[attr-defined]
        still = 0 if ready or not _is_drawn() or _others_run() else still + 1
