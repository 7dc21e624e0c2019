"""The command line: finds the verb, parses its options, turns errors into one line and a status."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import re
import sys
from typing import NoReturn

from noisetop.commands import command_names, load_command
from noisetop.errors import EXIT_FAILURE, NoisetopError, UsageError
from noisetop.version import version

DEFAULT_COMMAND = "top"
_INTERVAL = re.compile(r"\d")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}: see {self.prog} --help")


def _overview() -> str:
    lines = [
        "usage: noisetop [top] [-c LIST | -p PID] [interval [count]]",
        "       noisetop COMMAND [options]",
        "",
        "What stole time from your CPUs, live and recorded.",
        "",
    ]
    lines += [f"  {name:<10} {load_command(name).HELP}" for name in command_names()]
    lines += ["", "noisetop COMMAND --help tells the options of a command."]
    return "\n".join(lines)


def _split_command(argv: list[str]) -> tuple[str, list[str]]:
    """The verb and its arguments; without a verb it is ``top``."""
    if not argv or argv[0].startswith("-") or _INTERVAL.match(argv[0]):
        return DEFAULT_COMMAND, argv
    names = command_names()
    if argv[0] in names:
        return argv[0], argv[1:]
    near = difflib.get_close_matches(argv[0], names, n=1)
    hint = f"did you mean noisetop {near[0]}?" if near else "see noisetop --help"
    raise UsageError(f"there is no command '{argv[0]}': {hint}")


def run(argv: list[str]) -> int:
    """Runs one command line. Raises NoisetopError for what the user can mend."""
    if argv[:1] in (["-h"], ["--help"], ["help"]):
        print(_overview())
        return 0
    if argv[:1] in (["-V"], ["--version"]):
        print(f"noisetop {version()}")
        return 0
    name, rest = _split_command(argv)
    command = load_command(name)
    own, separator, workload = _split_workload(rest)
    parser = _Parser(prog=f"noisetop {name}", description=command.HELP, allow_abbrev=False)
    command.add_arguments(parser)
    args = parser.parse_args(own)
    args.workload = workload
    if separator and not workload:
        raise UsageError("after -- there must be a command to run")
    return command.run(args)


def _split_workload(argv: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in argv:
        return argv, False, []
    at = argv.index("--")
    return argv[:at], True, argv[at + 1 :]


def main() -> NoReturn:
    """Entry point of the ``noisetop`` command."""
    # NumPy's linear algebra would start a thread for each CPU, and nothing here uses it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status = run(sys.argv[1:])
        sys.stdout.flush()
    except NoisetopError as error:
        print(f"noisetop: {error}", file=sys.stderr)
        status = error.exit_code
    except BrokenPipeError:
        # The reader has gone (| head): point stdout elsewhere, so that exit does not complain.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        status = 0
    except KeyboardInterrupt:
        status = EXIT_FAILURE
    sys.exit(status)
