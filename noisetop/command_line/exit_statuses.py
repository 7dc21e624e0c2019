"""The exit statuses, as ``--help`` and the manual pages list them."""

from __future__ import annotations

from noisetop.errors import EXIT_FAILURE, EXIT_LIMIT, EXIT_USAGE

SIGNAL_BASE = 128
"""What shells add to the number of the signal that ended a command."""

EXIT_STATUSES = (
    ("0", "success"),
    (str(EXIT_FAILURE), "failure: one line on stderr says what failed and what to type"),
    (str(EXIT_USAGE), "wrong usage: an option, a value or a target that does not exist"),
    (str(EXIT_LIMIT), "a limit that was set was crossed (--fail-on, record --stop…)"),
    (f"{SIGNAL_BASE}+N", "noisetop was interrupted by signal N (130: Ctrl-C)"),
)
"""Status and meaning."""

STATUS_OF_CMD = (
    "With -- CMD, noisetop returns the exit status of CMD (128+N if signal N ended it, 127 if "
    "there is no such command, 126 if it cannot be run), unless noisetop itself fails or CMD "
    "returns 0 and a limit of --fail-on is exceeded: 3."
)
