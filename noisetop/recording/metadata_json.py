"""What goes with the tables of a recording, as plain objects for the files that we write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from noisetop.checked_json import whole
from noisetop.counters.period import PeriodCounters, counters_from_file
from noisetop.events.interruption import Interruptions, Source
from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger, UserStacks
from noisetop.events.victim_stacks import VictimStacks
from noisetop.events.victim_time import VictimTime
from noisetop.events.waits import TaskWait, WaitBook
from noisetop.recording.recording import Recording, checked_cpus, checked_period

_CPU_NUMBERS = 1 << 32
"""That the record of a trigger has room for."""


@dataclass(frozen=True, slots=True)
class About:
    """Everything in a recording but its tables, sources and task names."""

    metadata: dict[str, Any]
    cpus: tuple[int, ...]
    start_ns: int
    end_ns: int
    counters: PeriodCounters
    ended: str
    damage: str


def about_as_dict(recording: Recording) -> dict[str, Any]:
    """Ready for the json module; about_from_dict() is its inverse."""
    return {
        "start_ns": recording.start_ns,
        "end_ns": recording.end_ns,
        "cpus": list(recording.cpus),
        **recording.counters.to_file(),
        "ended": recording.ended,
        "damage": recording.damage,
        "metadata": recording.metadata,
    }


def about_from_dict(content: dict[str, Any]) -> About:
    """Raises KeyError, TypeError, ValueError or AttributeError on what we did not write."""
    start_ns, end_ns = whole(content["start_ns"]), whole(content["end_ns"])
    checked_period(start_ns, end_ns)
    return About(
        metadata=dict(content["metadata"]),
        cpus=checked_cpus(content["cpus"]),
        start_ns=start_ns,
        end_ns=end_ns,
        counters=counters_from_file(dict(content["metadata"]) | content),
        ended=str(content["ended"]),
        damage=str(content["damage"]),
    )


_VICTIM_TIMES = (
    "wall_ns",
    "on_cpu_ns",
    "self_ns",
    "throttled_ns",
    "blocked_ns",
    "unattributed_ns",
    "run_ns",
    "delay_ns",
)


@dataclass(frozen=True, slots=True)
class Named:
    """What is complete only after all chunks of a recording were read."""

    sources: list[Source]
    tasks: dict[int, str]
    directory: TaskDirectory
    triggers: list[Trigger]
    waits: WaitBook
    stacks: dict[int, tuple[str, ...]]
    user_stacks: UserStacks
    victim_stacks: VictimStacks
    victims: dict[int, VictimTime]
    damage: str


def names_as_dict(recording: Recording) -> dict[str, Any]:
    """Ready for the json module; names_from_dict() is its inverse."""
    return {
        "sources": [list(source.path) for source in recording.sources],
        "tasks": {str(tid): name for tid, name in sorted(recording.tasks.items())},
        "task_infos": infos_as_dict(recording.directory.infos),
        **recording.directory.details.to_file(),
        "triggers": [list(trigger) for trigger in recording.triggers],
        "waits": waits_as_dict(recording.waits.by_task()),
        "victims": [victim_as_list(one) for one in recording.victims.values()],
        "stacks": {str(key): list(stack) for key, stack in sorted(recording.stacks.items())},
        "user_stacks": user_stacks_as_dict(recording.user_stacks),
        "victim_stacks": recording.victim_stacks.rows(),
        "damage": recording.damage,
    }


def names_from_dict(content: dict[str, Any]) -> Named:
    """Raises KeyError, TypeError, ValueError or AttributeError on what we did not write."""
    tasks, details = tasks_from_dict(content["tasks"]), Details()
    details.add(content)
    return Named(
        sources=sources_from_list(content["sources"]),
        tasks=tasks,
        directory=TaskDirectory(tasks, infos_from_dict(content.get("task_infos", {})), details),
        triggers=triggers_from_list(content.get("triggers", [Trigger()])),
        waits=WaitBook.of(waits_from_dict(content.get("waits", {}))),
        victims={one.tid: one for one in map(victim_from_list, content.get("victims", []))},
        stacks={
            whole(key): tuple(map(str, stack)) for key, stack in content.get("stacks", {}).items()
        },
        user_stacks=user_stacks_from_dict(content.get("user_stacks", {})),
        victim_stacks=VictimStacks.of(content.get("victim_stacks", [])),
        damage=str(content.get("damage", "")),
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
        victims=names.victims,
        stacks=names.stacks,
        user_stacks=names.user_stacks,
        victim_stacks=names.victim_stacks,
        counters=about.counters,
        tasks=names.tasks,
        directory=names.directory,
        ended=about.ended,
        damage=names.damage or about.damage,
    )


def victim_as_list(one: VictimTime) -> list[Any]:
    """Ready for the json module; victim_from_list() is its inverse."""
    contention = [[list(source.path), ns] for source, ns in one.contention.items()]
    times = [getattr(one, name) for name in _VICTIM_TIMES]
    ran_on = {str(cpu): ns for cpu, ns in one.ran_on.items()}
    return [one.tid, *times, dict(one.noise_ns), contention, ran_on]


def victim_from_list(content: Any) -> VictimTime:
    """Raises ValueError or TypeError on what we did not write."""
    tid, *rest = content
    times, (noise_ns, contention, *more) = rest[: len(_VICTIM_TIMES)], rest[len(_VICTIM_TIMES) :]
    (ran_on,) = more or ({},)
    named = {name: whole(ns) for name, ns in zip(_VICTIM_TIMES, times, strict=True)}
    found = VictimTime(
        tid=whole(tid),
        noise_ns={str(origin): whole(ns) for origin, ns in noise_ns.items()},
        contention={Source.of_file(path): whole(ns) for path, ns in contention},
        ran_on={whole(cpu): whole(ns) for cpu, ns in ran_on.items()},
        **named,
    )
    if not found.adds_up() or sum(found.ran_on.values()) > found.run_ns:
        raise ValueError("the time of a victim does not add up")
    return found


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
        count = {str(reason): whole(number) for reason, number in wait["count"].items()}
        total_ns = {str(reason): whole(ns) for reason, ns in wait["total_ns"].items()}
        if count.keys() != total_ns.keys():
            raise ValueError("waits without their time")
        waits[whole(tid)] = TaskWait(count, total_ns, whole(wait["max_ns"]))
    return waits


def triggers_from_list(rows: Iterable[Any]) -> list[Trigger]:
    """Raises ValueError or TypeError on what is no list of triggers."""
    triggers = []
    for task, tid, cpu, context, work, origin, stack, *rest in rows:
        who = str(task), whole(tid), whole(cpu), str(context), str(work), str(origin), whole(stack)
        if not -1 <= who[2] < _CPU_NUMBERS:
            raise ValueError("a trigger on a CPU that is none")
        began, user_stack = (*map(str, rest), *("", "-1")[len(rest) :])
        triggers.append(Trigger(*who, began, whole(user_stack)))
    if triggers[:1] != [Trigger()]:
        raise ValueError("no trigger stands for the unknown one")
    return triggers


def user_stacks_as_dict(stacks: UserStacks) -> dict[str, list[str]]:
    """By tid and key, as ``tid:key``."""
    return {f"{tid}:{key}": list(stack) for (tid, key), stack in sorted(stacks.items())}


def user_stacks_from_dict(content: dict[str, Any]) -> UserStacks:
    """Inverse of user_stacks_as_dict()."""
    stacks: UserStacks = {}
    for where, stack in content.items():
        tid, key = map(int, where.split(":"))
        stacks[tid, key] = tuple(map(str, stack))
    return stacks


def sources_from_list(paths: Iterable[Any]) -> list[Source]:
    """Raises ValueError on what is no path."""
    return [Source.of_file(path) for path in paths]


def infos_as_dict(infos: Mapping[int, TaskInfo]) -> dict[str, Any]:
    """By tid."""
    return {str(tid): list(astuple(info)) for tid, info in sorted(infos.items())}


def infos_from_dict(content: dict[str, Any]) -> dict[int, TaskInfo]:
    """Inverse of infos_as_dict()."""
    infos = {}
    for tid, (tgid, parent, kernel, cgroup, started_ns) in content.items():
        infos[whole(tid)] = TaskInfo(
            whole(tgid), whole(parent), bool(kernel), whole(cgroup), whole(started_ns)
        )
    return infos


def tasks_from_dict(content: dict[str, Any]) -> dict[int, str]:
    """Names by tid."""
    return {whole(tid): str(name) for tid, name in content.items()}
