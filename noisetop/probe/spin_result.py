"""From what one thread saw to its part of the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from noisetop.events.interruption import Interruptions, Source
from noisetop.events.trigger_join import TICK_FUNCTIONS
from noisetop.gaps.explain import ExplainedPart, Explanation, explain
from noisetop.gaps.gaps import (
    PERCENTILES,
    Gaps,
    buckets_per_hour,
    percentiles_ns,
    spin_periods,
)
from noisetop.gaps.inferred_time import InferredTime, InterruptCoverage, infer_time
from noisetop.gaps.periodic import Regular, find_regular
from noisetop.gaps.result import (
    Blocks,
    CpuSpin,
    EntryCostResult,
    Explained,
    LongGap,
    LostPart,
    OutsideResult,
)
from noisetop.machine.proc_interrupts import InterruptEntries
from noisetop.probe.accounted_time import Watcher
from noisetop.probe.clock import Clock
from noisetop.probe.interrupt_counts import InterruptCounts
from noisetop.probe.sampler import RawSpin
from noisetop.probe.traced import Trace
from noisetop.tables.histogram import bucket_of

UNREPORTED_WAIT = "runnable, not running, cause unknown"
INFERRED = "hypervisor or firmware time, inferred"
LONGEST = 10
ABOVE_NS = 1_000
_TIMELINE_GAPS = 2_000
_CURVE_POINTS = 80
_BLOCKS = 100
_MIN_BLOCK_NS = 10_000_000


@dataclass(frozen=True, slots=True)
class Seen:
    """One thread: its gaps in ticks, and what the others saw meanwhile."""

    spin: RawSpin
    clock: Clock
    watcher: Watcher
    counters: InterruptCounts
    trace: Trace | None
    entries: tuple[InterruptEntries, ...] = ()
    """The first reading while the thread spun, and the last."""

    def gaps(self) -> Gaps:
        """The gaps on CLOCK_MONOTONIC."""
        per_ns = self.clock.ticks_per_ns
        return Gaps(
            start_ns=self.clock.to_ns(self.spin.starts),
            end_ns=self.clock.to_ns(self.spin.ends),
            active_ns=round(self.spin.active_ticks / per_ns),
            unstored_count=self.spin.unstored_count,
            unstored_ns=round(self.spin.unstored_ticks / per_ns),
        )


def regular_above(gaps: Gaps) -> Regular | None:
    """The dominant period of the gaps of 1 µs and more; shorter ones are caches and pipelines."""
    long = gaps.length_ns >= ABOVE_NS
    return find_regular(gaps.start_ns[long], gaps.length_ns[long])


def regular_of(
    gaps: Gaps, explanation: Explanation | None, sources: Sequence[Source]
) -> Regular | None:
    """The tick, where the trace shows in which gaps it ran: a guest sees the tick of its host as
    gaps as well, often at a higher rate. Else the dominant period of all gaps."""
    if explanation:
        ticks = np.array([source.path[-1] in TICK_FUNCTIONS for source in sources], bool)
        held = np.unique(explanation.gap_of[ticks[explanation.inside["source"]]])
        found = find_regular(gaps.start_ns[held], gaps.length_ns[held])
        if found:
            return found
    return regular_above(gaps)


def cpu_spin(seen: Seen, period_limit: int) -> CpuSpin:
    """All figures of one thread."""
    spin, gaps = seen.spin, seen.gaps()
    first_ns, last_ns = seen.clock.to_ns(np.array([spin.first_ticks, spin.last_ticks])).tolist()
    explanation = _explain(seen, gaps) if seen.trace else None
    inferred = infer_time(explanation, _coverage(seen)) if explanation else None
    sources = seen.trace.sources if seen.trace else []
    return CpuSpin(
        cpu=spin.cpu,
        start_ns=first_ns,
        end_ns=last_ns,
        longest=_long_gaps(gaps, gaps.length_ns, explanation, inferred, sources),
        regular=regular_of(gaps, explanation, sources),
        stretches=list(spin_periods(gaps, first_ns, last_ns, period_limit)),
        timeline=_timeline(gaps),
        blocks=_blocks(gaps, (first_ns, last_ns), explanation, sources),
        explained_share=explanation.share() if explanation else None,
        parts=_all_parts(explanation) if explanation else [],
        unexplained_ns=explanation.unexplained_total_ns if explanation else None,
        explained=_explained(seen, explanation, inferred) if explanation and inferred else None,
        **_loop_figures(seen),
        **_gap_figures(gaps),
        **_kernel_figures(seen),
    )


def _loop_figures(seen: Seen) -> dict[str, Any]:
    spin, per_ns = seen.spin, seen.clock.ticks_per_ns
    return {
        "loops": spin.loops,
        "loop_cost_ns": spin.loop_ticks / per_ns,
        "resolution_ns": spin.resolution_ticks / per_ns,
        "threshold_ns": spin.threshold_ticks / per_ns,
    }


def _gap_figures(gaps: Gaps) -> dict[str, Any]:
    length = gaps.length_ns
    shares = percentiles_ns(length)
    return {
        "active_ns": gaps.active_ns,
        "gaps": gaps.count,
        "lost_ns": gaps.lost_ns,
        "lost_share": gaps.lost_ns / gaps.active_ns if gaps.active_ns else 0.0,
        "unstored_gaps": gaps.unstored_count,
        "unstored_ns": gaps.unstored_ns,
        "min_ns": int(length.min()) if len(length) else 0,
        "percentiles_ns": {
            f"p{share * 100:g}": ns for share, ns in zip(PERCENTILES, shares, strict=True)
        },
        "max_ns": int(length.max(initial=0)),
        "buckets": list(buckets_per_hour(length, gaps.active_ns)),
        "histogram": _histogram(length),
        "curve": _curve(length),
    }


def _kernel_figures(seen: Seen) -> dict[str, Any]:
    spin, usage = seen.spin, seen.spin.usage
    return {
        "voluntary_switches": usage.voluntary_switches - spin.sleeps,
        "involuntary_switches": usage.involuntary_switches,
        "page_faults": usage.minor_faults + usage.major_faults,
        "run_delay_ns": usage.run_delay_ns,
        "throttled_ns": seen.watcher.throttled_ns(),
        "steal_ns": seen.watcher.steal_ns(spin.cpu),
        "interrupts": seen.counters.interrupts.get(spin.cpu, {}),
        "softirqs": seen.counters.softirqs.get(spin.cpu, {}),
    }


def _explain(seen: Seen, gaps: Gaps) -> Explanation:
    assert seen.trace
    events = _during(seen, seen.trace.of_victim(seen.spin.tid))
    waits = [(one.ns, one.run_delay_ns) for one in seen.watcher.waiting.get(seen.spin.tid, [])]
    return explain(
        gaps,
        events,
        seen.trace.sources,
        seen.watcher.accounted(seen.spin.cpu, away_ns(seen.spin)),
        waits,
    )


def _during(seen: Seen, events: Interruptions) -> Interruptions:
    """Events of the run: the thread gets ready before it, and is a victim then, too."""
    ends = np.array([seen.spin.first_ticks, seen.spin.last_ticks])
    first_ns, last_ns = seen.clock.to_ns(ends).tolist()
    start = events["start_ns"].astype(np.int64)
    during: Interruptions = events[
        (start + events["gross_ns"].astype(np.int64) > first_ns) & (start < last_ns)
    ]
    return during


def away_ns(spin: RawSpin) -> int | None:
    """Time in which the thread neither ran nor waited by the scheduler's accounts: steal, mostly.

    None where it slept of its own will or the kernel does not count waits.
    """
    if spin.sleeps or not (spin.usage.run_delay_ns or not spin.usage.involuntary_switches):
        return None
    return spin.ended.ns - spin.began.ns - spin.usage.cpu_ns - spin.usage.run_delay_ns


def _coverage(seen: Seen) -> InterruptCoverage | None:
    cpu = seen.spin.cpu
    if len(seen.entries) < 2 or not seen.trace or any(cpu not in e.counts for e in seen.entries):
        return None
    first, last = seen.entries
    # What came while a file was read may be in its count or not: counted, but not traced.
    return InterruptCoverage(
        first.until_ns,
        last.since_ns,
        last.counts[cpu] - first.counts[cpu],
        seen.trace.entries(cpu, first.until_ns, last.since_ns),
        seen.trace.losses.events_lost_on(cpu),
    )


def _explained(seen: Seen, explanation: Explanation, inferred: InferredTime) -> Explained:
    assert seen.trace
    gaps = explanation.gaps
    above = gaps.length_ns >= ABOVE_NS
    lost_ns = int(gaps.length_ns[above].sum())
    share = explanation.share(ABOVE_NS)
    inferred_ns = int(inferred.total_ns[above].sum())
    return Explained(
        explained_share_above_1us=share,
        with_outside_share_above_1us=share + inferred_ns / lost_ns if lost_ns else share,
        lost_above_1us_ns=lost_ns,
        unreported_wait_ns=int(explanation.unreported_ns.sum()),
        excess_ns=explanation.excess_ns,
        outside_count=explanation.unmatched_count,
        outside_ns=explanation.unmatched_ns,
        entry_costs=[
            EntryCostResult(c.kind, c.p50_ns, c.gaps, c.before_p50_ns, c.after_p50_ns)
            for c in explanation.entry_costs
        ],
        worst_unexplained=_long_gaps(
            gaps, explanation.unexplained_ns, explanation, inferred, seen.trace.sources
        ),
        outside=_inferred(inferred),
        lost_events=seen.trace.losses.events_lost_on(seen.spin.cpu),
        unreported_switches=seen.trace.unreported_switches(seen.spin.cpu),
    )


def _inferred(inferred: InferredTime) -> OutsideResult | None:
    if inferred.counted is None:
        return None
    return OutsideResult(
        regular_ns=int(inferred.regular_ns.sum()),
        regular_gaps=int((inferred.regular_ns > 0).sum()),
        irregular_ns=int(inferred.irregular_ns.sum()),
        irregular_gaps=int((inferred.irregular_ns > 0).sum()),
        before_ns=int(inferred.before_ns.sum()),
        before_gaps=int((inferred.before_ns > 0).sum()),
        regular=inferred.regular,
        interrupts_counted=inferred.counted.counted,
        interrupts_traced=inferred.counted.traced,
    )


def _all_parts(explanation: Explanation) -> list[LostPart]:
    return [
        *_parts("event", explanation.events),
        *_parts("entry", explanation.entries),
        *_parts("admitted", explanation.accounted),
    ]


def _parts(kind: str, parts: Sequence[ExplainedPart]) -> list[LostPart]:
    return [LostPart(kind, list(part.path), part.count, part.ns) for part in parts]


def _histogram(length: npt.NDArray[np.int64]) -> dict[str, int]:
    buckets, counts = np.unique(bucket_of(length.astype(np.uint64)), return_counts=True)
    return {str(b): n for b, n in zip(buckets.tolist(), counts.tolist(), strict=True)}


def _curve(length: npt.NDArray[np.int64]) -> list[list[float]]:
    """Points that lie evenly on the axis of rarity, up to the longest gap."""
    if not len(length):
        return []
    rarities = np.logspace(0, np.log10(max(len(length), 2)), _CURVE_POINTS)
    shares = (1 - 1 / rarities).tolist()
    points = zip(shares, percentiles_ns(length, shares), strict=True)
    return [[share, float(ns)] for share, ns in points]


def _long_gaps(
    gaps: Gaps,
    key: npt.NDArray[np.int64],
    explanation: Explanation | None,
    inferred: InferredTime | None,
    sources: Sequence[Source],
) -> list[LongGap]:
    """The gaps with the largest ``key``, each with its own parts."""
    chosen = [i for i in np.argsort(-key, kind="stable")[:LONGEST].tolist() if key[i] > 0]
    length = gaps.length_ns
    found = []
    for i in chosen:
        left = int(explanation.unexplained_ns[i]) if explanation else None
        parts = _gap_parts(explanation, i, sources) if explanation else []
        if inferred and (ns := int(inferred.total_ns[i])):
            parts.append(LostPart("outside", [INFERRED], 1, ns))
        found.append(LongGap(int(gaps.start_ns[i]), int(length[i]), left, parts))
    return found


def _gap_parts(explanation: Explanation, gap: int, sources: Sequence[Source]) -> list[LostPart]:
    mine = explanation.inside[explanation.gap_of == gap]
    parts = []
    for source in np.unique(mine["source"]).tolist():
        net = mine["net_ns"][mine["source"] == source]
        parts.append(LostPart("event", list(sources[source].path), len(net), int(net.sum())))
    parts.sort(key=lambda part: -part.net_ns)
    if waited := int(explanation.unreported_ns[gap]):
        parts.append(LostPart("wait", [UNREPORTED_WAIT], 1, waited))
    if entry := int(explanation.entry_ns[gap]):
        parts.append(LostPart("entry", ["entry and exit"], 1, entry))
    for name, taken in explanation.accounted_by.items():
        if taken[gap]:
            parts.append(LostPart("admitted", [name], 1, int(taken[gap])))
    return parts


def _timeline(gaps: Gaps) -> list[list[int]]:
    """The longest gaps in the order of time: those that are wide enough to be seen in a chart."""
    longest = np.sort(np.argsort(-gaps.length_ns, kind="stable")[:_TIMELINE_GAPS])
    edges = np.stack([gaps.start_ns[longest], gaps.end_ns[longest]], axis=1)
    timeline: list[list[int]] = edges.tolist()
    return timeline


def _blocks(
    gaps: Gaps,
    span: tuple[int, int],
    explanation: Explanation | None,
    sources: Sequence[Source],
) -> Blocks:
    first_ns, last_ns = span
    block_ns = max((last_ns - first_ns) // _BLOCKS, _MIN_BLOCK_NS)
    size = max((last_ns - first_ns) // block_ns, 1)
    place, whole = _block_of(gaps.start_ns, first_ns, block_ns, size)
    by_label: dict[str, list[list[int]]] = {}
    if explanation:
        by_label = _source_blocks(explanation.inside, sources, (first_ns, block_ns, size))
    return Blocks(
        length_ns=block_ns,
        gap_count=np.bincount(place, minlength=size).tolist(),
        lost_ns=_sums(place, gaps.length_ns[whole], size),
        sources=by_label,
    )


def _block_of(
    start_ns: npt.NDArray[np.int64], first_ns: int, block_ns: int, size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Block of each moment, without those that fall into the incomplete one at the end."""
    place = (start_ns - first_ns) // block_ns
    whole = (place >= 0) & (place < size)
    return place[whole], whole


def _sums(place: npt.NDArray[np.int64], value: npt.NDArray[np.int64], size: int) -> list[int]:
    # A block's sum stays below 2^53 ns, where a double is exact.
    sums: list[int] = np.bincount(place, value, size).astype(np.int64).tolist()
    return sums


def _source_blocks(
    events: Interruptions, sources: Sequence[Source], grid: tuple[int, int, int]
) -> dict[str, list[list[int]]]:
    first_ns, block_ns, size = grid
    place, whole = _block_of(events["start_ns"].astype(np.int64), first_ns, block_ns, size)
    source, net = events["source"][whole], events["net_ns"][whole].astype(np.int64)
    found = {}
    for number in np.unique(source).tolist():
        mine = source == number
        found[sources[number].label] = [
            np.bincount(place[mine], minlength=size).tolist(),
            _sums(place[mine], net[mine], size),
        ]
    return found
