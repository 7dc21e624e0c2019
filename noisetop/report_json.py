"""A summary as plain objects, as ``--json`` prints it live and for a recording."""

from __future__ import annotations

from noisetop.absence import absences_as_list
from noisetop.hardware_figures import figures_as_dict
from noisetop.summary import CpuSummary, Losses, OwnCost, SourceSummary, Summary, VictimWait
from noisetop.trigger_totals import TriggerSummary


def summary_as_dict(summary: Summary) -> dict[str, object]:
    """Everything in a summary, ready for the json module.

    Times are integers in ns, moments CLOCK_MONOTONIC. ``count`` holds all occurrences, those on an
    idle CPU included; ``net_ns``, ``max_ns``, the mean and the percentiles tell of noise only.
    """
    return {
        "duration_ns": summary.duration_ns,
        "start_ns": summary.start_ns,
        "end_ns": summary.end_ns,
        "lost": summary.losses.total,
        "losses": _losses(summary.losses),
        "own_cost": _own_cost(summary.own_cost),
        "missing_sources": list(summary.missing),
        "absences": absences_as_list(summary.absences),
        "waits": {str(one.tid): _wait(one) for one in summary.waits},
        "hardware": figures_as_dict(summary.hardware),
        "missing_hardware": list(summary.missing_hardware),
        "cpus": {str(cpu.cpu): _cpu(cpu) for cpu in summary.cpus},
    }


def _losses(losses: Losses) -> dict[str, object]:
    return {
        "by_cpu": {str(cpu): dict(reasons) for cpu, reasons in sorted(losses.by_cpu.items())},
        "unpaired": losses.unpaired,
        "unread": losses.unread,
        "unwritten": losses.unwritten,
        "recursion_misses": losses.recursion_misses,
    }


def _own_cost(cost: OwnCost) -> dict[str, object]:
    return {
        "cpu_ns": cost.cpu_ns,
        "wakeups": cost.wakeups,
        "bpf_ns_per_record": cost.bpf_ns_per_record,
        "records": cost.records,
        "housekeeping": cost.housekeeping,
    }


def _cpu(cpu: CpuSummary) -> dict[str, object]:
    return {
        "noise_ns": cpu.noise_ns,
        "idle_ns": cpu.idle_ns,
        "max_single_ns": cpu.max_single_ns,
        "max_single_start_ns": cpu.max_single_start_ns,
        "count": sum(one.count + one.idle_count for one in cpu.sources),
        "tick_stops": dict(cpu.tick_stops),
        "sources": [_source(one) for one in cpu.sources],
        "faults": [_apart(one) for one in cpu.faults],
        "entries": [_apart(one) for one in cpu.entries],
    }


def _source(one: SourceSummary) -> dict[str, object]:
    return {
        "path": list(one.source.path),
        "class": one.source.noise_class,
        "count": one.count + one.idle_count,
        "idle_count": one.idle_count,
        "net_ns": one.net_ns,
        "idle_ns": one.idle_ns,
        "max_ns": one.max_ns,
        "max_start_ns": one.max_start_ns,
        "mean_ns": round(one.mean_ns),
        "p50_ns": one.percentile_ns(0.5),
        "p99_ns": one.percentile_ns(0.99),
        "triggers": [_trigger(trigger) for trigger in one.triggers],
    }


def _apart(one: SourceSummary) -> dict[str, object]:
    """Of one kind of page faults what they ran, or how long they slept; or of entries into the
    kernel what was around the noise."""
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
