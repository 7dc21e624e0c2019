"""Scripts with which a shell completes the command line, made from the parsers by shtab."""

from __future__ import annotations

import argparse
from pathlib import Path

from noisetop.command_line.parser import subparsers_of

SHELLS = ("bash", "zsh", "fish", "tcsh")


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for one of SHELLS. Marks the arguments of ``parser`` that are files."""
    # Imported only here, so that no other command waits for it.
    import shtab

    for action in _actions(parser):
        if action.type is Path:
            kind = shtab.DIRECTORY if action.metavar == "PATH" else shtab.FILE
            action.complete = kind  # type: ignore[attr-defined]
    return shtab.complete(parser, shell=shell)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options and arguments of a parser and of those below it."""
    below = [action for one in subparsers_of(parser).values() for action in _actions(one)]
    return [*parser._actions, *below]
