from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from noisetop.cli import run
from noisetop.errors import NoisetopError, UsageError
from noisetop.gaps.files import as_json
from noisetop.gaps.result import LongGap, ProbeResult
from noisetop.limits.gap_figures import check_gap_limits, gap_outcomes, lost_events, spun_ns
from noisetop.limits.grammar import parse_limits
from noisetop.limits.outcome import Outcome
from tests.gaps.results import EVIL, cpu_spin, spin_result


def outcomes(text: str, result: ProbeResult) -> tuple[Outcome, ...]:
    return gap_outcomes(parse_limits(text), result)


def two_cpus() -> ProbeResult:
    """CPU 2 has the longest gap, of which the moment is known, CPU 1 more of them."""
    made = spin_result()
    (one,) = made.spin
    longest = LongGap(500_000, 9_000, 1_000, cpu_spin().parts[:1])
    other = replace(cpu_spin(2), max_ns=9_000, lost_share=0.005, longest=[longest])
    return replace(made, spin=[replace(one, cpus=[cpu_spin(1), other])])


def test_the_worst_cpu_decides() -> None:
    noise, single, lost = outcomes("noise>0.5%,single>5us,lost>0", two_cpus())
    assert (noise.value, noise.cpu, noise.exceeded) == (100 * cpu_spin().lost_share, 1, True)
    assert (single.value, single.cpu) == (9_000, 2)
    assert single.culprit is not None
    assert (single.culprit.path, single.culprit.start_ns) == (("thread", EVIL), 500_000)
    assert single.line.isprintable()
    assert (lost.value, lost.exceeded) == (0, False)


def test_sources_are_those_of_the_parts() -> None:
    counted, share, none = outcomes(
        'source:"thread/*">0,source:"thread › *">0%,source:"timer*">0', two_cpus()
    )
    assert counted.value == 4
    assert share.value == 0.5
    assert none.value == 0  # what entering costs is no interruption


def test_what_gaps_do_not_tell_is_refused() -> None:
    with pytest.raises(UsageError, match="no estimated cost: write 'noise>"):
        check_gap_limits(parse_limits("cost>1%"))
    with pytest.raises(UsageError, match="no longest interruption by source"):
        check_gap_limits(parse_limits('source:"irq/*">1us'))
    with pytest.raises(UsageError, match="result of probe spin, not numa"):
        outcomes("noise>1%", ProbeResult("numa", {}))
    with pytest.raises(NoisetopError, match="the gaps were not traced"):
        outcomes('source:"irq/*">0', spin_result(explained=False))


def test_an_empty_result_exceeds_nothing() -> None:
    empty = ProbeResult("spin", {})
    found = outcomes('noise>0%,single>0us,lost>0,source:"*">0,source:"*">0%', empty)
    assert [one.value for one in found] == [0] * 5
    assert (lost_events(empty), spun_ns(empty)) == (0, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "spin.json"
    path.write_text(as_json(two_cpus()))
    return path


def test_report_of_a_result(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit = path.with_name("limits.xml")
    arguments = ["report", str(path), "--fail-on", "single>5us,noise>99%", "--junit", str(junit)]
    assert run(arguments) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("noisetop: limit single>5us exceeded: 9.00 µs on CPU 2, mostly thread")
    assert line.isprintable()
    assert len(ElementTree.fromstring(junit.read_bytes()).findall("*/testcase")) == 2
    with pytest.raises(UsageError, match="probe result: it takes --json and --fail-on only"):
        run(["report", str(path), "--markdown"])


def test_comparison_of_results(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", str(path), str(path), "--fail-on", "single>5us"]) == 3
    assert run(["compare", str(path), str(path), "--fail-on", "single>9us"]) == 0
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_probe_refuses_a_limit_before_it_measures() -> None:
    with pytest.raises(UsageError, match="no estimated cost"):
        run(["probe", "spin", "--fail-on", "cost>1%"])
    with pytest.raises(UsageError, match="unrecognized arguments"):
        run(["probe", "numa", "--fail-on", "noise>1%"])
