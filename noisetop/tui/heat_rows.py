"""Which CPUs a line of the heat map shows: one, two by half blocks, or the name of a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from noisetop.machine.topology import CpuPlace, group_name, in_groups

_TALLEST = 5


@dataclass(frozen=True, slots=True)
class HeatRow:
    """One line. A group has no CPU; two CPUs: the second in the lower halves."""

    cpus: tuple[int, ...] = ()
    title: str = ""

    @property
    def label(self) -> str:
        """What stands at its left."""
        return self.title or "/".join(map(str, self.cpus))


def heat_rows(
    cpus: Sequence[int], places: Mapping[int, CpuPlace], height: int, *, halves: bool
) -> list[HeatRow]:
    """As many lines as the CPUs take; where there is room each takes several, where there is not
    two share one, if ``halves`` may be used. They may still be more than ``height``."""
    groups = in_groups(cpus, places)
    titled = len(groups) > 1
    count = len(cpus) + titled * len(groups)
    pairs = halves and count > height
    tall = max(1, min(_TALLEST, height // max(count, 1)))
    rows: list[HeatRow] = []
    for group in groups:
        if titled:
            rows.append(HeatRow(title=group_name(group[0], places) or "other CPUs"))
        step = 2 if pairs else 1
        for at in range(0, len(group), step):
            row = HeatRow(tuple(group[at : at + step]))
            rows += [row] * (1 if pairs else tall)
    return rows
