"""Figures of groups of durations: how many, their sum, and the largest one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Sums = npt.NDArray[np.int64]
"""A row for each group: count, sum, the largest and when that one began, in ns, of equally large
ones the earliest, so that the order of batches does not matter. noisetop._native.add_up() adds."""
COUNT, TOTAL, LARGEST, LARGEST_START = range(4)


def no_sums() -> Sums:
    """Of no group."""
    return np.zeros((0, 4), np.int64)


def widened(sums: Sums, groups: int) -> Sums:
    """The same with room for so many groups; a new one has a largest of -1."""
    fresh = np.zeros((max(groups - len(sums), 0), 4), np.int64)
    fresh[:, LARGEST] = -1
    return np.concatenate([sums, fresh]) if len(fresh) else sums


def counted(
    counts: npt.NDArray[np.int64], groups: npt.NDArray[np.uint32], size: int
) -> npt.NDArray[np.int64]:
    """``counts`` by group, made ``size`` long, with one more for each of ``groups``."""
    more = np.bincount(groups, minlength=size)
    more[: len(counts)] += counts
    return more
