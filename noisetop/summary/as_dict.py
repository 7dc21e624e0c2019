"""A summary as plain objects, as ``--json`` prints it live and for a recording."""

from __future__ import annotations

from noisetop.counters.period import PeriodCounters
from noisetop.events.interruption import ENTRY, FAULT
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary, VictimWait
from noisetop.summary.trigger_totals import TriggerSummary

_FIRST = (
    "duration_ns",
    "start_ns",
    "end_ns",
    "lost",
    "losses",
    "overhead",
    "unavailable_sources",
    "offline_intervals",
    "waits",
)
"""Keys that come first, in this order."""
_ALWAYS = (FAULT, ENTRY)
"""Classes beside the noise whose keys are there even where none occurred."""


def summary_as_dict(summary: Summary) -> dict[str, object]:
    """Everything in a summary, ready for the json module.

    Times are integers in ns, moments CLOCK_MONOTONIC. ``count`` holds all occurrences, those on an
    idle CPU included; ``net_ns``, ``max_ns``, the mean and the percentiles tell of noise only.
    """
    document: dict[str, object] = {
        "duration_ns": summary.duration_ns,
        "start_ns": summary.start_ns,
        "end_ns": summary.end_ns,
        **summary.counters.as_dict(),
        "waits": {str(one.tid): _wait(one) for one in summary.waits},
        "cpus": {str(cpu.cpu): _cpu(cpu, summary.counters) for cpu in summary.cpus},
    }
    return {key: document[key] for key in (*_FIRST, *document)}


def plural(noise_class: str) -> str:
    """Key of a class of events beside the noise: ``faults``, ``entries``."""
    return f"{noise_class[:-1]}ies" if noise_class.endswith("y") else f"{noise_class}s"


def _cpu(cpu: CpuSummary, counters: PeriodCounters) -> dict[str, object]:
    side = {name: cpu.side.get(name, ()) for name in (*_ALWAYS, *cpu.side)}
    return {
        "noise_ns": cpu.noise_ns,
        "cost_ns": cpu.cost_ns,
        "external_ns": cpu.external_ns,
        "external_cost_ns": cpu.external_cost_ns,
        "by_origin": cpu.by_origin,
        "idle_ns": cpu.idle_ns,
        "max_single_ns": cpu.max_single_ns,
        "max_single_start_ns": cpu.max_single_start_ns,
        "count": sum(one.count + one.idle_count for one in cpu.sources),
        **(counters.cpu_as_dict(cpu.cpu) if cpu.cpu is not None else {}),
        "sources": [_source(one) for one in cpu.sources],
        **{plural(name): [_side(one) for one in found] for name, found in side.items()},
    }


def _source(one: SourceSummary) -> dict[str, object]:
    return {
        "path": list(one.source.path),
        "class": one.source.noise_class,
        "origin": one.origin.label,
        "count": one.count + one.idle_count,
        "idle_count": one.idle_count,
        "net_ns": one.net_ns,
        "cost_ns": one.cost_ns,
        "cost_range_ns": one.cost_range_ns,
        "idle_ns": one.idle_ns,
        "max_ns": one.max_ns,
        "max_start_ns": one.max_start_ns,
        "mean_ns": round(one.mean_ns),
        "p50_ns": one.percentile_ns(0.5),
        "p99_ns": one.percentile_ns(0.99),
        "triggers": [_trigger(trigger) for trigger in one.triggers],
    }


def _side(one: SourceSummary) -> dict[str, object]:
    """Of one kind of page faults the time that they ran or were blocked; of entries into the kernel
    the time around the noise."""
    return {
        "path": list(one.source.path),
        "count": one.count,
        "net_ns": one.net_ns,
        "max_ns": one.max_ns,
        "max_start_ns": one.max_start_ns,
        "mean_ns": round(one.mean_ns),
        "p50_ns": one.percentile_ns(0.5),
        "p99_ns": one.percentile_ns(0.99),
    }


def _trigger(one: TriggerSummary) -> dict[str, object]:
    trigger = one.trigger
    return {
        "label": trigger.label,
        "task": trigger.task,
        "tid": trigger.tid,
        "cpu": trigger.cpu,
        "context": trigger.context,
        "work": trigger.work,
        "origin": trigger.origin,
        "count": one.count,
        "net_ns": one.net_ns,
        "cost_ns": one.cost_ns,
        "max_ns": one.max_ns,
    }


def _wait(one: VictimWait) -> dict[str, object]:
    """Count and time by reason."""
    return {
        "name": one.name,
        "count": dict(one.wait.count),
        "total_ns": dict(one.wait.total_ns),
        "max_ns": one.wait.max_ns,
    }
