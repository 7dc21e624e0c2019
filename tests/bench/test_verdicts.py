"""What the commands that measure conclude."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from bench import exporter_memory, exporter_scrapes, fleet, parquet
from bench.exporter_scrapes import Scraped
from bench.made_up_recording import Size, write_made_up
from bench.run_once import RunOnce
from bench.verdict import Limit, conclude
from noisetop.exporters import recording_output
from noisetop.recording.open import open_recording
from tests.in_process import run_in_process


def test_a_limit_is_held_or_not() -> None:
    assert Limit("a", 1, 1).held
    assert not Limit("a", 1.01, 1).held
    assert not Limit("a", math.nan, 1).held
    assert Limit("a", 2, 1, "s").line() == "NOT HELD: a 2 s, at most 1 s"
    assert conclude([Limit("a", 1, 1)]) == 0
    assert conclude([Limit("a", 1, 1), Limit("b", 2, 1)]) == 1
    assert conclude([]) == 1


def held(limits: list[Limit]) -> list[bool]:
    return [one.held for one in limits]


def test_memory_that_grows_is_told() -> None:
    flat = [90.0] * 10 + [120.0] * 10 + [121.0] * 10
    grows = [90.0] * 10 + [120.0] * 10 + [130.0] * 10
    assert held(exporter_memory.limits_of(flat, 130)) == [True, True]
    assert held(exporter_memory.limits_of(grows, 600)) == [False, False]
    assert held(exporter_memory.limits_of([1.0], 1)) == [False, True]  # too short to tell


def scrape_of(took_ms: float, period: int, value: int) -> Scraped:
    return Scraped(took_ms, f"noisetop_traced_seconds_total {period}\nother {value}\n")


def test_scrapes_that_are_slow_or_differ_are_told() -> None:
    same = (scrape_of(9, 1, 5), scrape_of(8, 1, 5))
    later = (scrape_of(9, 1, 5), scrape_of(60, 2, 6))
    differ = (scrape_of(9, 3, 5), scrape_of(8, 3, 6))
    assert held(exporter_scrapes.limits_of([same, same])) == [True, True, True]
    assert held(exporter_scrapes.limits_of([same, later])) == [False, True, True]
    assert held(exporter_scrapes.limits_of([same, differ])) == [True, True, False]
    assert held(exporter_scrapes.limits_of([later]))[2] is False  # none to compare


@pytest.mark.parametrize(("largest_s", "is_linear"), [(4.0, True), (7.0, False)])
def test_time_that_grows_faster_than_rows_is_told(largest_s: float, is_linear: bool) -> None:
    planted = [
        {"host": f"node-{number}", "source": name} for number, (_, name) in fleet.FAULTS.items()
    ]
    answer = {"groups": [{"outliers": planted}]}
    sizes = [
        fleet.Asked(rows, RunOnce(seconds, 2**30), answer)
        for rows, seconds in ((10, 1.0), (20, 2.0), (40, largest_s))
    ]
    limits = fleet.limits_of("outliers", sizes)
    assert held(limits) == [True, True, is_linear, True]
    planted.pop()
    assert not fleet.limits_of("outliers", sizes)[3].held


def test_answers_about_cohorts_are_checked() -> None:
    assert fleet.wrong_answers("cohorts", {"changed": [fleet.TICK, "total"]}) == 0
    assert fleet.wrong_answers("cohorts", {"changed": ["softirq › RCU", "total"]}) == 2


def test_sums_of_a_table_are_those_of_the_report(tmp_path: Path) -> None:
    path, table, said = tmp_path / "a.noisetop", tmp_path / "a.parquet", tmp_path / "said"
    write_made_up(path, Size(records=20_000))
    recording_output(table, force=False, table=None).write(open_recording(path))
    said.write_text(run_in_process("report", path, "--json").stdout)
    found = parquet.sums_of_table(table)
    assert found == parquet.sums_of_report(said)
    assert len(found) > 20
