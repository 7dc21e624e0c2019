"""Messages to the user beside the results."""

from __future__ import annotations

import contextlib
import sys

from noisetop.text.sanitize import printable


def notice(line: str) -> None:
    """Prints one line on stderr, marked as noisetop's; names in it become harmless. A terminal that
    is gone does not matter."""
    with contextlib.suppress(OSError):
        print(f"noisetop: {printable(line)}", file=sys.stderr, flush=True)
