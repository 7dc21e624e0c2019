"""Errors that a user can act on: one line that says what is wrong and what to type."""

from __future__ import annotations

EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_LIMIT = 3


class NoisetopError(Exception):
    """Something failed; ``str()`` is the line for the user, ``exit_code`` the exit status."""

    exit_code = EXIT_FAILURE


class UsageError(NoisetopError):
    """The command line asks for something that cannot be."""

    exit_code = EXIT_USAGE
