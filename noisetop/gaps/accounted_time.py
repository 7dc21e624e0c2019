"""Time that others account as taken from a thread, given to the gaps that it fits.

Windows of the accounts are wider than gaps: steal has the resolution of a tick, a stop is noticed
late, and the scheduler adds a wait when it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from noisetop.gaps.gaps import Gaps, Times

Waits = Sequence[tuple[int, int]]
"""Moments, and the thread's run_delay up to each of them (/proc/PID/schedstat)."""


@dataclass(frozen=True, slots=True)
class AccountedTime:
    """Time between two moments that somebody accounts as taken from the thread."""

    name: str
    """What took it: ``steal``, ``stopped by a signal``."""
    start_ns: int
    end_ns: int
    accounted_ns: int
    least_ns: int = 1_000
    """What takes a CPU away takes no less than that; shorter rests are something else."""
    is_stop: bool = False
    """The thread was away from the beginning of the gap on: ``start_ns`` is when it was noticed."""
    is_wait: bool = False
    """A wait that the kernel counted when it ended, and the scheduler as waiting, too: it belongs
    to a gap that ends in the window, or, where others ran before the thread, in a later one."""


def account(
    gaps: Gaps, rest: Times, traced_ns: Times, accounted: Sequence[AccountedTime], waits: Waits
) -> tuple[dict[str, Times], Times]:
    """Accounted time by name, and waits for the CPU that no event shows; a time per gap each.

    ``rest`` is what is left of each gap, ``traced_ns`` the traced time of other threads in it.
    """
    by_name = allot(gaps, rest, [one for one in accounted if one.is_wait])
    for taken in by_name.values():
        traced_ns, rest = traced_ns + taken, rest - taken
    # Before the others: the scheduler is exact, a stop is noticed late and steal is coarse.
    unreported_ns = _unreported_waits(gaps, rest, traced_ns, waits)
    others = [one for one in accounted if not one.is_wait]
    by_name |= allot(gaps, rest - unreported_ns, others)
    return by_name, unreported_ns


def allot(gaps: Gaps, rest: Times, accounted: Sequence[AccountedTime]) -> dict[str, Times]:
    """Gives accounted time to the gaps that reach into its window, largest rest first.

    Never more than was accounted and never more than is left of a gap. By name, a time per gap.
    """
    taken = np.zeros(len(rest), np.int64)
    by_name: dict[str, Times] = {}
    left_ns = 0
    for one in accounted:
        mine = by_name.setdefault(one.name, np.zeros(len(rest), np.int64))
        window = _window(gaps, one)
        left_ns = one.accounted_ns + (left_ns if one.is_wait else 0)
        for gap in window[np.argsort(-(rest - taken)[window], kind="stable")].tolist():
            if one.is_stop:
                left_ns = one.end_ns - int(gaps.start_ns[gap])
            ns = min(left_ns, int(rest[gap] - taken[gap]))
            if ns <= 0 or rest[gap] - taken[gap] < one.least_ns:
                break
            taken[gap] += ns
            mine[gap] += ns
            left_ns -= ns
    return by_name


def _window(gaps: Gaps, one: AccountedTime) -> npt.NDArray[np.int64]:
    """Indices of the gaps that may hold the accounted time."""
    if one.is_stop:
        place = int(np.searchsorted(gaps.start_ns, one.start_ns, "right")) - 1
        around = place >= 0 and gaps.end_ns[place] > one.start_ns
        return np.arange(place, place + 1) if around else np.zeros(0, np.int64)
    first = int(np.searchsorted(gaps.end_ns, one.start_ns, "right"))
    if one.is_wait:
        last = int(np.searchsorted(gaps.end_ns, one.end_ns, "right"))
    else:
        last = int(np.searchsorted(gaps.start_ns, one.end_ns, "left"))
    return np.arange(first, max(first, last))


def _unreported_waits(gaps: Gaps, rest: Times, wait_ns: Times, seen: Waits) -> Times:
    """Time in which the thread waited for the CPU without an event of who ran.

    run_delay rises when a wait ends, so a gap belongs to the window that it ends in.
    """
    total = np.zeros(len(rest), np.int64)
    for (from_ns, before), (to_ns, after) in pairwise(seen):
        first, last = np.searchsorted(gaps.end_ns, [from_ns, to_ns], "right").tolist()
        hidden = after - before - int(wait_ns[first:last].sum())
        for gap in (first + np.argsort(-rest[first:last], kind="stable")).tolist():
            ns = min(hidden, int(rest[gap]))
            if ns <= 0:
                break
            total[gap] = ns
            hidden -= ns
    return total
