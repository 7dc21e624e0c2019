"""The same sums from what ``noisetop top --json`` prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from noisetop.events.interruption import Source
from noisetop.live.sample import Sample
from noisetop.live_outputs.json_lines import json_line
from noisetop.metrics.label_values import source_value

Labels = frozenset[tuple[str, str]]


def labels(**found: str) -> Labels:
    """Those that are not empty."""
    return frozenset((name, value) for name, value in found.items() if value)


def by_source(
    samples: Iterable[Sample],
) -> tuple[Counter[Labels], Counter[Labels], Counter[Labels]]:
    """Net time in ns, cost in ns and interruptions of every source, by the labels of its series."""
    net, cost, count = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    for sample in samples:
        for cpu in json.loads(json_line(sample))["cpus"].values():
            for one in cpu["sources"]:
                key = labels(
                    source=source_value(Source(tuple(one["path"]))), origin=one["origin"],
                    aside=one["aside"], **{"class": one["class"]},
                )  # fmt: skip
                net[key] += one["net_ns"]
                cost[key] += one["net_ns"] if one["cost_ns"] is None else one["cost_ns"]
                count[key] += one["count"] - one["idle_count"]
    return net, cost, count


def by_cpu(samples: Iterable[Sample]) -> Counter[str]:
    """Noise in ns of each CPU."""
    found = Counter[str]()
    for sample in samples:
        for number, cpu in json.loads(json_line(sample))["cpus"].items():
            found[number] += cpu["noise_ns"]
    return found


def waits(samples: Iterable[Sample]) -> Counter[str]:
    """Time in ns that threads waited, by reason."""
    found = Counter[str]()
    for sample in samples:
        for one in json.loads(json_line(sample))["waits"].values():
            found.update(one["total_ns"])
    return found
