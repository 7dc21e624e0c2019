"""The subcommands of ``noisetop fleet``, one module each, with what a command declares."""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from noisetop.command_line.command import Command


def load_subcommand(name: str) -> Command:
    """The module of one subcommand."""
    return cast(Command, importlib.import_module(f"{__name__}.{name}"))


def all_subcommands() -> list[Command]:
    """The modules of all subcommands, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [load_subcommand(name) for name in names]
