"""What becomes of results: comparison, tables, the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.__main__ import check_arguments, finite, main, parse_arguments, read_ratios
from bench.estimate import (
    Estimate,
)
from bench.machine import cpu_model, is_guest, machine_line
from bench.parts import all_parts
from bench.regression import compare
from bench.table import Table, markers_of, replace_part, with_interval
from noisetop.errors import NoisetopError, UsageError


def ratios(name: str, value: float) -> dict[str, object]:
    return {"ratios": {name: {"value": value, "low": value - 0.01, "high": value + 0.01}}}


class TestRegression:
    def test_more_than_the_tolerance_is_worse(self) -> None:
        now = {
            "a": {"value": 0.56, "low": 0.54, "high": 0.58},
            "b": {"value": 0.54, "low": 0.53, "high": 0.55},
            "c": {"value": 0.80, "low": 0.40, "high": 1.40},
            "new": {"value": 9.0, "low": 9.0, "high": 9.0},
        }
        before = {"value": 0.50, "low": 0.48, "high": 0.52}
        found = compare(dict.fromkeys(("a", "b", "c", "gone"), before), now)
        assert found.worse == ("a: 0.56 (0.54 to 0.58), was 0.50 (0.48 to 0.52)",)
        assert found.unsure == ("c: 0.80 (0.40 to 1.40), was 0.50 (0.48 to 0.52)",)
        assert found.compared == 3
        assert found.left_out == ("gone",)

    def test_a_ratio_that_is_no_ratio_is_left_out(self) -> None:
        good = {"value": 0.5, "low": 0.4, "high": 0.6}
        entries: dict[str, dict[str, float | None]] = {
            "good": {**good},
            "infinite": {**good, "high": None},
            "below": {**good, "value": -0.1},
        }
        assert finite(entries) == {"good": good}


class TestTables:
    TABLE = Table("Title", ("tool", "µs"), (("a", "1"), ("b", "2")), "A note.")

    def test_markdown(self) -> None:
        assert self.TABLE.markdown() == (
            "### Title\n\nA note.\n\n| tool | µs |\n| --- | ---: |\n| a | 1 |\n| b | 2 |\n"
        )

    def test_interval(self) -> None:
        assert with_interval(Estimate(610, 550, 700), 1000) == "0.61 (0.55 to 0.70)"
        assert with_interval(Estimate(0.04, 0.03, 0.05), 0.01, 1, "%") == "4.0 (3.0 to 5.0) %"

    def test_a_part_is_replaced_and_nothing_else(self) -> None:
        first, last = markers_of("x")
        text = f"head\n{first}\nold\n{last}\ntail\n"
        assert replace_part(text, "x", "new\n") == f"head\n{first}\n\nnew\n\n{last}\ntail\n"
        with pytest.raises(NoisetopError, match="no place"):
            replace_part(f"{first} but no end", "x", "new")

    def test_the_document_has_a_place_for_every_part(self) -> None:
        document = (Path(__file__).parents[2] / "docs" / "performance.md").read_text()
        for part in all_parts():
            assert "new tables" in replace_part(document, part.name, "new tables")


class TestMachine:
    CPUINFO = "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor sse\n"

    def test_model_and_guest(self) -> None:
        assert cpu_model(self.CPUINFO) == "AMD EPYC"
        assert is_guest(self.CPUINFO)
        assert cpu_model("CPU implementer : 0x41\n") == ""

    def test_line(self) -> None:
        machine: dict[str, object] = {
            "cpu": "X",
            "cpus": 4,
            "guest": True,
            "kernel": "6.1",
            "date": "2026-01-02",
        }
        assert machine_line(machine) == "4 CPUs of X, a virtual machine; Linux 6.1; 2026-01-02."


class TestCommandLine:
    def test_parts_are_numbered_from_one(self) -> None:
        numbers = [part.number for part in all_parts()]
        assert numbers == list(range(1, len(numbers) + 1))

    @pytest.mark.parametrize(
        "argv",
        [
            ["--part", "99"],
            ["--tool", "no such"],
            ["--rounds", "0"],
            ["--results", "x.json"],
            ["--publish", "--tool", "perf record"],
            ["--publish", "--program", "nginx"],
            ["--program", "no such"],
            ["--program", "nginx", "--part", "13"],
        ],
    )
    def test_refuses(self, argv: list[str]) -> None:
        with pytest.raises(UsageError):
            parse_arguments(argv)
        assert main(argv) == 2

    def test_accepts(self) -> None:
        check_arguments(parse_arguments(["--quick", "--part", "1", "--part", "3"]))
        check_arguments(parse_arguments(["--program", "nginx", "--part", "11"]))

    def test_results_of_another_kind(self, tmp_path: Path) -> None:
        path = tmp_path / "x.json"
        path.write_text("[]")
        with pytest.raises(NoisetopError, match="no results of the bench"):
            read_ratios(path)

    def test_check_of_a_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        baseline, results = tmp_path / "baseline.json", tmp_path / "results.json"
        monkeypatch.setattr("bench.__main__.BASELINE", baseline)
        baseline.write_text(json.dumps(ratios("a", 0.5)))
        results.write_text(json.dumps(ratios("a", 0.54)))
        assert main(["--check", "--results", str(results)]) == 0
        results.write_text(json.dumps(ratios("a", 0.6)))
        assert main(["--check", "--results", str(results)]) == 1
        assert "worse: a: 0.60 (0.59 to 0.61), was 0.50 (0.49 to 0.51)" in capsys.readouterr().err
        results.write_text(json.dumps(ratios("other", 0.6)))
        assert main(["--check", "--results", str(results)]) == 1
