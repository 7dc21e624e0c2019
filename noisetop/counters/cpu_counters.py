"""Counters of each CPU, as the kernel side keeps them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from noisetop.events.layout import Layout


def read_cpu_counters(content: bytes | memoryview, layout: Layout) -> npt.NDArray[np.void]:
    """A row of ``struct noise_cpu_counters`` for each CPU; an incomplete last one is left out."""
    dtype = layout.dtype("noise_cpu_counters")
    return np.frombuffer(content, dtype, len(content) // dtype.itemsize)


def counts_by_cpu(
    rows: npt.NDArray[np.void], layout: Layout, field: str, enum: str
) -> dict[int, dict[str, int]]:
    """Counts of one array in these rows by CPU, its places named by the values of an enum."""
    labels = layout.labels(enum)
    return {int(row["cpu"]): dict(zip(labels, map(int, row[field]), strict=False)) for row in rows}
