"""The commands, one module each: see noisetop.command_line.command.Command."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import cast

from noisetop.command_line.command import Command

DEFAULT_COMMAND = "top"
"""What runs without a command."""
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


@cache
def command_names() -> tuple[str, ...]:
    """Names of the modules, which are the names of the commands."""
    names = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in names if name[0] != "_"))


def load_command(name: str) -> Command:
    """The module of one command; the others are not imported."""
    with _numpy_without_threads():
        return cast(Command, importlib.import_module(f"{__name__}.{name}"))


@contextmanager
def _numpy_without_threads() -> Iterator[None]:
    """Its linear algebra, which nothing here uses, starts a thread for each CPU when it is loaded.
    The variable is read only then: a program that noisetop runs has it as the user has it."""
    ours = _BLAS_THREADS not in os.environ
    if ours:
        os.environ[_BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if ours:
            del os.environ[_BLAS_THREADS]


def all_commands() -> list[Command]:
    """The modules of all commands, in alphabetical order."""
    return [load_command(name) for name in command_names()]
