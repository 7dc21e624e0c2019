"""Before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.diagnosis import diagnose, page
from noisetop.diagnosis.saved import (
    Fate,
    Measured,
    Saved,
    as_saved,
    compare,
    load,
    rate_probability,
    summary_of,
)
from noisetop.errors import UsageError
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence

SECOND_NS = 1_000_000_000


def saved(duration_ns: int = SECOND_NS, **findings: tuple[int, int]) -> Saved:
    measured = tuple(Measured(key, key, count, net) for key, (count, net) in findings.items())
    return Saved(duration_ns, (2,), sum(one.net_ns for one in measured), measured)


def test_what_went_stayed_and_came() -> None:
    before = saved(gone=(500, 5_000), stayed=(100, 1_000), less=(900, 9_000), more=(10, 100))
    after = saved(
        2 * SECOND_NS, stayed=(200, 2_000), less=(90, 900), more=(400, 4_000), new=(60, 600)
    )
    changes = {change.key: change for change in compare(before, after)}
    assert {key: change.verdict for key, change in changes.items()} == {
        "gone": Fate.GONE,
        "stayed": Fate.STAYED,
        "less": Fate.LESS,
        "more": Fate.MORE,
        "new": Fate.NEW,
    }
    assert changes["stayed"].ratio_words == "1.00 times"
    assert changes["stayed"].probability > 0.5
    assert changes["new"].ratio_words == "was not there"
    assert all(changes[key].probability < 1e-6 for key in ("gone", "less", "new"))
    order = [abs(change.after_rate_ns - change.before_rate_ns) for change in compare(before, after)]
    assert order == sorted(order, reverse=True)


def test_reads_back_what_it_wrote(tmp_path: Path) -> None:
    diagnosis = diagnose(evidence(share("softirq", "RCU"), share("irq", "36 foo")))
    kept = tmp_path / "before.json"
    kept.write_text(json.dumps(as_saved(diagnosis, "1")))
    assert load(kept) == summary_of(diagnosis)
    changes = compare(load(kept), summary_of(diagnosis))
    assert {change.verdict for change in changes} == {Fate.STAYED}
    assert "stayed: " in page.text(diagnosis, changes=changes)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": "noisetop-diagnosis"}',
        b"[" * 100_000,
        b'{"format": "noisetop-diagnosis", "format_version": 1, "duration_ns": 0, "cpus": [],'
        b' "noise_ns": 0, "findings": []}',
        b'{"format": "noisetop-diagnosis", "format_version": 1, "duration_ns": 1, "cpus": [],'
        b' "noise_ns": 0, "findings": [{"key": 1}]}',
        b'{"format": "noisetop-diagnosis", "format_version": 1, "duration_ns": 1e400, "cpus": [],'
        b' "noise_ns": 0, "findings": []}',
    ],
)
def test_another_file_is_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="no saved diagnosis"):
        load(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load(tmp_path / "a.json")


@given(st.integers(0, 3000), st.integers(0, 3000), st.integers(1, 10**12), st.integers(1, 10**12))
def test_probability_is_one(before: int, after: int, before_ns: int, after_ns: int) -> None:
    found = rate_probability(before, after, before_ns, after_ns)
    assert 0 <= found <= 1
    assert found == pytest.approx(rate_probability(after, before, after_ns, before_ns), abs=1e-6)


def test_probability_by_hand() -> None:
    assert rate_probability(0, 5, SECOND_NS, SECOND_NS) == pytest.approx(2 / 2**5)
    assert rate_probability(3, 3, SECOND_NS, SECOND_NS) == 1
    assert rate_probability(0, 0, 1, 1) == 1
    exact, normal = (rate_probability(n, n + 60, 1, 1) for n in (469, 471))
    assert exact == pytest.approx(normal, rel=0.05)
