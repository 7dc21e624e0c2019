"""Messages to the user beside the results."""

from __future__ import annotations

import contextlib
import sys


def notice(line: str) -> None:
    """Prints one line on stderr, marked as noisetop's; a terminal that is gone does not matter."""
    with contextlib.suppress(OSError):
        print(f"noisetop: {line}", file=sys.stderr, flush=True)
