"""The runs of a fleet: which host, which kernel, which labels, how long."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from noisetop.errors import NoisetopError, UsageError
from noisetop.fleet.engines import Engine
from noisetop.fleet.tables import FLEET_VERSION, RUNS

PROPERTIES = ("host", "kernel", "cpu_model", "machine", "day")
"""What runs can be grouped by beside their labels."""
Group = tuple[str, ...]
"""A value for each key that runs are grouped by."""


@dataclass(frozen=True, slots=True)
class Run:
    """One recording. Its texts are untrusted."""

    run: str
    day: str
    host: str
    kernel: str
    cpu_model: str
    machine: str
    labels: str
    """JSON."""
    cpu_count: int
    duration_ns: int
    external_ns: int
    max_single_ns: int
    lost: int
    damage: str
    fleet_version: int
    label_values: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def wall_ns(self) -> int:
        """Time of all its CPUs together."""
        return self.duration_ns * self.cpu_count

    def value(self, key: str) -> str:
        """A property, or the value of a label; empty: it has none."""
        return str(getattr(self, key)) if key in PROPERTIES else self.label_values.get(key, "")


_COLUMNS = tuple(one.name for one in fields(Run) if one.name != "label_values")


def read_runs(engine: Engine) -> list[Run]:
    """All runs, in the order of their days and hosts. Raises NoisetopError."""
    found = []
    for row in engine.rows(engine.scan(RUNS).select(*_COLUMNS)):
        run = Run(*row)
        run.label_values.update(_labels(run.labels))
        found.append(run)
    for version in {run.fleet_version for run in found} - {FLEET_VERSION}:
        raise NoisetopError(
            f"there are runs of version {version} of the tables, this noisetop reads "
            f"{FLEET_VERSION}: export them again"
        )
    for number, count in Counter(run.run for run in found).items():
        if count > 1:
            raise UsageError(f"run {number} is in {count} of the folders: give one of them")
    return sorted(found, key=lambda run: (run.day, run.host, run.run))


def _labels(text: str) -> dict[str, str]:
    try:
        labels = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return {str(k): str(v) for k, v in labels.items()} if isinstance(labels, dict) else {}


def grouping(runs: Sequence[Run], keys: Sequence[str]) -> Callable[[Run], Group]:
    """The group of each run by these keys. Raises UsageError for a key that no run has."""
    known = {label for run in runs for label in run.label_values}
    for key in keys:
        if key not in PROPERTIES and key not in known:
            labels = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"runs have no '{key}': group by {', '.join(PROPERTIES)}, or a label: {labels}"
            )
    return lambda run: tuple(run.value(key) for key in keys)
