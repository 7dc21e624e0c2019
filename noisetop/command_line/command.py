"""What a command declares: its name, its help, its options, its examples."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Example(NamedTuple):
    """A command line that works as it stands, and what it does."""

    command: str
    about: str


class Command(Protocol):
    """A module of ``noisetop.commands``."""

    NAME: str
    HELP: str
    """One line for the list of commands: lower case, no full stop."""

    DESCRIPTION: str
    """One paragraph for ``--help`` and the manual page."""

    EXAMPLES: Sequence[Example]

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the options."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work; the exit status."""
