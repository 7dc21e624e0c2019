"""Live outputs: how the samples of a running trace are shown. One module each, with ``OUTPUT``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Protocol, cast

from noisetop.live.output import Default, LiveOutput, Settings


class _Module(Protocol):
    OUTPUT: LiveOutput


def output_names() -> list[str]:
    """Names of the modules."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")


def load_output(name: str) -> LiveOutput:
    """The output of one module."""
    return cast(_Module, importlib.import_module(f"{__name__}.{name}")).OUTPUT


def _outputs() -> Iterator[LiveOutput]:
    return map(load_output, output_names())


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the option of every output that has one."""
    for option in (output.option for output in _outputs()):
        if option and option.metavar:
            parser.add_argument(option.flag, metavar=option.metavar, help=option.help)
        elif option:
            parser.add_argument(option.flag, action="store_true", help=option.help)


def chosen_output(args: argparse.Namespace, *, terminal: bool) -> tuple[LiveOutput, Settings]:
    """The output that the arguments ask for, of several the first by name; else the default.

    ``terminal``: whether there is one to draw on.
    """
    for output in _outputs():
        value = getattr(args, output.option.dest) if output.option else None
        if output.option and value:
            return output, Settings(value if output.option.metavar else "")
    wanted = Default.TERMINAL if terminal else Default.NO_TERMINAL
    return next(one for one in _outputs() if one.default is wanted), Settings()
