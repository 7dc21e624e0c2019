"""Metrics of a made-up trace, and what a scrape of them says."""

from __future__ import annotations

import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from noisetop.events.task_directory import Details, TaskDirectory
from noisetop.live.sample import Sample
from noisetop.machine.cgroup_names import names_of_path
from noisetop.machine.task_details import ProcessDetails
from noisetop.metrics.registry import Published
from noisetop.metrics.run import Exported, about_run
from tests.live.made_up_tracer import MadeUpTracer, NeverStops

NS = 10**9


LETTERS = str.maketrans("0123456789", "abcdefghij")


class TracerOfCgroups(MadeUpTracer):
    """Every task is in a control group of its own, under a name without numbers."""

    def comm(self, tid: int) -> str:
        return super().comm(tid).translate(LETTERS)

    @property
    def directory(self) -> TaskDirectory:
        found = super().directory
        tids = found.infos.keys()
        paths = {tid: f"/made/{tid}" for tid in tids}
        processes = {tid: ProcessDetails("", "", 0, path) for tid, path in paths.items()}
        cgroups = {path: names_of_path(path) for path in paths.values()}
        return TaskDirectory(found.names, found.infos, Details(processes, cgroups))


@dataclass
class Scrape:
    """Samples by name and labels."""

    text: str
    values: dict[tuple[str, frozenset[tuple[str, str]]], float] = field(init=False)

    def __post_init__(self) -> None:
        self.values = {
            (one.name, frozenset(one.labels.items())): one.value
            for family in text_string_to_metric_families(self.text)
            for one in family.samples
        }

    @classmethod
    def of(cls, registry: CollectorRegistry) -> Scrape:
        return cls(generate_latest(registry).decode())

    @classmethod
    def over_http(cls, url: str) -> Scrape:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return cls(answer.read().decode())

    def value(self, name: str, **labels: str) -> float:
        return self.values[name, frozenset(labels.items())]

    def rows(self, name: str) -> Mapping[frozenset[tuple[str, str]], float]:
        return {labels: value for (of, labels), value in self.values.items() if of == name}

    def sum_ns(self, name: str) -> int:
        """Of a metric in seconds, to the nanosecond."""
        return sum(round(value * NS) for value in self.rows(name).values())


def exported(tracer: Any) -> Exported:
    stopper: Any = NeverStops(tracer)
    info = about_run("made up", tracer.target.cpus)
    return Exported(tracer, stopper, "made up", info=info)


def published(one: Exported) -> Published:
    found = Published()
    found.publish(one.totals.snapshot())
    return found


def json_noise(samples: list[Sample]) -> int:
    return sum(sample.interval.noise_ns for sample in samples)
