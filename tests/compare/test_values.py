"""Results of probe switch and numa: nothing is found where nothing changed, changes are named."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisetop.cli import run
from noisetop.compare.values import (
    GB_PER_S,
    NS,
    Measured,
    ValueComparison,
    Values,
    compare_values,
    measured_of_result,
)
from noisetop.compare.values_report import value_lines, values_as_dict
from noisetop.errors import NoisetopError
from noisetop.gaps.result import ProbeResult
from tests.gaps.results import EVIL, numa_result, spin_result, switch_result, write_result

ENOUGH = 800
"""Permutations: twice as many as two tests at 1 % need, as 60 comparisons in a test have to end."""
SLICE, SWITCH = "time slice", "switch from one to the next"


def switched(seed: int, *, longer: float = 1.0, count: int = 400) -> Measured:
    """Slices around 4 ms and switches with a long tail."""
    rng = np.random.default_rng(seed)
    slices = 4e6 * longer * np.exp(rng.normal(0, 0.05, count))
    switches = 2_000 * np.exp(rng.normal(0, 0.5, count))
    return Measured("x", "switch", {SLICE: Values(NS, slices), SWITCH: Values(NS, switches)})


def changed(comparison: ValueComparison) -> set[str]:
    return {row.label for row in comparison.rows if row.changed}


def split(whole: Measured, chosen: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Measured:
    halves = {k: Values(one.unit, one.values[chosen]) for k, one in whole.by_label.items()}
    return replace(whole, by_label=halves)


def test_two_halves_of_one_run_differ_in_nothing(thorough: bool) -> None:
    """3 draws of 60 at most may differ with --thorough, else none of 20."""
    whole = switched(1, count=200)
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(60 if thorough else 20):
        chosen = np.zeros(200, bool)
        chosen[rng.permutation(200)[:100]] = True
        one, other = split(whole, chosen), split(whole, ~chosen)
        found += bool(changed(compare_values(one, other, permutations=ENOUGH)))
    assert found <= (3 if thorough else 0)


def test_slices_that_are_two_percent_longer_are_named() -> None:
    comparison = compare_values(switched(1), switched(2, longer=1.02))
    assert changed(comparison) == {SLICE}
    row = comparison.rows[0]
    assert row.mean.ratio == pytest.approx(1.02, abs=0.01)
    assert 0 < row.mean.low < row.mean.b - row.mean.a < row.mean.high


def test_bandwidth_that_falls_by_two_percent_is_named() -> None:
    rng = np.random.default_rng(3)
    one, other = (
        Measured("x", "numa", {"copy": Values(GB_PER_S, mean * rng.normal(1, 0.005, 10))})
        for mean in (20.0, 19.6)
    )
    comparison = compare_values(one, other)
    assert changed(comparison) == {"copy"}
    text = "\n".join(value_lines(comparison))
    assert "LESS" in text
    assert "GB/s" in text


@pytest.mark.parametrize("width", [80, 200])
def test_columns_do_not_touch(width: int) -> None:
    rng = np.random.default_rng(3)
    one, other = (
        Measured("x", "numa", {"x" * 50: Values(NS, mean * rng.normal(1, 0.4, 20))})
        for mean in (-9.0e11, 9.0e13)
    )
    lines = list(value_lines(compare_values(one, other), width))
    [row] = [line for line in lines if " .. " in line]
    assert len(re.split(r" {2,}", row.strip())) in (4, 6)
    assert max(map(len, lines)) <= max(width, 120)


def test_few_measurements_tell_nothing() -> None:
    one, other = measured_of_result("a", numa_result()), measured_of_result("b", numa_result())
    comparison = compare_values(one, other)
    assert len(comparison.rows) == 4 * 3
    assert not any(row.tested or row.changed for row in comparison.rows)
    assert "too few" in "\n".join(value_lines(comparison))


def test_what_only_one_measured_is_told() -> None:
    one, other = measured_of_result("a", numa_result(2)), measured_of_result("b", numa_result(1))
    comparison = compare_values(one, other)
    assert len(comparison.rows) == 3
    assert "in one of them only: copy, CPU node 1, memory 0" in "\n".join(value_lines(comparison))


def test_slices_are_those_between_the_ends_of_the_run() -> None:
    rows = [[0, 0, 9], [1, 10, 40], [0, 45, 70], [1, 71, 72]]
    switch = switch_result().switch
    assert switch
    result = replace(switch_result(), switch=replace(switch, timeline=rows))
    found = measured_of_result("x", result).by_label
    assert found[SLICE].values.tolist() == [30, 25]
    assert found[SWITCH].values.tolist() == [1, 5, 1]


def test_both_histograms_lie_on_the_same_bins() -> None:
    told = json.loads(
        json.dumps(values_as_dict(compare_values(switched(1), switched(2), permutations=ENOUGH)))
    )
    for row in told["measured"]:
        edges, a, b = (row["histogram"][key] for key in ("edges", "a", "b"))
        assert len(a) == len(b) == len(edges) - 1
        assert sum(a) == sum(b) == 400


def test_stability_is_told_by_what_was_measured() -> None:
    steady = Measured("x", "numa", {"copy": Values(GB_PER_S, np.full(10, 20.0))})
    text = "\n".join(value_lines(compare_values(steady, steady)))
    assert "x: The measurement seems to be stable" in text
    text = "\n".join(value_lines(compare_values(switched(1), switched(2), permutations=ENOUGH)))
    assert f"* {SWITCH}: the standard deviation" in text


def test_names_command_no_terminal() -> None:
    one = replace(switched(1), name=EVIL, by_label={EVIL: Values(NS, np.arange(1.0, 9.0))})
    for line in value_lines(compare_values(one, one)):
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf")]


@pytest.mark.parametrize("result", [switch_result(), numa_result()], ids=lambda r: r.kind)
def test_the_command(
    result: ProbeResult, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.json"
    write_result(result, path)
    assert run(["compare", str(path), str(path)]) == 0
    assert "No significant change" in capsys.readouterr().out
    assert run(["compare", str(path), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []


def test_a_spin_result_has_no_single_values() -> None:
    with pytest.raises(NoisetopError):
        measured_of_result("x", spin_result())
