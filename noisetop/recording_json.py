"""What goes with the tables of a recording, as plain objects for the files that we write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from noisetop.absence import Absence, absences_as_list, absences_from_list
from noisetop.event import Interruptions, Source
from noisetop.recording import Recording
from noisetop.summary import Losses, OwnCost
from noisetop.tick import TickStops
from noisetop.trigger import Trigger
from noisetop.waits import REASONS, TaskWait, WaitBook

_MAX_NS = (1 << 63) - 1
_MAX_CPU = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class About:
    """Everything in a recording but its tables, sources and task names."""

    metadata: dict[str, Any]
    cpus: tuple[int, ...]
    start_ns: int
    end_ns: int
    losses: Losses
    own_cost: OwnCost
    missing: tuple[str, ...]
    absences: tuple[Absence, ...]
    tick_stops: dict[int, TickStops]
    ended: str
    damage: str


def about_as_dict(recording: Recording) -> dict[str, Any]:
    """Ready for the json module; about_from_dict() is its inverse."""
    return {
        "start_ns": recording.start_ns,
        "end_ns": recording.end_ns,
        "cpus": list(recording.cpus),
        "losses": asdict(recording.losses),
        "own_cost": asdict(recording.own_cost),
        "missing_sources": list(recording.missing),
        "absences": absences_as_list(recording.absences),
        "tick_stops": {str(cpu): dict(stops) for cpu, stops in recording.tick_stops.items()},
        "ended": recording.ended,
        "damage": recording.damage,
        "metadata": recording.metadata,
    }


def about_from_dict(content: dict[str, Any]) -> About:
    """Raises KeyError, TypeError, ValueError or AttributeError on what we did not write."""
    start_ns, end_ns = int(content["start_ns"]), int(content["end_ns"])
    cpus = tuple(map(int, content["cpus"]))
    if not 0 <= start_ns <= end_ns <= _MAX_NS:
        raise ValueError("it ends before it starts")
    if any(not 0 <= cpu <= _MAX_CPU for cpu in cpus):
        raise ValueError("it watched CPUs that cannot be")
    return About(
        metadata=dict(content["metadata"]),
        cpus=cpus,
        start_ns=start_ns,
        end_ns=end_ns,
        losses=losses_from_dict(content["losses"]),
        own_cost=own_cost_from_dict(content["own_cost"]),
        missing=tuple(map(str, content["missing_sources"])),
        absences=absences_from_list(content.get("absences", ())),
        tick_stops=tick_stops_from_dict(content.get("tick_stops", {})),
        ended=str(content["ended"]),
        damage=str(content["damage"]),
    )


def losses_from_dict(content: dict[str, Any]) -> Losses:
    """Inverse of dataclasses.asdict(); a later version's fields are passed over."""
    return Losses(
        by_cpu={
            int(cpu): {str(reason): int(count) for reason, count in counts.items()}
            for cpu, counts in content["by_cpu"].items()
        },
        unread=int(content.get("unread", 0)),
        unwritten=int(content.get("unwritten", 0)),
        recursion_misses=int(content.get("recursion_misses", 0)),
    )


def tick_stops_from_dict(content: dict[str, Any]) -> dict[int, TickStops]:
    """Attempts to stop the tick, by CPU."""
    return {
        int(cpu): {str(reason): int(count) for reason, count in stops.items()}
        for cpu, stops in content.items()
    }


_RUNS_OF_A_RECORD = 2
"""In what was told before it was records: an entry and an exit each."""


def own_cost_from_dict(content: dict[str, Any]) -> OwnCost:
    """Inverse of dataclasses.asdict(); a later version's fields are passed over."""
    per_record = content.get("bpf_ns_per_record")
    return OwnCost(
        cpu_ns=int(content.get("cpu_ns", 0)),
        wakeups=int(content.get("wakeups", 0)),
        bpf_ns_per_record=None if per_record is None else float(per_record),
        records=int(content.get("records", content.get("bpf_runs", 0) // _RUNS_OF_A_RECORD)),
        housekeeping=str(content.get("housekeeping", "")),
    )


@dataclass(frozen=True, slots=True)
class Named:
    """What is complete only after all chunks of a recording were read."""

    sources: list[Source]
    tasks: dict[int, str]
    triggers: list[Trigger]
    waits: WaitBook
    stacks: dict[int, tuple[str, ...]]


def names_as_dict(recording: Recording) -> dict[str, Any]:
    """Ready for the json module; names_from_dict() is its inverse."""
    return {
        "sources": [list(source.path) for source in recording.sources],
        "tasks": {str(tid): name for tid, name in sorted(recording.tasks.items())},
        "triggers": [list(trigger) for trigger in recording.triggers],
        "waits": waits_as_dict(recording.waits.by_task()),
        "stacks": {str(key): list(stack) for key, stack in sorted(recording.stacks.items())},
    }


def names_from_dict(content: dict[str, Any]) -> Named:
    """Raises KeyError, TypeError, ValueError or AttributeError on what we did not write."""
    return Named(
        sources=sources_from_list(content["sources"]),
        tasks=tasks_from_dict(content["tasks"]),
        triggers=triggers_from_list(content.get("triggers", [Trigger()])),
        waits=WaitBook.of(waits_from_dict(content.get("waits", {}))),
        stacks={
            int(key): tuple(map(str, stack)) for key, stack in content.get("stacks", {}).items()
        },
    )


def recording_of(
    about: About, names: Named, read_chunks: Callable[[], Iterator[Interruptions]]
) -> Recording:
    """The recording that a file holds in these two parts and its tables."""
    return Recording(
        metadata=about.metadata,
        cpus=about.cpus,
        start_ns=about.start_ns,
        end_ns=about.end_ns,
        sources=names.sources,
        read_chunks=read_chunks,
        triggers=names.triggers,
        waits=names.waits,
        stacks=names.stacks,
        losses=about.losses,
        own_cost=about.own_cost,
        missing=about.missing,
        absences=about.absences,
        tick_stops=about.tick_stops,
        tasks=names.tasks,
        ended=about.ended,
        damage=about.damage,
    )


def waits_as_dict(waits: Mapping[int, TaskWait]) -> dict[str, Any]:
    """By tid."""
    return {
        str(tid): {"count": wait.count, "total_ns": wait.total_ns, "max_ns": wait.max_ns}
        for tid, wait in sorted(waits.items())
    }


def waits_from_dict(content: dict[str, Any]) -> dict[int, TaskWait]:
    """Inverse of waits_as_dict()."""
    waits = {}
    for tid, wait in content.items():
        count = {str(reason): int(number) for reason, number in wait["count"].items()}
        total_ns = {str(reason): int(ns) for reason, ns in wait["total_ns"].items()}
        if not count.keys() | total_ns.keys() <= set(REASONS):
            raise ValueError("a wait of an unknown kind")
        waits[int(tid)] = TaskWait(count, total_ns, int(wait["max_ns"]))
    return waits


def triggers_from_list(rows: Iterable[Any]) -> list[Trigger]:
    """Raises ValueError or TypeError on what is no list of triggers."""
    triggers = []
    for task, tid, cpu, context, work, origin, stack in rows:
        triggers.append(
            Trigger(str(task), int(tid), int(cpu), str(context), str(work), str(origin), int(stack))
        )
    if triggers[:1] != [Trigger()]:
        raise ValueError("no trigger stands for the unknown one")
    return triggers


def sources_from_list(paths: Iterable[Any]) -> list[Source]:
    """Raises ValueError on what is no path."""
    sources = [Source(tuple(map(str, path))) for path in paths]
    if not all(source.path for source in sources):
        raise ValueError("a source without a name")
    return sources


def tasks_from_dict(content: dict[str, Any]) -> dict[int, str]:
    """Names by tid."""
    return {int(tid): str(name) for tid, name in content.items()}
