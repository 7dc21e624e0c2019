"""``--fail-on`` of the verbs that measure noise, and what they do when a limit is exceeded."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from noisetop.errors import EXIT_LIMIT
from noisetop.limits.grammar import parse_limits
from noisetop.limits.outcome import Outcome, exceeded, loss_warning
from noisetop.session.notice import notice

_HELP = (
    "return 3 if a limit is exceeded, and say on stderr by whom; a list, as in 'noise>0.1%%, "
    'cost>0.2%%, single>50us, source:"ipi/*">0, lost>0\': noise and its estimated cost as a share '
    "of the time of a CPU, longest interruption, interruptions by these sources (in %%: their "
    "share, in us: the longest), lost records; self-inflicted noise is not counted"
)


def add_fail_on_argument(parser: argparse.ArgumentParser, *, of: str = "") -> None:
    """``--fail-on``; its value is the parsed limits, so that a wrong one ends the program before
    anything is traced. ``of``: which of several files they are about."""
    about = f"{_HELP}; {of}" if of else _HELP
    parser.add_argument(
        "--fail-on", metavar="LIMITS", type=parse_limits, default=(), dest="limits", help=about
    )


def limit_status(outcomes: Sequence[Outcome], lost: int, damage: str = "") -> int:
    """Prints a line for each limit that is exceeded, and one where missing records may hide that
    others are. EXIT_LIMIT where one is exceeded, else 0.

    ``lost``: dropped records; ``damage``: what is wrong with the file, in words.
    """
    crossed = exceeded(outcomes)
    for one in crossed:
        notice(one.line)
    if warning := loss_warning(outcomes, lost, damage):
        notice(warning)
    return EXIT_LIMIT if crossed else 0
