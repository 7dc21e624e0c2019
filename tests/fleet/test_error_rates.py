"""How often a fleet without a fault has a finding: no more often than the rate that is stated."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import TypeVar

import numpy as np
import pytest

from noisetop.compare.statistics import permutation_p
from noisetop.fleet.cohorts import compare_cohorts
from noisetop.fleet.options import ALPHA
from noisetop.fleet.outliers import outliers
from noisetop.fleet.rates import Numbers, Rates, Table
from noisetop.fleet.trend import trends
from tests.fleet.drawn_hosts import block_sums, choices, drawn
from tests.fleet.fleets import block_count, host, rates_and_squares

BLOCKS = 20
TICK = "timer › local_timer › tick_nohz_handler"
FAULTS = {17: "irq › bad-nic.*", 256: "softirq › BAD", 801: "thread › bad-daemon"}
"""Source by host."""
COUNT, NET_NS = 200, 30_000
SURE = 1e-4
"""Chance of a failure of these tests where the rates are what they should be."""


K = TypeVar("K", bound=Hashable)


def most_of(draws: int, rate: float) -> int:
    """So many of the draws are the most that chance allows."""
    chance, count = (1 - rate) ** draws, 0
    while 1 - chance > SURE:
        count += 1
        chance += math.comb(draws, count) * rate**count * (1 - rate) ** (draws - count)
    return count


def with_units(of: Rates[int], units: list[K], rows: Numbers | None = None) -> Rates[K]:
    """The same hosts, or some of them, under other names."""
    some = of if rows is None else of.only(rows.tolist())
    return Rates(units, some.wall_ns, some.sources, some.count, some.net_ns, some.max_ns)


def test_hosts_that_are_drawn_have_the_sums_of_recordings() -> None:
    blocks = choices(range(5), BLOCKS)
    made = [(number, host(0, taken=row)) for number, row in enumerate(blocks)]
    expected, squares = rates_and_squares(made)
    found, found_squares = drawn(blocks)
    assert found.sources == expected.sources
    for name in ("wall_ns", "count", "net_ns", "max_ns"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_allclose(found_squares, squares)


@pytest.mark.parametrize("hosts", [16, 40])
def test_cohorts_without_a_difference(hosts: int, thorough: bool) -> None:
    """Hosts are dealt out to two cohorts by chance. Without Holm's correction there would be far
    more findings than that, which this test would notice."""
    draws, alpha = 2000 if thorough else 60, 0.05
    pool, _ = drawn(choices(range(400), BLOCKS))
    rng = np.random.default_rng(19)
    false = uncorrected = 0
    for _ in range(draws):
        rows = rng.permutation(len(pool.units))[:hosts]
        some = with_units(pool, [(at < hosts // 2, str(at)) for at in range(hosts)], rows)
        false += bool(compare_cohorts(some, alpha, permutations=2000).changed)
        in_b = np.arange(hosts) < hosts // 2
        p = permutation_p(some.per_s[~in_b], some.per_s[in_b], 500)
        uncorrected += bool(p.min() <= alpha)
    print(f"{false} of {draws} with a false finding at {alpha}; uncorrected {uncorrected}")
    assert false <= most_of(draws, alpha)
    assert uncorrected > most_of(draws, alpha)


def test_fleets_without_an_outlier(thorough: bool) -> None:
    """Of a thousand hosts each."""
    draws = 400 if thorough else 20
    false = 0
    for draw in range(draws):
        table, squares = drawn(choices(range(1000 * draw, 1000 * (draw + 1)), BLOCKS))
        false += bool(outliers(with_units(table, [*map(str, table.units)]), squares, ALPHA))
    print(f"{false} of {draws} with a false finding at {ALPHA}")
    assert false <= most_of(draws, ALPHA)


def test_days_without_a_change(thorough: bool) -> None:
    """Six hosts on six days each."""
    draws, alpha, hosts, days = 1000 if thorough else 30, 0.05, 6, 6
    units = [(f"2026-11-{day + 1:02}", f"node-{n}") for n in range(hosts) for day in range(days)]
    false = 0
    for draw in range(draws):
        table, _ = drawn(choices(range(draw * len(units), (draw + 1) * len(units)), BLOCKS))
        false += any(one.significant for one in trends(with_units(table, units), alpha))
    print(f"{false} of {draws} with a false finding at {alpha}")
    assert false <= most_of(draws, alpha)


def planted(draw: int, hosts: int) -> tuple[Rates[int], Table]:
    """Hosts of which three have a fault, and every other one a slower tick."""
    table, squares = drawn(choices(range(hosts * draw, hosts * (draw + 1)), BLOCKS))
    net_ns = table.net_ns.copy()
    tick = table.sources.index(TICK)
    net_ns[1::2, tick] = net_ns[1::2, tick] * 3 // 2
    more = np.zeros((3, hosts, len(FAULTS)), np.int64)
    for column, number in enumerate(FAULTS):
        more[:, number % hosts, column] = COUNT, COUNT * NET_NS, NET_NS
    count, net_ns, max_ns = (
        np.concatenate([old, new], axis=1)
        for old, new in zip((table.count, net_ns, table.max_ns), more, strict=True)
    )
    sources = [*table.sources, *FAULTS.values()]
    error = np.concatenate([squares, more[0] * float(NET_NS) ** 2], axis=1)
    return Rates(table.units, table.wall_ns, sources, count, net_ns, max_ns), error


def draws_of(few: int, all_of_them: int) -> list[object]:
    rest = (pytest.param(draw, marks=pytest.mark.thorough) for draw in range(few, all_of_them))
    return [*range(few), *rest]


@pytest.mark.parametrize("draw", draws_of(1, 20))
def test_of_a_thousand_hosts_all_faults_are_named_and_nothing_else(draw: int) -> None:
    """20 draws of 20 with --thorough, else one, at the rate that commands have by default."""
    hosts = 1000
    table, squares = planted(draw, hosts)
    by_host = with_units(table, [*map(str, table.units)])
    found = {(one.host, one.source) for one in outliers(by_host, squares, ALPHA)}
    assert found == {(str(number), source) for number, source in FAULTS.items()}
    cohorts = with_units(table, [(number % 2 == 1, str(number)) for number in table.units])
    changed = {one.source for one in compare_cohorts(cohorts, ALPHA).changed}
    assert changed == {"total", TICK}


def test_the_pool_is_large_enough_to_differ() -> None:
    assert block_count("unloaded") >= 20
    assert len(set(block_sums().groups)) >= 10
