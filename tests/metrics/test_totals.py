"""What is exported is what top tells of the same periods, to the nanosecond."""

from __future__ import annotations

import time
from collections import Counter

import numpy as np
import pytest
from prometheus_client import generate_latest

from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import Trigger
from noisetop.live.sample import Sample
from noisetop.metrics.run import Exported
from noisetop.metrics.stolen import StolenTime
from noisetop.metrics.totals import BOUNDS_NS, MetricTotals
from tests.live.made_up_tracer import CPU, RAN_NS, MadeUpTracer
from tests.metrics.json_sums import Labels, by_cpu, by_source, waits
from tests.metrics.made_up import NS, Scrape, TracerOfCgroups, exported, published
from tests.recordings import SOURCES, interruption, table

SECONDS, TASKS = 8, 600
SERIES = 2_000
KINDS = (("source", "source"), ("stolen", "stolen"))


def told(scrape: Scrape, name: str, *, scale: int = NS) -> Counter[Labels]:
    return Counter({key: round(value * scale) for key, value in scrape.rows(name).items()})


def by(label: str, counts: Counter[Labels]) -> Counter[str]:
    found = Counter[str]()
    for key, count in counts.items():
        found[dict(key).get(label, "")] += count
    return found


def test_series_are_the_sums_of_top_json() -> None:
    one = exported(MadeUpTracer(5))
    samples = [one.next() for _ in range(SECONDS)]
    scrape = Scrape.of(published(one).registry)
    net, cost, count = by_source(samples)
    assert told(scrape, "noisetop_source_seconds_total") == +net
    assert told(scrape, "noisetop_source_interruptions_total", scale=1) == +count
    assert by("cpu", told(scrape, "noisetop_noise_seconds_total")) == by_cpu(samples)
    assert by("reason", told(scrape, "noisetop_wait_seconds_total")) == waits(samples)
    assert sum(cost.values()) == sum(net.values())  # nothing is calibrated here
    assert not scrape.rows("noisetop_cost_seconds_total")


def test_rates_are_the_deltas_of_top_json() -> None:
    """Of each period by itself, also while what is told as other changes."""
    one = exported(TracerOfCgroups(TASKS))
    before = Scrape.of(published(one).registry)
    for _ in range(SECONDS):
        sample = one.next()
        after = Scrape.of(published(one).registry)
        net, _, count = by_source([sample])
        assert grown(before, after, "noisetop_source_seconds_total") == sum(net.values())
        assert grown(before, after, "noisetop_noise_seconds_total") == sum(net.values())
        assert grown(before, after, "noisetop_stolen_seconds_total") == sum(net.values())
        assert grown(before, after, "noisetop_wait_seconds_total") == waits([sample]).total()
        many = grown(before, after, "noisetop_interruption_seconds_count", scale=1)
        assert many == count.total()
        assert grown(before, after, "noisetop_interruption_seconds_sum") == net.total()
        assert grown(before, after, "noisetop_traced_seconds_total") == sample.interval.duration_ns
        before = after


def grown(before: Scrape, after: Scrape, name: str, *, scale: int = NS) -> int:
    """By how much all series of a metric grew; no one decreases."""
    then, now = told(before, name, scale=scale), told(after, name, scale=scale)
    assert all(now[key] >= value for key, value in then.items() if key in now)
    return now.total() - sum(value for key, value in then.items() if key in now)


@pytest.fixture(scope="module")
def crowded() -> tuple[Exported, list[Sample]]:
    """Ten thousand tasks in each of two seconds, each with a name and a control group of its
    own."""
    one = exported(TracerOfCgroups(10_000))
    return one, [one.next() for _ in range(2)]


def test_ten_thousand_sources_and_control_groups_stay_in_bounds(
    crowded: tuple[Exported, list[Sample]],
) -> None:
    one, samples = crowded
    scrape = Scrape.of(published(one).registry)
    assert len(scrape.values) < SERIES
    noise_ns = sum(sample.interval.noise_ns for sample in samples)
    assert noise_ns >= 20_000 * RAN_NS
    for name, kind in KINDS:
        gone_ns = round(scrape.value("noisetop_unlisted_seconds", kind=kind) * NS)
        assert scrape.sum_ns(f"noisetop_{name}_seconds_total") + gone_ns == noise_ns
        assert scrape.value("noisetop_dropped_series", kind=kind) > 50
    assert scrape.sum_ns("noisetop_noise_seconds_total") == noise_ns
    pairs = scrape.rows("noisetop_stolen_seconds_total")
    assert len([key for key in pairs if ("victim", "other") in key]) == 1
    assert max(map(len, dict(next(iter(pairs))).values())) < 200


def test_a_scrape_of_as_many_series_as_there_may_be_is_quick(
    crowded: tuple[Exported, list[Sample]],
) -> None:
    """The shortest of several: others use this machine as well."""
    registry = published(crowded[0]).registry
    took = []
    for _ in range(9):
        start = time.perf_counter()
        generate_latest(registry)
        took.append(time.perf_counter() - start)
    assert min(took) < 0.05


def test_scrapers_change_nothing() -> None:
    one = exported(MadeUpTracer(5))
    one.next()
    both = published(one)
    assert Scrape.of(both.registry).text == Scrape.of(both.registry).text


def test_buckets_hold_what_is_at_most_as_long() -> None:
    one = exported(MadeUpTracer(5))
    one.next()
    scrape = Scrape.of(published(one).registry)
    at_most = scrape.rows("noisetop_interruption_seconds_bucket")
    ran = {
        dict(key)["le"]: value for key, value in at_most.items() if dict(key)["class"] == "thread"
    }
    bounds = [float(le) * NS for le in ran]
    expected = [7 if bound >= RAN_NS else 0 for bound in bounds]
    assert list(ran.values()) == expected
    assert np.allclose(bounds[:-1], BOUNDS_NS)


def test_an_interruption_is_in_the_bucket_of_its_length() -> None:
    """As long as each bound, and a nanosecond longer; beyond the last one as well."""
    lengths = [ns for bound in BOUNDS_NS for ns in (bound, bound + 1)]
    rows = table(*(interruption(number, ns) for number, ns in enumerate(lengths)))
    totals, nobody = MetricTotals((2,)), TaskDirectory({}, {})
    totals.add_tables(rows[:0], rows, StolenTime(SOURCES, [Trigger()], nobody), SOURCES)
    (counts,) = totals.snapshot().buckets.values()
    assert counts[:-1] == (1, *[2] * (len(BOUNDS_NS) - 1), 1)


def test_the_longest_interval_is_that_of_the_latest_minute() -> None:
    one = exported(MadeUpTracer(5))
    for _ in range(90):
        one.next()
    scrape = Scrape.of(published(one).registry)
    longest_ns = scrape.value("noisetop_max_single_seconds", cpu=str(CPU), window="1m") * NS
    assert round(longest_ns) == RAN_NS
