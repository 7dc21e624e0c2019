"""The parsers: one for each command, and one of all commands for completion and manual pages."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Sequence
from typing import NoReturn

from noisetop.command_line.command import Command, Example
from noisetop.errors import UsageError

_EXAMPLES = "examples:"


class _Formatter(argparse.HelpFormatter):
    """Wraps the description and keeps the lines of the examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith(_EXAMPLES) else super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would exit."""

    def error(self, message: str) -> NoReturn:
        """Raises UsageError; it names the help to read."""
        raise UsageError(f"{message}: see {self.prog} --help")


def command_parser(command: Command, prog: str | None = None) -> Parser:
    """The parser of one command, with its examples at the end of the help."""
    parser = Parser(prog=prog or f"noisetop {command.NAME}", allow_abbrev=False)
    _declare(parser, command)
    return parser


def takes_workload(parser: argparse.ArgumentParser) -> bool:
    """Whether the command runs a CMD after ``--``."""
    return parser.get_default("workload") is not None


def whole_parser(commands: Iterable[Command], default: str) -> Parser:
    """All commands as one parser, for completion; options alone are those of ``default``."""
    root = Parser(prog="noisetop", allow_abbrev=False)
    root.add_argument("-V", "--version", action="store_true", help="print the version")
    parsers = root.add_subparsers(metavar="COMMAND")
    for command in commands:
        parser = parsers.add_parser(command.NAME, help=command.HELP)
        _declare(parser, command)
        if default == command.NAME:
            for action in parser._get_optional_actions()[1:]:  # root has --help
                root._add_action(action)
    return root


def _declare(parser: argparse.ArgumentParser, command: Command) -> None:
    parser.description = command.DESCRIPTION
    parser.formatter_class = _Formatter
    command.add_arguments(parser)
    if takes_workload(parser):
        usage = parser.format_usage().removeprefix("usage: ").rstrip()
        parser.usage = f"{usage} [-- CMD ...]".replace("%", "%%")
    parser.epilog = examples_text(command.EXAMPLES)
    for name, probe in subparsers_of(parser).items():
        probe.formatter_class = _Formatter
        start = f"{parser.prog} {name} "
        probe.epilog = examples_text(
            [one for one in command.EXAMPLES if f"{one.command} ".startswith(start)]
        )


def subparsers_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers below a parser, by name; empty for most commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def examples_text(examples: Sequence[Example]) -> str:
    """The examples as the end of a help text."""
    lines = [_EXAMPLES]
    for one in examples:
        lines += [f"  {one.command}", textwrap.indent(textwrap.fill(one.about, 72), " " * 6)]
    return "\n".join(lines)
