"""A summary as plain objects, as ``--json`` prints it live and for a recording."""

from __future__ import annotations

from noisetop.events.interruption import ENTRY, FAULT
from noisetop.events.task_directory import TaskDirectory
from noisetop.summary.short_lived import STARTED, ShortLived
from noisetop.summary.summary import CpuSummary, SourceSummary, Summary, Victim, VictimWait
from noisetop.summary.trigger_totals import TriggerSummary
from noisetop.text.column import per_second

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
    "short_lived",
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
        "victims": [_victim(one, summary.directory) for one in summary.victims],
        "waits": {str(one.tid): _wait(one, summary.directory) for one in summary.waits},
        "short_lived": [_short_lived(one, summary) for one in summary.short_lived],
        "cpus": {str(cpu.cpu): _cpu(cpu, summary) for cpu in summary.cpus},
    }
    return {key: document[key] for key in (*_FIRST, *document)}


def _victim(one: Victim, directory: TaskDirectory) -> dict[str, object]:
    """Its parts add up to ``wall_ns``."""
    time = one.time
    return {
        "tid": time.tid,
        "name": one.name,
        **directory.as_dict(time.tid),
        "wall_ns": time.wall_ns,
        "on_cpu_ns": time.on_cpu_ns,
        "noise_ns": dict(time.noise_ns),
        "self_ns": time.self_ns,
        "contention_ns": time.contention_ns,
        "contention": [
            {"path": list(source.path), "ns": ns}
            for source, ns in sorted(time.contention.items(), key=lambda pair: -pair[1])
        ],
        "throttled_ns": time.throttled_ns,
        "blocked_ns": time.blocked_ns,
        "unattributed_ns": time.unattributed_ns,
        "run_ns": time.run_ns,
        "delay_ns": time.delay_ns,
    }


def plural(noise_class: str) -> str:
    """Key of a class of events beside the noise: ``faults``, ``entries``."""
    return f"{noise_class[:-1]}ies" if noise_class.endswith("y") else f"{noise_class}s"


def _cpu(cpu: CpuSummary, summary: Summary) -> dict[str, object]:
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
        **(summary.counters.cpu_as_dict(cpu.cpu) if cpu.cpu is not None else {}),
        "sources": [_source(one, summary.directory) for one in cpu.sources],
        **{plural(name): [_side(one) for one in found] for name, found in side.items()},
    }


def _source(one: SourceSummary, directory: TaskDirectory) -> dict[str, object]:
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
        "triggers": [_trigger(trigger, directory) for trigger in one.triggers],
        "tasks": [_task(task, directory) for task in one.tasks],
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


def _trigger(one: TriggerSummary, directory: TaskDirectory) -> dict[str, object]:
    """Who it is is told of a task that acted itself. Of a thread it is who woke that."""
    trigger = one.trigger
    return {
        "label": trigger.label,
        "task": trigger.task,
        "tid": trigger.tid,
        "cpu": trigger.cpu,
        "context": trigger.context,
        "work": trigger.work,
        "origin": trigger.origin,
        **directory.as_dict(trigger.tid if trigger.task else 0),
        **_figures(one),
    }


def _task(one: TriggerSummary, directory: TaskDirectory) -> dict[str, object]:
    """A task that a thread source stands for; tid 0: several of the same name, where ``parent`` is
    known those of ``short_lived``."""
    started = one.trigger.context == STARTED
    tid = 0 if started else one.trigger.tid
    parent = {"parent": directory.parent_as_dict(one.trigger.tid)} if started else {}
    return {
        "tid": tid,
        "name": one.trigger.task or directory.name(tid),
        **directory.as_dict(tid),
        **parent,
        **_figures(one),
    }


def _figures(one: TriggerSummary) -> dict[str, object]:
    return {
        "count": one.count,
        "net_ns": one.net_ns,
        "cost_ns": one.cost_ns,
        "max_ns": one.max_ns,
    }


def _short_lived(one: ShortLived, summary: Summary) -> dict[str, object]:
    starter, directory = one.starter, summary.directory
    return {
        "name": one.name,
        "starts": one.starts,
        "starts_per_s": per_second(one.starts, summary.duration_ns),
        "count": one.count,
        "net_ns": one.net_ns,
        "starter": {"name": directory.name(starter), **directory.as_dict(starter), "pid": starter},
    }


def _wait(one: VictimWait, directory: TaskDirectory) -> dict[str, object]:
    """Count and time by reason."""
    return {
        "name": one.name,
        **directory.as_dict(one.tid),
        "count": dict(one.wait.count),
        "total_ns": dict(one.wait.total_ns),
        "max_ns": one.wait.max_ns,
    }
