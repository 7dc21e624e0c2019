"""Short tasks without end, each under its own name: a live view stays as small as it is."""

from __future__ import annotations

import gc
from dataclasses import replace
from itertools import islice

from noisetop.events.interruption import OTHER, OTHER_TID, Source
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.victim_time import folded
from noisetop.summary.summarizer import Summarizer
from tests.live.made_up_tracer import CPU, RAN_NS, VICTIM, MadeUpTracer, samples

TASKS = 1_000
STAY = (Source(("thread", "daemon")), Source(("thread", "kdaemon")))
OTHERS = Source(("thread", OTHER))


def rows_of(reader: MadeUpTracer) -> dict[str, int]:
    """How much of each kind is remembered."""
    one = reader.reader
    return {
        "sources": len(one.namer.sources),
        "combinations": one.namer.name_count,
        "triggers": len(one.join.triggers),
        "tasks": one.task_names.task_count,
        "victims": len(one.victims.living),
    }


def test_what_is_remembered_and_told_does_not_grow_with_the_tasks() -> None:
    tracer = MadeUpTracer(TASKS)
    most: dict[str, int] = {}
    objects = []
    for turn, (sample, _) in enumerate(islice(samples(tracer), 20)):
        [total], [interval] = sample.total.cpus, sample.interval.cpus
        told = {
            "told sources": max(len(total.sources), len(interval.sources)),
            "told victims": max(len(sample.total.victims), len(sample.interval.victims)),
            "told waits": max(len(sample.total.waits), len(sample.interval.waits)),
            "told triggers": max(len(one.triggers) for one in total.sources),
            "told tasks": max(len(one.tasks) for one in (*total.sources, *interval.sources)),
        }
        for name, count in {**told, **rows_of(tracer)}.items():
            most[name] = max(most.get(name, 0), count)
        if turn % 5 == 4:
            del sample, total, interval
            gc.collect()
            objects.append(len(gc.get_objects()))
    assert most["told sources"] <= 1_300
    assert max(most["told victims"], most["told waits"]) <= 200
    assert most["told triggers"] <= 65
    assert most["told tasks"] <= 257
    assert most["sources"] <= 1_300
    assert max(most["combinations"], most["triggers"], most["tasks"]) <= 8_192 + TASKS + 10
    assert most["victims"] <= 5
    assert max(objects[1:]) <= 1.3 * min(objects[1:])


def test_no_sum_changes_and_what_stays_keeps_its_name() -> None:
    seconds = 12
    for sample, _ in islice(samples(MadeUpTracer(TASKS)), seconds):
        [interval] = sample.interval.cpus
        # What ended last may wait for who caused it.
        assert abs(interval.count - TASKS - 2) <= TASKS
    [total] = sample.total.cpus
    by_source = {one.source: one for one in total.sources}
    for source in STAY:
        assert by_source[source].count == by_source[source].net_ns // RAN_NS == seconds
    ran = sum(one.count for one in total.sources) - 2 * seconds
    assert by_source[OTHERS].count > 0.8 * ran
    assert total.noise_ns == total.count * RAN_NS
    victims = {one.time.tid: one.time for one in sample.total.victims}
    assert all(one.adds_up() for one in victims.values())
    assert victims[OTHER_TID].wall_ns > 0
    assert victims[VICTIM].contention_ns > 0


def test_live_equals_recorded_but_for_names() -> None:
    seconds, live, recorded = 9, MadeUpTracer(TASKS), MadeUpTracer(TASKS)
    *_, (sample, _) = islice(samples(live), seconds)
    reader = recorded.reader
    directory = TaskDirectory(reader.tasks, reader.task_names.infos)
    whole = Summarizer((CPU,), reader.namer.sources, reader.join.triggers, directory)
    for second in range(seconds):
        whole.add(reader.read(recorded.records(), last=second == seconds - 1))
    victims = folded(reader.victims.close(recorded.complete_ns), {VICTIM})
    summary = whole.summary(recorded.start_ns, recorded.complete_ns)
    [told], [expected] = sample.total.cpus, summary.cpus
    assert len(expected.sources) > TASKS * seconds
    assert (told.noise_ns, told.count) == (expected.noise_ns, expected.count)
    assert (told.by_class(), told.by_origin) == (expected.by_class(), expected.by_origin)
    assert told.max_single_ns == expected.max_single_ns
    live_victims = folded({one.time.tid: one.time for one in sample.total.victims}, {VICTIM})
    for tid, one in victims.items():
        assert replace(live_victims[tid], contention={}) == replace(one, contention={})
        assert live_victims[tid].contention_ns == one.contention_ns
