"""What the real programs of the bench print, and what a tracer takes from them."""

from __future__ import annotations

import numpy as np
import pytest

from bench.parts.real_programs import REDIS, longer, lost, result_of
from bench.rounds import Rounds, Turn
from bench.tools import Seen
from bench.tools.noisetop import RECORD, Record
from bench.workloads import Work, all_workloads, messaging, nginx, postgres, redis


def test_redis_benchmark_prints_rate_and_percentiles() -> None:
    text = (
        '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms",'
        '"p99_latency_ms","max_latency_ms"\n'
        '"GET","46000.50","0.5","0.1","0.5","0.8","1.103","3.0"\n'
    )
    told = redis.parse(text)
    assert told.per_second == 46_000.5
    assert told.p99_us == pytest.approx(1_103)


def test_ab_prints_rate_and_percentiles() -> None:
    text = "Requests per second:    9000.25 [#/sec] (mean)\n  98%      2\n  99%      3\n 100%  9\n"
    assert nginx.parse(text) == Work(9_000.25, 3_000)
    with pytest.raises(ValueError, match="rate"):
        nginx.parse("nothing")


def test_pgbench_prints_the_rate_and_logs_each_transaction() -> None:
    log = "".join(f"0 {n} {100 + n} 0 1700000000 {n}\n" for n in range(101))
    text = "latency average = 0.4 ms\ntps = 9000.25 (without initial connection time)\n"
    assert postgres.parse(text, log) == Work(9_000.25, 199)
    with pytest.raises(ValueError, match="rate"):
        postgres.parse("nothing", log)


def test_perf_bench_prints_seconds() -> None:
    assert messaging.parse("0.250\n", loops=100) == Work(400)


def test_what_is_lost_is_against_the_periods_around() -> None:
    during, before, after = (np.array([one]) for one in (97.0, 99.0, 101.0))
    assert lost(during, before, after) == pytest.approx(0.03)
    assert longer(during, before, after) == pytest.approx(-0.03)


def test_each_program_is_told_by_its_own_rounds() -> None:
    tool, found = Record(), {REDIS: Rounds[Work](), "compile": Rounds[Work]()}
    for share in (0.98, 0.99, 0.97):
        alone, beside = Work(1_000, 100), Work(1_000 * share, 100 / share)
        found[REDIS].add(Turn(tool.name, alone, beside, alone, Seen(0)))
        found["compile"].add(Turn(tool.name, Work(4), Work(3), Work(4), Seen(0)))
    result = result_of(found, [tool])
    throughput, percentile = result.tables
    assert throughput.columns == ("tool", REDIS, "compile")
    assert throughput.rows == ((RECORD, "2.0 (1.0 to 3.0)", "25.0 (25.0 to 25.0)"),)
    assert percentile.columns == ("tool", REDIS)
    assert "3 pairs" in throughput.note
    (target,) = result.targets
    assert target.held
    assert target.estimate.value == pytest.approx(0.02)


def test_workloads_have_names_of_their_own_and_say_how_they_are_installed() -> None:
    found = all_workloads()
    assert len({one.name for one in found}) == len(found) >= 5
    assert all(one.needs and one.install for one in found)
