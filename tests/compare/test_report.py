"""A comparison as text and JSON, and through the command line."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisetop.cli import run
from noisetop.compare import comparison
from noisetop.compare.comparison import compare
from noisetop.compare.report import comparison_as_dict, comparison_lines
from noisetop.compare.sample import sample_of_result
from noisetop.compare.stability import stability_lines
from noisetop.counters.losses import LOSSES, Losses
from noisetop.errors import NoisetopError, UsageError
from noisetop.text.layout import ANY_WIDTH
from tests.compare.samples import recording, sample
from tests.gaps.results import EVIL, numa_result, spin_result, write_result
from tests.recordings import DATA


def test_no_change_is_an_answer() -> None:
    one = sample(recording(10, seed=3))
    text = "\n".join(comparison_lines(compare(one, one), 3))
    assert "No significant change (family-wise error rate 1 %)." in text
    assert "2 more sources without a significant change" in text


def test_a_change_is_told_with_its_interval_and_both_histograms() -> None:
    pair = sample(recording(20, seed=1), "one"), sample(recording(20, seed=2, longer=1.5), "two")
    lines = list(comparison_lines(compare(*pair), 3))
    [row] = [line for line in lines if line.startswith("MORE time") and "tick" in line]
    assert "1.5" in row
    assert "+2" in row
    text = "\n".join(lines)
    assert "Single interruptions" in text
    assert "sd " in text
    assert "median " in text


@pytest.mark.parametrize("width", [80, 200, ANY_WIDTH])
@pytest.mark.parametrize("longer", [1.5, 15_000.0])
def test_columns_do_not_touch(width: int, longer: float) -> None:
    one = sample(recording(10, seed=1), "one")
    other = sample(recording(10, seed=2, longer=longer), "two")
    lines = list(comparison_lines(compare(one, other, permutations=500), 3, width))
    assert max(map(len, lines)) <= width
    header = next(line for line in lines if "time/s A" in line)
    names = ["time/s A", "time/s B", "B/A", "change, 95 % interval", "rate/s A", "rate/s B", "B/A"]
    assert [name for name in re.split(" {2,}", header.strip()) if name in names] == names
    rows = [re.split(" {2,}", line.strip()) for line in lines if " .. " in line]
    assert {len(row) for row in rows} <= ({7} if width == 80 else {8, 9})


def test_long_names_stand_above_their_figures() -> None:
    one, other = sample(recording(10, seed=3)), sample(recording(10, seed=4, longer=2))
    for each in (one, other):
        each.labels = tuple(f"thread › {label} › {'x' * 60}" for label in each.labels)
    lines = list(comparison_lines(compare(one, other), 9, 80))
    at = next(i for i, line in enumerate(lines) if line.startswith("MORE time: thread › "))
    assert lines[at + 1].startswith("  ")
    assert " .. " in lines[at + 1]


def test_a_run_of_empty_rows_is_one_line() -> None:
    one = sample(recording(10, seed=3))
    one.all_durations.histogram[-1] += 1
    lines = list(comparison_lines(compare(one, one, permutations=500), 9))
    assert [line for line in lines if re.fullmatch(r"  \(\d+ empty rows\)", line)]
    assert not [line for line in lines if re.fullmatch(r"  from .{8} +0 +0", line)]


def test_json_holds_what_the_text_tells() -> None:
    pair = sample(recording(20, seed=1)), sample(recording(20, seed=2, longer=1.5))
    told = json.loads(json.dumps(comparison_as_dict(compare(*pair))))
    assert "timer › local_timer › tick_nohz_handler" in told["changed"]
    assert {"a", "b", "low", "high", "p", "significant"} <= set(told["total"]["time_ns_per_s"])
    assert sum(told["histograms"]["a"].values()) == int(pair[0].total_counts.sum())


def test_what_was_lost_stands_beside_the_totals() -> None:
    whole, cut = recording(10, seed=3), recording(10, seed=3)
    cut.counters = cut.counters.with_value(LOSSES, Losses({1: {"ring_full": 7}}))
    cut.damage = "it was cut short"
    comparison = compare(sample(whole, "one"), sample(cut, "two"))
    first, second, *_ = comparison_lines(comparison, 3)
    assert first.endswith("on 1 CPU, lost 0")
    assert "LOST 7 events" in second
    assert second.endswith("it was cut short")
    told = comparison_as_dict(comparison)
    assert told["lost"] == {"a": 0, "b": 7}


def test_names_command_no_terminal() -> None:
    one = sample(recording(10, seed=3), EVIL)
    one.labels = (EVIL, *one.labels[1:])
    for line in comparison_lines(compare(one, one), 9):
        assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cf")]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([100.0] * 20, ["The noise seems to be stable"]),
        ([100.0] * 19 + [400.0], ["WARNING", "the standard deviation", "the maximum"]),
        ([100.0] * 19 + [10.0], ["WARNING", "the standard deviation", "the minimum"]),
        ([0.0] * 20, ["The noise seems to be stable"]),
        ([0.0] + [100.0] * 119, ["The noise seems to be stable"]),
    ],
)
def test_stability_is_worded_as_pyperf_does(values: list[float], words: list[str]) -> None:
    one = replace(sample(recording(10, seed=3)), total_ns=np.array(values))
    text = "\n".join(stability_lines(one))
    for word in words:
        assert word in text


def test_a_probe_result_is_a_sample() -> None:
    one = sample_of_result("x", spin_result())
    assert one.labels == ("timer › local_timer",)
    assert one.total_ns.sum() == 20 * 500
    assert not compare(one, one).changed


def test_only_spin_results_are_compared() -> None:
    with pytest.raises(NoisetopError, match="compare takes those of spin"):
        sample_of_result("x", numa_result())


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.json", tmp_path / "b.json"
    for path in (a, b):
        write_result(spin_result(), path)
    assert run(["compare", str(a), str(b)]) == 0
    assert "No significant change" in capsys.readouterr().out
    assert run(["compare", str(a), str(b), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == []


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    result, absent = tmp_path / "a.json", tmp_path / "absent"
    write_result(spin_result(), result)
    other = tmp_path / "b.json"
    write_result(numa_result(), other)
    for second in (absent, other):
        with pytest.raises(UsageError, match="different kinds"):
            run(["compare", str(result), str(second)])
    with pytest.raises(NoisetopError, match="there is no file"):
        run(["compare", str(absent), str(absent)])
    for alpha in ("2", "1e-300", "nan"):
        with pytest.raises(UsageError, match="--alpha"):
            run(["compare", str(result), str(result), "--alpha", alpha])


def test_limits_are_on_the_second(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(comparison, "PERMUTATIONS", 500)  # no limit depends on them
    quiet, noisy = str(DATA / "quiet.noisetop"), str(DATA / "noisy.noisetop")
    assert run(["compare", quiet, noisy, "--json", "--fail-on", "noise>20%"]) == 3
    captured = capsys.readouterr()
    (limit,) = json.loads(captured.out)["limits"]
    assert limit["exceeded"]
    (line,) = captured.err.splitlines()
    assert line.startswith("noisetop: limit noise>20% exceeded: ")
    assert run(["compare", noisy, quiet, "--json", "--fail-on", "noise>20%"]) == 0
    assert json.loads(capsys.readouterr().out)["limits"][0]["value"] < 20
