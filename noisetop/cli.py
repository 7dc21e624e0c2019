"""The command line: finds the command, parses its options, turns errors into an exit status."""

from __future__ import annotations

import argparse
import difflib
import errno
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from noisetop.command_line.exit_statuses import SIGNAL_BASE
from noisetop.command_line.parser import command_parser, takes_workload
from noisetop.commands import DEFAULT_COMMAND, all_commands, command_names, load_command
from noisetop.errors import EXIT_FAILURE, NoisetopError, UsageError
from noisetop.text.sanitize import printable
from noisetop.text.standard_streams import end_stdout, open_standard_streams
from noisetop.version import version

_INTERVAL = re.compile(r"\d")
_ENDING = (signal.SIGTERM, signal.SIGHUP)


class _EndedError(BaseException):
    """A signal ends the process: raised so that what is open is closed first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def _split_command(argv: list[str]) -> tuple[str, list[str]]:
    """The command and its arguments; without a command it is ``top``."""
    if not argv or argv[0].startswith("-") or _INTERVAL.match(argv[0]):
        return DEFAULT_COMMAND, argv
    names = command_names()
    if argv[0] in names:
        return argv[0], argv[1:]
    near = difflib.get_close_matches(argv[0], names, n=1)
    hint = f"did you mean noisetop {near[0]}?" if near else "see noisetop --help"
    raise UsageError(f"there is no command '{argv[0]}': {hint}")


def _print_overview() -> None:
    from noisetop.command_line.overview import overview

    print(overview(all_commands()))


def run(argv: list[str]) -> int:
    """Runs one command line; the exit status. Raises NoisetopError for what the user can mend."""
    if argv[:1] == ["help"] and len(argv) == 2:
        argv = [argv[1], "--help"]
    if argv[:1] in (["-h"], ["--help"], ["help"]):
        _print_overview()
        return 0
    if argv[:1] in (["-V"], ["--version"]):
        print(f"noisetop {version()}")
        return 0
    name, args = parse(argv)
    with _signals_raised():
        return load_command(name).run(args)


def parse(argv: list[str]) -> tuple[str, argparse.Namespace]:
    """The command and its options; ``workload`` is what stands after ``--``. Raises UsageError."""
    name, rest = _split_command(argv)
    own, separator, workload = _split_workload(rest)
    parser = command_parser(load_command(name))
    args = parser.parse_args(own)
    if separator and not workload:
        raise UsageError("after -- there must be a command to run")
    if workload and not takes_workload(parser):
        raise UsageError(f"{name} runs no command: noisetop record -- CMD does")
    args.workload = workload
    return name, args


def _split_workload(argv: list[str]) -> tuple[list[str], bool, list[str]]:
    if "--" not in argv:
        return argv, False, []
    at = argv.index("--")
    return argv[:at], True, argv[at + 1 :]


def main() -> NoReturn:
    """Entry point of the ``noisetop`` command."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")  # NumPy's about damaged files: their readers judge those
    open_standard_streams()
    try:
        status = _run_and_flush(sys.argv[1:])
    except _EndedError as ended:
        signal.raise_signal(ended.number)
        status = SIGNAL_BASE + ended.number
    except NoisetopError as error:
        print(f"noisetop: {printable(str(error))}", file=sys.stderr)
        status = error.exit_code
    except BrokenPipeError:  # the reader has gone (| head)
        status = 0
    except OSError as error:
        print(f"noisetop: {printable(_line_of(error))}", file=sys.stderr)
        status = EXIT_FAILURE
    except KeyboardInterrupt:
        status = SIGNAL_BASE + signal.SIGINT
    end_stdout()
    sys.exit(status)


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Signals that would end the process in the block raise an error there, so that no temporary
    file stays behind. A second one ends it at once. One that is ignored stays so."""
    ending = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def leave(number: int, _frame: FrameType | None) -> None:
        back_to_default()
        raise _EndedError(number)

    def back_to_default() -> None:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)

    for number in ending:
        signal.signal(number, leave)
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # as noisetop/__main__.py leaves it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        back_to_default()


def _line_of(error: OSError) -> str:
    """What the user can mend; raises the error where that is not known."""
    if error.errno == errno.EMFILE:
        return "too few open files: ulimit -n 65536"
    if error.filename is None:
        raise error
    return f"{error.filename}: {error.strerror}"


def _run_and_flush(argv: list[str]) -> int:
    try:
        status = run(argv)
    except SystemExit:  # argparse has printed the help
        status = 0
    sys.stdout.flush()
    return status
