from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.losses import Losses
from noisetop.events.interruption import Interruptions
from noisetop.events.trigger import Trigger
from noisetop.summary.summarizer import Summarizer
from noisetop.summary.summary import ClassTotal, Summary
from noisetop.tables.histogram import BUCKETS, bucket_of
from tests.recordings import SOURCES, START_NS, TRIGGERS, interruption, nested_tables, table


def summary_of(*tables: Interruptions, cpus: tuple[int, ...] = (2, 3)) -> Summary:
    summarizer = Summarizer(cpus, SOURCES, TRIGGERS)
    for one in tables:
        summarizer.add(one)
    return summarizer.summary(START_NS, START_NS + 1_000_000)


@given(nested_tables())
def test_each_figure_is_what_a_loop_over_the_rows_gives(rows: Interruptions) -> None:
    groups: dict[tuple[int, int], list[np.void]] = defaultdict(list)
    for row in rows:
        groups[int(row["cpu"]), int(row["source"])].append(row)
    summary = summary_of(rows)
    found = {
        (cpu.cpu, SOURCES.index(one.source)): one for cpu in summary.cpus for one in cpu.sources
    }
    assert found.keys() == groups.keys()
    for key, group in groups.items():
        noise = [row for row in group if row["victim_tid"]]
        idle = [row for row in group if not row["victim_tid"]]
        one = found[key]
        nets = [int(row["net_ns"]) for row in noise]
        assert (one.count, one.net_ns) == (len(noise), sum(nets))
        assert (one.idle_count, one.idle_ns) == (len(idle), sum(int(r["net_ns"]) for r in idle))
        assert one.max_ns == max(nets, default=0)
        starts = [int(row["start_ns"]) for row in noise if row["net_ns"] == one.max_ns]
        assert one.max_start_ns == min(starts, default=0)
        buckets = bucket_of(np.array(nets, np.uint64))
        by_trigger: dict[Trigger, list[int]] = defaultdict(list)
        for row in noise:
            by_trigger[TRIGGERS[row["trigger"]]._replace(stack=-1)].append(int(row["net_ns"]))
        assert {part.trigger: (part.count, part.net_ns, part.max_ns) for part in one.triggers} == {
            trigger: (len(parts), sum(parts), max(parts)) for trigger, parts in by_trigger.items()
        }
        assert one.histogram.tolist() == np.bincount(buckets, minlength=BUCKETS).tolist()


@given(nested_tables(), st.lists(st.integers(0, 60), max_size=5))
def test_live_equals_recorded_however_batches_are_cut(rows: Interruptions, cuts: list[int]) -> None:
    assert summary_of(rows) == summary_of(*np.split(rows, sorted(cuts)))


@given(nested_tables())
def test_the_sum_over_cpus_adds_up(rows: Interruptions) -> None:
    summary = summary_of(rows)
    together = summary.all_cpus()
    assert together.noise_ns == summary.noise_ns == sum(one.net_ns for one in together.sources)
    assert together.count == sum(cpu.count for cpu in summary.cpus)
    assert together.max_single_ns == max(cpu.max_single_ns for cpu in summary.cpus)
    for one in together.sources:
        assert sum(part.net_ns for part in one.triggers) == one.net_ns
        assert sum(part.count for part in one.triggers) == one.count
    for noise_class, total in together.by_class().items():
        parts = [cpu.by_class().get(noise_class, ClassTotal(0, 0)) for cpu in summary.cpus]
        assert total == ClassTotal(sum(p.count for p in parts), sum(p.net_ns for p in parts))


@given(nested_tables())
def test_no_noise_is_longer_than_its_stretch_or_the_sum_of_all(rows: Interruptions) -> None:
    for cpu in summary_of(rows).cpus:
        assert cpu.max_single_ns <= cpu.noise_ns
        assert cpu.max_single_ns >= max((one.max_ns for one in cpu.sources), default=0)


def test_what_is_delivered_late_counts_into_its_stretch() -> None:
    """An interruption that began while another was being written comes after it."""
    in_order = [interruption(0, 500), interruption(600, 300), interruption(1_000, 400)]
    first, second, third = in_order
    assert summary_of(table(first, third), table(second)) == summary_of(table(*in_order))


def test_a_watched_cpu_without_events_is_there() -> None:
    summary = summary_of(table(interruption(0, 10, cpu=2)))
    assert [(cpu.cpu, cpu.noise_ns, cpu.max_single_ns) for cpu in summary.cpus] == [
        (2, 10, 10),
        (3, 0, 0),
    ]


def test_nothing_at_all() -> None:
    summary = summary_of(table(), cpus=())
    assert summary.cpus == ()
    assert summary.all_cpus().sources == ()
    assert summary.all_cpus().max_single_ns == 0


def test_idle_time_is_no_noise() -> None:
    cpu = summary_of(table(interruption(0, 10, victim=0), interruption(20, 5))).cpus[0]
    assert (cpu.noise_ns, cpu.idle_ns, cpu.max_single_ns, cpu.count) == (5, 10, 5, 1)


def test_losses_are_told_apart_from_unpaired_ends() -> None:
    losses = Losses({2: {"ring_full": 3, "nesting": 1, "unbalanced": 5}}, 10, 20, 30)
    assert losses.total == 64
    assert losses.unpaired == 5
