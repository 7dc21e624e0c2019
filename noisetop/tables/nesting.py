"""What began inside of what, on its CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.int64]
_TIME_BITS = np.uint64(51)  # 26 days; the rest is for CPUs


def first_inside(outer: npt.NDArray[np.void], inner: npt.NDArray[np.void]) -> Places:
    """For each row of ``outer`` the row of ``inner`` that began first within it on its CPU, or -1;
    of those that began at one moment the first. Both have ``cpu`` and ``start_ns``, ``outer`` has
    ``gross_ns``."""
    if not len(outer) or not len(inner):
        return np.full(len(outer), -1, np.int64)
    base = min(outer["start_ns"].min(), inner["start_ns"].min())
    begins = _packed(inner["cpu"], inner["start_ns"] - base)
    order = np.argsort(begins, kind="stable")
    begins = begins.take(order)
    since = _packed(outer["cpu"], outer["start_ns"] - base)
    at = np.searchsorted(begins, since)
    at[at == len(begins)] = 0
    found = begins.take(at)
    inside = (found >= since) & (found < since + outer["gross_ns"])
    return np.where(inside, order.take(at), -1)


def _packed(
    cpus: npt.NDArray[np.unsignedinteger[Any]], since_ns: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    return cpus.astype(np.uint64) << _TIME_BITS | since_ns
