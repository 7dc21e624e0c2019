"""The verbs of the command line, one module each: NAME, HELP, add_arguments(parser), run(args)."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from typing import Protocol, cast


class Command(Protocol):
    """What a module in this package offers."""

    NAME: str
    HELP: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declares the options."""

    def run(self, args: argparse.Namespace) -> int:
        """Does the work; the exit status."""


def command_names() -> list[str]:
    """Names of the modules, which are the names of the verbs."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")


def load_command(name: str) -> Command:
    """The module of one verb; the others are not imported."""
    return cast(Command, importlib.import_module(f"{__name__}.{name}"))
