from __future__ import annotations

from xml.etree import ElementTree

from noisetop.limits.grammar import parse_limits
from noisetop.limits.junit import junit_xml
from noisetop.limits.outcome import Culprit, Outcome
from noisetop.text.sanitize import printable
from tests.recordings import HOSTILE


def outcomes() -> tuple[Outcome, ...]:
    noise, lost = parse_limits("noise>0.1%,lost>0")
    culprit = Culprit(("thread", HOSTILE), printable(HOSTILE), 900, 7)
    return Outcome(noise, 0.5, 2, culprit), Outcome(lost, 0)


def test_a_test_case_for_each_limit() -> None:
    root = ElementTree.fromstring(junit_xml(outcomes(), 1_500_000_000))
    assert root.tag == "testsuites"
    (suite,) = root
    assert suite.attrib == {
        "name": "noisetop", "tests": "2", "failures": "1", "errors": "0", "time": "1.500"
    }  # fmt: skip
    assert [case.get("name") for case in suite] == ["noise>0.1%", "lost>0"]
    failed, kept = suite
    assert kept.find("failure") is None
    assert kept.findtext("system-out") == "limit lost>0 kept: 0"
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == failure.text == outcomes()[0].line


def test_hostile_names_stay_text() -> None:
    content = junit_xml(outcomes(), 0, f"lost {HOSTILE}")
    root = ElementTree.fromstring(content)
    assert {one.tag for one in root.iter()} == {
        "testsuites", "testsuite", "testcase", "failure", "system-out", "system-err"
    }  # fmt: skip
    assert b"<script>" not in content
    assert b"\x1b" not in content
    failure = root.find("*/testcase/failure")
    assert failure is not None
    assert "<script>alert(1)</script>" in str(failure.text)
    assert root.findtext("*/system-err") == printable(f"lost {HOSTILE}")
