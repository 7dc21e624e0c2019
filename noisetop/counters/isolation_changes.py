"""Changes of what is kept away from the watched CPUs while they are traced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from noisetop.checked_json import whole
from noisetop.counters.section import Brief, Reader, Section, TraceReadings
from noisetop.text.sanitize import printable

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class IsolationChange:
    """A file read other than before. Its texts are untrusted."""

    time_ns: int
    """When that was noticed, CLOCK_MONOTONIC: up to a second later."""
    setting: str
    """Its name, as in ``/proc/irq/36/smp_affinity_list``."""
    before: str
    """Empty: there was none."""
    after: str

    @property
    def label(self) -> str:
        """``/proc/irq/36/smp_affinity_list 0-3 → 0``, harmless on a terminal."""
        return printable(f"{self.setting} {self.before or 'none'} → {self.after or 'none'}")


Changes = tuple[IsolationChange, ...]


def changes_within(changes: Iterable[IsolationChange], start_ns: int, end_ns: int) -> Changes:
    """Those of a period."""
    return tuple(one for one in changes if start_ns <= one.time_ns <= end_ns)


class IsolationSection(Section[Changes, Changes]):
    """Noticed by a thread that reads the files once a second."""

    rank = 45
    title = "Changes of the isolation: report --from and --to tell before and after apart"
    head = "isolation"
    in_status = True
    before_stop = True

    def open(self, trace: TraceReadings) -> Reader[Changes]:
        """Part of Section."""
        return Reader(trace.isolation_changes)

    def between(self, before: Changes, after: Changes, start_ns: int, end_ns: int) -> Changes:
        """Part of Section."""
        return changes_within(after, start_ns, end_ns)

    def none(self) -> Changes:
        """Nothing changed."""
        return ()

    def part(self, value: Changes, start_ns: int, end_ns: int) -> Changes:
        """Part of Section."""
        return changes_within(value, start_ns, end_ns)

    def to_file(self, value: Changes) -> dict[str, Any]:
        """Part of Section."""
        return {"isolation_changes": [asdict(one) for one in value]}

    def from_file(self, content: Mapping[str, Any]) -> Changes:
        """Part of Section."""
        return tuple(
            IsolationChange(
                whole(row["time_ns"]), str(row["setting"]), str(row["before"]), str(row["after"])
            )
            for row in content.get("isolation_changes", ())
        )

    def as_dict(self, value: Changes) -> dict[str, object]:
        """Part of Section."""
        return {"isolation_changes": [asdict(one) for one in value]}

    def brief(self, value: Changes, duration_ns: int) -> Brief:
        """Part of Section."""
        times = "once" if len(value) == 1 else f"{len(value)} times"
        return Brief(f"isolation CHANGED {times}" if value else "", alert=bool(value))

    def lines(self, value: Changes, start_ns: int) -> Iterator[str]:
        """Part of Section."""
        for one in value:
            yield f"at {(one.time_ns - start_ns) / _NS_PER_S:.3f} s  {one.label}"


ISOLATION = SECTION = IsolationSection()
