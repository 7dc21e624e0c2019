"""Results of the probes, and their form as JSON (docs/probe-result.md)."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from noisetop.gaps.gaps import Bucket, SpinPeriod
from noisetop.gaps.periodic import Regular

FORMAT = "noisetop probe result"
VERSION = 2
WITHOUT_CHECKSUM = 1
"""Version of which some files have none."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LostPart:
    """A part of the lost time and what it is."""

    kind: str
    """``event``, ``entry`` (entering and leaving interrupts), ``admitted`` (accounted by others),
    or, in a single gap, ``wait`` and ``outside``: parts of what is unexplained."""
    path: list[str]
    count: int
    net_ns: int

    @property
    def label(self) -> str:
        """The path in one line."""
        return " › ".join(self.path)


@dataclass(frozen=True, slots=True)
class LongGap:
    """One gap, and what of it is explained."""

    start_ns: int
    length_ns: int
    unexplained_ns: int | None
    parts: list[LostPart]


@dataclass(frozen=True, slots=True)
class EntryCostResult:
    """Calibrated cost of one kind of interrupt beyond its events."""

    kind: str
    p50_ns: int
    gaps: int
    before_p50_ns: int
    """Median from the beginning of these gaps to their first event."""
    after_p50_ns: int
    """Median from their last event to their end."""


@dataclass(frozen=True, slots=True)
class OutsideResult:
    """Of the unexplained: hypervisor or firmware time, inferred."""

    regular_ns: int
    """In gaps without any event that come with one period."""
    regular_gaps: int
    irregular_ns: int
    """In other gaps without any event."""
    irregular_gaps: int
    before_ns: int
    """Before the first event of gaps, beyond the calibrated cost."""
    before_gaps: int
    regular: Regular | None
    interrupts_counted: int
    """By the kernel, on this CPU, in the period that the inference covers."""
    interrupts_traced: int


@dataclass(frozen=True, slots=True)
class Explained:
    """Where the explanation of a thread's gaps comes from and how far it reaches."""

    explained_share_above_1us: float
    """Of the time in gaps of 1 µs and more."""
    with_outside_share_above_1us: float
    """The same with hypervisor or firmware time, inferred."""
    lost_above_1us_ns: int
    unreported_wait_ns: int
    """Of the unexplained: waiting on the run queue by schedstat, without an event."""
    excess_ns: int
    outside_count: int
    outside_ns: int
    entry_costs: list[EntryCostResult]
    worst_unexplained: list[LongGap]
    outside: OutsideResult | None
    """None where interrupts could not be counted."""
    lost_events: int
    """Events that the tracer lost on this CPU."""
    unreported_switches: int
    """Context switches that the kernel hid from its own tracepoint."""


@dataclass(frozen=True, slots=True)
class Blocks:
    """Sums over blocks of equal length, for comparisons."""

    length_ns: int
    gap_count: list[int]
    lost_ns: list[int]
    sources: dict[str, list[list[int]]]
    """By label: counts and net times per block."""


@dataclass(frozen=True, slots=True)
class CpuSpin:
    """What one thread saw."""

    cpu: int
    """-1: not bound to any."""
    start_ns: int
    end_ns: int
    active_ns: int
    loops: int
    loop_cost_ns: float
    resolution_ns: float
    threshold_ns: float
    gaps: int
    lost_ns: int
    lost_share: float
    unstored_gaps: int
    unstored_ns: int
    min_ns: int
    percentiles_ns: dict[str, int]
    max_ns: int
    buckets: list[Bucket]
    histogram: dict[str, int]
    """Gaps by bucket of noisetop.tables.histogram."""
    curve: list[list[float]]
    """Share of the gaps and the length that this share lies at or below, for a chart."""
    longest: list[LongGap]
    regular: Regular | None
    stretches: list[SpinPeriod]
    timeline: list[list[int]]
    """Beginning and end of the gaps that a chart of the whole run can show."""
    blocks: Blocks
    voluntary_switches: int
    involuntary_switches: int
    page_faults: int
    run_delay_ns: int
    """Runnable, but not running, by the scheduler."""
    throttled_ns: int
    """How long its cgroups kept all their tasks from running meanwhile, summed over CPUs."""
    steal_ns: int
    interrupts: dict[str, int]
    softirqs: dict[str, int]
    explained_share: float | None
    """Of the time in all gaps; like the rest None when nothing was traced."""
    parts: list[LostPart]
    """With ``unexplained_ns`` their sum is ``lost_ns``."""
    unexplained_ns: int | None
    explained: Explained | None


@dataclass(frozen=True, slots=True)
class ClockResult:
    """How well the counter is known."""

    ticks_per_ns: float
    uncertainty_ns: float
    pairs: int
    cpu_offset_ns: float


@dataclass(frozen=True, slots=True)
class SpinResult:
    """One run of ``noisetop probe spin`` with one setting."""

    busy_percent: int
    cpus: list[CpuSpin]
    clock: ClockResult
    smi: int | None
    missing: list[str]
    """What could not be measured, and what to do about it."""
    priority: str
    load: int
    fenced: bool


@dataclass(frozen=True, slots=True)
class SwitchProcess:
    """One of the competing processes."""

    pid: int
    slices: int
    ran_ns: int
    traced_slices: int | None


@dataclass(frozen=True, slots=True)
class SwitchResult:
    """``noisetop probe switch``: processes that compete for one CPU."""

    cpu: int
    duration_ns: int
    processes: list[SwitchProcess]
    slice_ns: dict[str, int]
    """Time slices: min, percentiles, max, mean."""
    slice_histogram: dict[str, int]
    switch_ns: dict[str, int]
    """Cost of a direct switch from one process to another."""
    switches: int
    traced_switches: int | None
    """Of those, how many the trace shows as well; None: nothing was traced."""
    unseen: int | None
    """Thread events of these processes in which the process gave no sign of life: it was switched
    away before it came back to its loop, or the trace is wrong."""
    unseen_ns: int | None
    timeline: list[list[int]]
    """Process index, beginning and end of the first slices."""
    missing: list[str]


@dataclass(frozen=True, slots=True)
class NumaCell:
    """One CPU node with memory on one node."""

    cpu_node: int
    cpu: int
    memory_node: int
    bandwidth: dict[str, list[float]]
    """GB/s of each repeat, by kernel."""
    latency_ns: list[float]


@dataclass(frozen=True, slots=True)
class NumaResult:
    """``noisetop probe numa``."""

    array_bytes: int
    cells: list[NumaCell]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """A whole result file."""

    kind: str
    """``spin``, ``switch`` or ``numa``."""
    metadata: dict[str, Any]
    spin: list[SpinResult] = field(default_factory=list)
    switch: SwitchResult | None = None
    numa: NumaResult | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON can hold it."""
        content = asdict(self)
        kept = {k: v for k, v in content.items() if v or k == "metadata"}
        return {"format": FORMAT, "version": VERSION, **kept}


def result_of(document: dict[str, Any]) -> ProbeResult:
    """Inverse of ProbeResult.to_json(). Raises TypeError or ValueError where something does not
    fit."""
    return build(ProbeResult, {k: v for k, v in document.items() if k not in ("format", "version")})


def build(kind: type[T], value: Any) -> T:
    """A dataclass from what JSON gave. Raises TypeError or ValueError where it does not fit."""
    if not isinstance(value, dict):
        raise TypeError(f"{kind.__name__} is no object")
    hints = _hints_of(cast(Any, kind))
    unknown = set(value) - set(hints)
    if unknown:
        raise ValueError(f"{kind.__name__} has an unknown field")
    return kind(**{key: _fit(hints[key], item, key) for key, item in value.items()})


@cache
def _hints_of(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _fit(hint: Any, value: Any, name: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return None if value is None else _fit(arguments[0], value, name)
    if hint is Any:
        return value
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value)
    if origin is list and isinstance(value, list):
        return [_fit(arguments[0], item, name) for item in value]
    if origin is dict and isinstance(value, dict):
        return {str(key): _fit(arguments[1], item, name) for key, item in value.items()}
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if hint in (int, str, bool) and type(value) is hint:
        return value
    raise TypeError(f"'{name}' does not fit")
