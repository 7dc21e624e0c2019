"""Text on stdout: with colours and through a pager on a terminal, plain anywhere else."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable

from noisetop.text.styled import spans_of

_COULD_NOT_RUN = (126, 127)


def add_pager_argument(parser: argparse.ArgumentParser) -> None:
    """Declares --no-pager; ``args.pager`` says whether a pager may be used."""
    parser.add_argument(
        "--no-pager",
        dest="pager",
        action="store_false",
        help="never show the output in a pager; default: on a terminal, if it is long",
    )


def print_lines(lines: Iterable[str], *, pager: bool) -> None:
    """Prints lines to stdout. On a terminal styled lines have colours, and a pager may show them.

    Where stdout is no terminal the output is the plain text of the lines. The lines are not
    interpreted: names in them must be printable already.
    """
    if not sys.stdout.isatty():
        for line in lines:
            print(line)
        return
    paint = _painter()
    text = "".join(f"{paint(line)}\n" for line in lines)
    command = _pager_command() if pager else ""
    if not (command and _page(command, text)):
        sys.stdout.write(text)


def is_dumb() -> bool:
    """Whether the terminal takes plain text alone, as TERM tells."""
    return os.environ.get("TERM", "") in ("", "dumb", "unknown")


def _painter() -> Callable[[str], str]:
    """How a line is written to this terminal."""
    if os.environ.get("NO_COLOR") or is_dumb():
        return str
    # Imported only where it is used: it takes 30 ms.
    from rich.color import ColorSystem
    from rich.style import Style

    def paint(line: str) -> str:
        parts, done = [], 0
        for start, end, style in spans_of(line):
            painted = Style.parse(style).render(line[start:end], color_system=ColorSystem.STANDARD)
            parts += [line[done:start], painted]
            done = end
        return "".join([*parts, line[done:]])

    return paint


def _pager_command() -> str:
    """A command for the shell; empty when there is to be no pager."""
    if is_dumb():
        return ""
    for name in ("NOISETOP_PAGER", "PAGER"):
        if name in os.environ:
            command = os.environ[name].strip()
            return "" if command == "cat" else command
    return "less" if shutil.which("less") else ""


def _page(command: str, text: str) -> bool:
    """Shows the text in the pager, until the user leaves it; False when it cannot be run."""
    sys.stdout.flush()
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    process = subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, env=environment)
    # Ctrl-C is for the pager, which returns to its prompt.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process.communicate(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    finally:
        signal.signal(signal.SIGINT, before)
    return process.returncode not in _COULD_NOT_RUN
