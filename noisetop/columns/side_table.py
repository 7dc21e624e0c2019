"""What declares how a class of events that are no noise is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisetop.summary.summary import CpuSummary, SourceSummary, Summary
from noisetop.text.column import Column


@dataclass(frozen=True, slots=True)
class SideTable:
    """Its columns, and what its rows are made from."""

    noise_class: str
    title: str
    kind: Column[Any]
    cpu: Column[Any]
    figures: tuple[Column[Any], ...]
    rows_of: Callable[[Summary, CpuSummary], list[Any]]
    """Of one CPU of a summary, or of its ``all_cpus()``."""
    stack_of: Callable[[SourceSummary, str], tuple[str, ...]]
    """Where a flame graph shows it, below a root that is none of the noise; given ``cpu N``."""
