"""Who else listens to the tracepoints that are traced, as each of them makes every call dearer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from noisetop.checked_json import finite, whole
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.machine.tracepoint_users import TracepointUser
from noisetop.text.sanitize import printable

_NAMED = 3
"""Tracepoints of a listener, and listeners: so many are named."""


@dataclass(frozen=True, slots=True)
class OtherListeners:
    """Those that were there when tracing began."""

    users: tuple[TracepointUser, ...] = ()
    """Each with the tracepoints that it shares with this run; none: they are not told."""
    hidden: tuple[str, ...] = ()
    """What could not be found out, in words."""
    run_ns: Mapping[int, float] = field(default_factory=dict)
    """What one run of a BPF program takes, by PID, where the kernel told when tracing began."""

    @property
    def pids(self) -> frozenset[int]:
        """Processes among them."""
        return frozenset(user.pid for user in self.users if user.pid)

    def __bool__(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.users or self.hidden)


NOBODY = OtherListeners()


def sharing(
    users: Iterable[TracepointUser], hidden: Iterable[str], tracepoints: Collection[str]
) -> OtherListeners:
    """Those of the users that listen, or may listen, to one of these tracepoints."""
    found = []
    for user in users:
        shared = tuple(name for name in user.tracepoints if name in tracepoints)
        if shared or not user.tracepoints:
            found.append(TracepointUser(user.kind, user.name, user.pid, shared))
    return OtherListeners(tuple(found), tuple(hidden))


class OtherListenersSection(Section[OtherListeners, OtherListeners]):
    """Known before the programs are attached."""

    rank = 34
    head = "listeners"

    def open(self, trace: TraceReadings) -> Reader[OtherListeners]:
        """Part of Section."""
        return Reader(lambda: trace.other_listeners)

    def between(
        self, before: OtherListeners, after: OtherListeners, start_ns: int, end_ns: int
    ) -> OtherListeners:
        """They are looked for once."""
        return after

    def none(self) -> OtherListeners:
        """Nobody else."""
        return NOBODY

    def part(self, value: OtherListeners, start_ns: int, end_ns: int) -> OtherListeners:
        """Part of Section."""
        return value

    def to_file(self, value: OtherListeners) -> dict[str, Any]:
        """Part of Section."""
        return self.as_dict(value) if value else {}

    def from_file(self, content: Mapping[str, Any]) -> OtherListeners:
        """Part of Section."""
        stored = dict(content.get("other_listeners") or {})
        users = tuple(
            TracepointUser(
                str(row["kind"]),
                str(row["name"]),
                whole(row["pid"]),
                tuple(map(str, row["tracepoints"])),
            )
            for row in stored.get("found", ())
        )
        told = {whole(row["pid"]): row.get("run_ns") for row in stored.get("found", ())}
        run_ns = {pid: finite(ns) for pid, ns in told.items() if ns is not None}
        return OtherListeners(users, tuple(map(str, stored.get("hidden", ()))), run_ns)

    def as_dict(self, value: OtherListeners) -> dict[str, Any]:
        """Part of Section."""
        found = [
            {
                **asdict(one),
                "tracepoints": list(one.tracepoints),
                "run_ns": value.run_ns.get(one.pid),
            }
            for one in value.users
        ]
        return {"other_listeners": {"found": found, "hidden": list(value.hidden)}}

    def brief(self, value: OtherListeners, duration_ns: int) -> Brief:
        """Part of Section."""
        parts = []
        if value.users:
            named = ", ".join(_label(one, value.run_ns) for one in value.users[:_NAMED])
            more = f" and {left} more" if (left := len(value.users) - _NAMED) > 0 else ""
            add = "each call there takes longer, as it is indirect and serves them too"
            parts.append(f"also {named}{more}: {add}")
        if value.hidden:
            parts.append(f"not known: {', '.join(value.hidden)}")
        return Brief(printable("; ".join(parts)))


def _label(user: TracepointUser, run_ns: Mapping[int, float]) -> str:
    who = f"{user.name} {user.pid}" if user.pid else f"ftrace ({user.name})"
    if user.tracepoints:
        more = f" and {left} more" if (left := len(user.tracepoints) - _NAMED) > 0 else ""
        who += f" on {', '.join(user.tracepoints[:_NAMED])}{more}"
    notes = [] if user.tracepoints else ["tracepoints that the kernel does not tell"]
    if user.pid in run_ns:
        notes.append(f"its programs take {run_ns[user.pid]:.0f} ns a run")
    return f"{who} ({'; '.join(notes)})" if notes else who


OTHER_LISTENERS = SECTION = OtherListenersSection()
