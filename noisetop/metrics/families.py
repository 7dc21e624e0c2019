"""A snapshot as metric families of the Prometheus client; docs/guide/exporter.md lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from noisetop.metrics.totals import BOUNDS_NS, Listed, Rows, Snapshot

_NOISE = ("cpu", "class", "origin", "aside")
_SOURCE = ("class", "source", "origin", "aside", "cpu")
_PAIR = ("victim", "victim_pod", "culprit", "culprit_pod")
_WAIT = ("reason", "cgroup", "pod")
_SIDE = ("cpu", "class")
_S = 1e9
_LE = (*(str(bound / _S) for bound in BOUNDS_NS), "+Inf")


def families(snapshot: Snapshot) -> Iterator[Metric]:
    """All of them; durations in seconds, to the nanosecond."""
    yield _one_counter(
        "noisetop_traced_seconds", "Time that the counters are about.", snapshot.traced_ns / _S
    )
    yield from _noise(snapshot)
    yield from _sources(snapshot)
    yield from _cgroups(snapshot)
    yield _histogram(snapshot.buckets)
    yield from _side(snapshot.side)
    yield _gauge(
        "noisetop_max_single_seconds",
        "Longest contiguous noise of the latest minute.",
        ("cpu", "window"),
        (((str(cpu), "1m"), ns / _S) for cpu, ns in sorted(snapshot.max_single_ns.items())),
    )
    yield from _bounds(snapshot)
    yield from _own(snapshot)


def _noise(snapshot: Snapshot) -> Iterator[Metric]:
    yield _seconds("noisetop_noise_seconds", "Noise, exact.", _NOISE, snapshot.noise, 0)
    if snapshot.calibrated:
        about = "Estimated cost of the noise, with entries into the kernel."
        yield _seconds("noisetop_cost_seconds", about, _NOISE, snapshot.noise, 1)


def _sources(snapshot: Snapshot) -> Iterator[Metric]:
    rows = snapshot.sources.rows
    yield _seconds("noisetop_source_seconds", "Noise by source, exact.", _SOURCE, rows, 0)
    if snapshot.calibrated:
        about = "Estimated cost of the noise by source."
        yield _seconds("noisetop_source_cost_seconds", about, _SOURCE, rows, 1)
    yield _counts("noisetop_source_interruptions", "Interruptions by source.", _SOURCE, rows, 2)


def _cgroups(snapshot: Snapshot) -> Iterator[Metric]:
    pairs, waits = snapshot.stolen.rows, snapshot.waits.rows
    about = "Noise by control group that lost it and by what caused it."
    yield _seconds("noisetop_stolen_seconds", about, _PAIR, pairs, 0)
    about = "Time that threads of a control group could have run and did not."
    yield _seconds("noisetop_wait_seconds", about, _WAIT, waits, 0)
    yield _counts("noisetop_waits", "How often they waited.", _WAIT, waits, 1)


def _side(rows: Rows) -> Iterator[Metric]:
    """Only where that was asked for."""
    if rows:
        about = "Time of page faults of the victims, and of entries into the kernel; no noise."
        yield _seconds("noisetop_side_seconds", about, _SIDE, rows, 0)
        yield _counts("noisetop_side", "How many.", _SIDE, rows, 1)


def _histogram(buckets: Mapping[str, Sequence[int]]) -> Metric:
    family = HistogramMetricFamily(
        "noisetop_interruption_seconds", "Net time of interruptions.", labels=("class",)
    )
    for name, (*counts, sum_ns) in sorted(buckets.items()):
        cumulative = map(float, accumulate(counts))
        family.add_metric((name,), list(zip(_LE, cumulative, strict=True)), sum_ns / _S)
    return family


def _bounds(snapshot: Snapshot) -> Iterator[Metric]:
    kinds: dict[str, Listed] = {
        "source": snapshot.sources, "stolen": snapshot.stolen, "wait": snapshot.waits,
    }  # fmt: skip
    yield _gauge(
        "noisetop_dropped_series",
        "What is told as other for want of a series.",
        ("kind",),
        (((kind,), listed.dropped) for kind, listed in kinds.items()),
    )
    yield _gauge(
        "noisetop_unlisted_seconds",
        "Time of series that are not listed any more.",
        ("kind",),
        (((kind,), listed.unlisted_ns / _S) for kind, listed in kinds.items()),
    )


def _own(snapshot: Snapshot) -> Iterator[Metric]:
    about = "Attempts of the kernel to stop the tick, by what came of them."
    yield _by_name("noisetop_tick_stops", about, "result", snapshot.tick_stops)
    about = "Records that got lost."
    yield _by_name("noisetop_lost_records", about, "reason", snapshot.lost)
    about = "Beginnings and ends that the kernel did not report."
    yield _by_name("noisetop_unpaired_records", about, "reason", snapshot.unpaired)
    own_s = snapshot.own_cpu_ns / _S
    yield _one_counter("noisetop_own_cpu_seconds", "CPU time of noisetop's threads.", own_s)
    if snapshot.bpf_ns is not None:
        about = "Estimated run time of its BPF programs on all CPUs."
        yield _one_counter("noisetop_bpf_seconds", about, snapshot.bpf_ns / _S)
    checks = sorted(snapshot.checks.items())
    about = "Isolation audit when the exporter started."
    yield _gauge("noisetop_check", about, ("id", "result"), ((one, 1) for one in checks))
    names, values = tuple(snapshot.info), tuple(snapshot.info.values())
    yield _gauge("noisetop_info", "About this run.", names, ((values, 1),))


def _seconds(name: str, about: str, labels: Sequence[str], rows: Rows, place: int) -> Metric:
    values = ((key, amounts[place] / _S) for key, amounts in rows)
    return _counter(name, about, labels, values)


def _counts(name: str, about: str, labels: Sequence[str], rows: Rows, place: int) -> Metric:
    return _counter(name, about, labels, ((key, amounts[place]) for key, amounts in rows))


def _counter(
    name: str, about: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]
) -> Metric:
    """An empty label is none to Prometheus, and is left out."""
    family = CounterMetricFamily(name, about, labels=labels)
    for key, value in values:
        told = {label: text for label, text in zip(labels, key, strict=True) if text}
        family.add_sample(f"{name}_total", told, value)
    return family


def _one_counter(name: str, about: str, value: float) -> Metric:
    return CounterMetricFamily(name, about, value=value)


def _by_name(name: str, about: str, label: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, about, labels=(label,))
    for key, count in sorted(counts.items()):
        family.add_metric((key,), count)
    return family


def _gauge(
    name: str, about: str, labels: Sequence[str], rows: Iterable[tuple[Sequence[str], float]]
) -> Metric:
    family = GaugeMetricFamily(name, about, labels=labels)
    for key, value in rows:
        family.add_metric(key, value)
    return family
