"""The commands, one module each: see noisetop.command_line.command.Command."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import cast

from noisetop.command_line.command import Command

DEFAULT_COMMAND = "top"
"""What runs without a command."""


@cache
def command_names() -> tuple[str, ...]:
    """Names of the modules, which are the names of the commands."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if name[0] != "_"))


def load_command(name: str) -> Command:
    """The module of one command; the others are not imported."""
    return cast(Command, importlib.import_module(f"{__name__}.{name}"))


def all_commands() -> list[Command]:
    """The modules of all commands, in alphabetical order."""
    return [load_command(name) for name in command_names()]
