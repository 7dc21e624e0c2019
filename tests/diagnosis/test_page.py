"""The page and the JSON, on built diagnoses."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from noisetop.checks import run_checks
from noisetop.diagnosis import catalogue, diagnose, page
from noisetop.diagnosis.audit import related
from noisetop.diagnosis.document import as_json
from tests.checks.trees import machine
from tests.diagnosis.cases import CASES, share
from tests.diagnosis.test_rules import evidence
from tests.recordings import HOSTILE

_DOCS = Path(__file__).parents[2] / "docs/causes.md"


def test_documentation_is_up_to_date() -> None:
    told = "run: python -m noisetop.diagnosis.catalogue > docs/causes.md"
    assert _DOCS.read_text() == catalogue.markdown(), told


def test_page_fits_and_puts_the_cause_first() -> None:
    diagnosis = diagnose(evidence(*(case.share for case in CASES), share("novel", "x" * 300)))
    lines = "\n".join(page.page_lines(diagnosis, title="a", top=1000)).splitlines()
    assert max(map(len, lines)) <= 80
    first = next(at for at, line in enumerate(lines) if line.startswith(" 1. "))
    order = [line[4:14].strip() for line in lines[first : first + 30] if line.startswith("    ")]
    kinds = [kind for kind in order if kind in ("cost", "evidence", "remedy", "undo", "confidence")]
    assert kinds[:1] == ["cost"]
    assert kinds.index("evidence") < kinds.index("remedy") < kinds.index("undo")


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
