"""Every --help: its examples are command lines that the parsers take."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from noisetop import cli
from noisetop.command_line import overview
from noisetop.command_line.command import Example
from noisetop.command_line.exit_statuses import EXIT_STATUSES
from noisetop.command_line.parser import command_parser, subparsers_of
from noisetop.commands import command_names, load_command
from noisetop.errors import EXIT_FAILURE, EXIT_LIMIT, EXIT_USAGE, UsageError

NAMES = command_names()


def all_examples() -> Iterator[Example]:
    yield from overview.EXAMPLES
    for name in NAMES:
        yield from load_command(name).EXAMPLES


def help_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        cli.run([*arguments, "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("example", list(all_examples()), ids=lambda one: one.command)
def test_examples_are_taken_by_the_parsers(example: Example) -> None:
    program, *arguments = shlex.split(example.command)
    assert program == "noisetop"
    name, _ = cli.parse(arguments)
    assert name in NAMES
    assert example.about[0].islower()
    assert not example.about.endswith(".")


@pytest.mark.parametrize("name", NAMES)
def test_help_ends_with_the_examples_of_the_command(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    command = load_command(name)
    text = help_of(capsys, name)
    assert name == command.NAME
    assert text.endswith(f"\n      {command.EXAMPLES[-1].about}\n")
    for example in command.EXAMPLES:
        assert f"\n  {example.command}\n" in text
        assert example.command.startswith(f"noisetop {name}")
    assert " ".join(command.DESCRIPTION.split()) in " ".join(text.split())


@pytest.mark.parametrize("probe", list(subparsers_of(command_parser(load_command("probe")))))
def test_help_of_a_probe_has_its_own_examples(
    capsys: pytest.CaptureFixture[str], probe: str
) -> None:
    _, _, examples = help_of(capsys, "probe", probe).partition("\nexamples:\n")
    commands = [line for line in examples.splitlines() if line.startswith("  noisetop")]
    assert commands
    assert all(line.startswith(f"  noisetop probe {probe}") for line in commands)


@pytest.mark.parametrize("name", ["record", "top", "diagnose"])
def test_usage_shows_the_command_after_two_dashes(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    usage, _, _ = help_of(capsys, name).partition("\n\n")
    assert usage.endswith(" [-- CMD ...]")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_overview_lists_commands_examples_and_statuses(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert cli.run(arguments) == 0
    text = capsys.readouterr().out
    for name in NAMES:
        assert f"  {name:<10} {load_command(name).HELP}\n" in text
    for example in overview.EXAMPLES:
        assert f"  {example.command}\n" in text
    for status, meaning in EXIT_STATUSES:
        assert f"  {status:<10} {meaning}\n" in text
    assert max(map(len, text.splitlines())) <= 80


def test_help_with_a_command_is_that_commands_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.run(["help", "report"])
    assert capsys.readouterr().out.startswith("usage: noisetop report")


def test_table_of_statuses_is_that_of_the_errors() -> None:
    listed = [status for status, _ in EXIT_STATUSES]
    assert listed == ["0", *map(str, (EXIT_FAILURE, EXIT_USAGE, EXIT_LIMIT)), "128+N"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["compare", "a", "b"],
        ["report", "a"],
        ["check"],
        ["export", "a", "-o", "b"],
        ["probe", "numa"],
    ],
)
def test_commands_that_run_none_refuse_it(arguments: list[str]) -> None:
    with pytest.raises(UsageError, match=f"{arguments[0]} runs no command: noisetop record -- CMD"):
        cli.run([*arguments, "--", "true"])
