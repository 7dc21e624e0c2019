"""The page and the JSON, on built diagnoses."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisetop.checks import run_checks
from noisetop.counters.calibration import EntryCost
from noisetop.diagnosis import Diagnosis, catalogue, diagnose, page
from noisetop.diagnosis.audit import related
from noisetop.diagnosis.document import as_json
from noisetop.events.origin import Origin
from tests.checks.trees import machine
from tests.diagnosis.cases import CASES, share
from tests.diagnosis.test_rules import evidence
from tests.recordings import HOSTILE

_DOCS = Path(__file__).parents[2] / "docs/causes.md"


def test_documentation_is_up_to_date() -> None:
    told = "run: python -m noisetop.diagnosis.catalogue > docs/causes.md"
    assert _DOCS.read_text() == catalogue.markdown(), told


def shown(diagnosis: Diagnosis, **options: Any) -> list[str]:
    return "\n".join(page.page_lines(diagnosis, **options)).splitlines()


@pytest.mark.parametrize("width", [80, 100])
def test_the_table_comes_first_and_the_page_fits(width: int) -> None:
    found = evidence(*(case.share for case in CASES), share("novel", "x" * 300))
    diagnosis = diagnose(found)
    for verbose in (False, True):
        lines = shown(diagnosis, title="a", top=1000, width=width, verbose=verbose)
        assert max(map(len, lines)) <= width
        head = next(at for at, line in enumerate(lines) if line.startswith(" #"))
        assert lines[head].split() == ["#", "Cost/s", "Net/s", "Share", "Cause", "Who"]
        rows = [line for line in lines if re.match(r" *\d+ +(≈?[\d.]+ [nµm]?s|-) ", line)]
        assert len(rows) == len(diagnosis.findings)
        first = next(at for at, line in enumerate(lines) if line.startswith(" 1. "))
        assert first > head + len(rows)


def test_a_row_has_cost_net_share_cause_and_who() -> None:
    barrier = share("ipi", "call_function", "ipi_mb", sender="java", count=100, net_ns=20_000)
    calibrated = EntryCost(6_000, 5_000, 7_000, "measured")
    barrier = replace(barrier, entries=100, entry=calibrated, origin=Origin.PROGRAM)
    tick = share("timer", "local_timer", "tick_nohz_handler", net_ns=380_000)
    tick = replace(tick, origin=Origin.KERNEL, entry=calibrated)
    known = evidence(barrier, tick)
    lines = shown(diagnose(known))
    rows = [" ".join(line.split()) for line in lines]
    assert any(row.startswith("1 ≈620 µs 20.0 µs 62.0 % java calls") for row in rows)
    assert any(row.startswith("2 ≈380 µs 380 µs 38.0 % The periodic") for row in rows)
    (one,) = [line for line in lines if line.startswith(" 1 ")]
    (two,) = [line for line in lines if line.startswith(" 2 ")]
    assert one.endswith("java 4711")
    assert two.endswith("kernel")
    told = replace(evidence(share("softirq", "RCU")), uncalibrated="nothing was calibrated")
    page_without = " ".join(shown(diagnose(told)))
    assert "No estimate of the cost: nothing was calibrated" in page_without
    assert "≈" not in page_without


def test_details_of_three_and_of_what_is_self_inflicted() -> None:
    shares = [share("irq", f"3{at} foo", net_ns=1000 - at) for at in range(5)]
    own = share("softirq", "NET_RX", sender="app", net_ns=9_000, origin=Origin.SELF)
    diagnosis = diagnose(evidence(*shares, own))
    lines = shown(diagnosis)
    detailed = [int(line[:2]) for line in lines if re.match(r"[ \d]\d\. ", line)]
    assert detailed == [1, 2, 3, 6]
    assert "Details of all findings: noisetop diagnose -v" in lines
    table = [line for line in lines if re.match(r" *(\d+ .*s |Self-inflicted)", line)]
    assert table[5].strip().startswith("Self-inflicted")
    lines = shown(diagnosis, verbose=True)
    detailed = [int(line[:2]) for line in lines if re.match(r"[ \d]\d\. ", line)]
    assert detailed == [1, 2, 3, 4, 5, 6]
    kinds = [line[4:16].strip() for line in lines if line.startswith("    ")]
    order = [kinds.index(kind) for kind in ("cost", "evidence", "remedy", "undo", "to confirm")]
    assert order == sorted(order)


def test_sum_names_what_is_left() -> None:
    diagnosis = diagnose(
        evidence(share("softirq", "RCU", net_ns=750), share("novel", "thing", net_ns=250))
    )
    shown = "\n".join(page.page_lines(diagnosis))
    assert "25.0 %  novel › thing" in shown
    assert "Explained 750 ns (75.0 %), not explained 250 ns (25.0 %), together 1.00 µs" in shown


def test_nothing_measured() -> None:
    assert "No noise was measured" in "\n".join(page.page_lines(diagnose(evidence())))


def test_hidden_findings_are_counted() -> None:
    diagnosis = diagnose(evidence(*(case.share for case in CASES)))
    shown = "\n".join(page.page_lines(diagnosis, top=1))
    assert f"{len(diagnosis.findings) - 1} smaller findings" in shown
    assert " 2. " not in shown


@pytest.mark.parametrize(
    "path",
    [("thread", HOSTILE), ("irq", HOSTILE), ("novel", HOSTILE), ("ipi", "call_function", HOSTILE)],
)
def test_hostile_names_reach_no_screen(path: tuple[str, ...]) -> None:
    diagnosis = diagnose(evidence(share(*path, sender=HOSTILE)))
    shown = "\n".join(page.page_lines(diagnosis, title=HOSTILE))
    assert not any(
        unicodedata.category(character).startswith("C") for character in shown.replace("\n", "")
    )
    document = as_json(diagnosis, version="1", title=HOSTILE)
    assert "\x1b" not in document
    assert json.loads(document)["title"] == HOSTILE


def test_json_has_all_figures() -> None:
    diagnosis = diagnose(
        evidence(
            share("ipi", "call_function", "ipi_mb", sender="java", net_ns=900, count=9),
            share("novel", "thing", net_ns=100),
            realtime=None,
        )
    )
    document = json.loads(as_json(diagnosis, version="1"))
    (finding,) = document["findings"]
    assert (finding["key"], finding["net_ns"], finding["count"]) == ("membarrier:java", 900, 9)
    assert finding["senders"] == [{"label": "java 4711", "count": 9, "net_ns": 900}]
    assert finding["worst"] == {"cpu": 2, "start_ns": 5_000_001_000, "net_ns": 100}
    assert document["explained_ns"] + document["unexplained_ns"] == document["noise_ns"] == 1000


def test_checks_that_complain_stand_with_their_finding(tmp_path: Path) -> None:
    changes = {"/proc/sys/kernel/watchdog_cpumask": "0-3", "/proc/sys/kernel/watchdog": "1"}
    results = run_checks(machine(tmp_path, changes))
    watchdog = share("timer", "local_timer", "watchdog_timer_fn")
    (finding,) = diagnose(evidence(watchdog)).findings
    assert "C08" in [result.id for result in related(finding, results)]
    shown = "\n".join(page.page_lines(diagnose(evidence(watchdog)), results))
    assert "C08 watchdog-mask" in shown
    assert "/proc/sys/kernel/watchdog_cpumask: 0-3" in " ".join(shown.split())
    (other,) = diagnose(evidence(share("softirq", "NET_RX"))).findings
    assert "C08" not in [result.id for result in related(other, results)]


def test_good_machine_adds_nothing(tmp_path: Path) -> None:
    results = run_checks(machine(tmp_path))
    (finding,) = diagnose(evidence(share("timer", "local_timer", "watchdog_timer_fn"))).findings
    assert related(finding, results) == ()
