"""``noisetop completion``: scripts for the completion of shells."""

from __future__ import annotations

import argparse

from noisetop.command_line.command import Example
from noisetop.command_line.completion import SHELLS, completion_script
from noisetop.command_line.parser import whole_parser
from noisetop.commands import DEFAULT_COMMAND, all_commands

NAME = "completion"
HELP = "print a shell completion script"
DESCRIPTION = (
    "Prints a script with which a shell completes commands, options, choices and file names. "
    "An installation in a system prefix or in ~/.local brings the scripts for bash, zsh and fish "
    "along, where these shells look for them. For any other, such as a virtual environment, load "
    "the script from the start file of the shell."
)
EXAMPLES = (
    Example("noisetop completion bash", 'in ~/.bashrc: eval "$(noisetop completion bash)"'),
    Example("noisetop completion zsh", "to the file _noisetop in a folder of $fpath"),
    Example("noisetop completion fish", "to ~/.config/fish/completions/noisetop.fish"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the shells."""
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    print(completion_script(whole_parser(all_commands(), DEFAULT_COMMAND), args.shell))
    return 0
