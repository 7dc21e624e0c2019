"""Before and after."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.checked_json import sealed
from noisetop.compare.sample import BLOCKS
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
    """Findings of some interruptions and noise, spread evenly over the period."""
    measured = tuple(
        Measured(key, key, count, net, blocks_ns=evenly(net))
        for key, (count, net) in findings.items()
    )
    return Saved(duration_ns, (2,), sum(one.net_ns for one in measured), measured)


def evenly(net_ns: int) -> tuple[int, ...]:
    return tuple(net_ns * (at + 1) // BLOCKS - net_ns * at // BLOCKS for at in range(BLOCKS))


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
    assert changes["new"].ratio_words == "new"
    changed = {key for key, change in changes.items() if change.significant}
    assert changed == {"gone", "less", "more", "new"}
    assert changes["stayed"].significance == "not significant, p 1.00"
    order = [abs(change.after_rate_ns - change.before_rate_ns) for change in compare(before, after)]
    assert order == sorted(order, reverse=True)


def bursts(at: tuple[int, ...], net_ns: int) -> Measured:
    blocks = tuple(net_ns if block in at else 0 for block in range(BLOCKS))
    return Measured("burst", "burst", len(at) * 1000, len(at) * net_ns, blocks_ns=blocks)


def test_a_burst_of_many_counts_as_one_block() -> None:
    """A thousand interruptions at one moment are no thousand witnesses."""
    one, many = (Saved(SECOND_NS, (2,), 0, (bursts(at, 9_000),)) for at in ((4,), tuple(range(40))))
    nothing = Saved(SECOND_NS, (2,), 0, ())
    (seldom,) = compare(one, nothing)
    assert (seldom.probability, seldom.significance) == (None, "too rare to test")
    assert not seldom.significant
    (often,) = compare(many, nothing)
    assert often.significant


def test_waits_are_compared_by_their_number() -> None:
    waiting = Measured("quota", "quota", 0, 0, wait_ns=800_000_000, wait_count=50)
    (change,) = compare(Saved(SECOND_NS, (2,), 0, (waiting,)), Saved(SECOND_NS, (2,), 0, ()))
    assert change.verdict is Fate.GONE
    assert change.probability == pytest.approx(2 / 2**50)


@pytest.mark.parametrize("times", [1, 3, 10, 30])
def test_recordings_of_other_lengths(times: int) -> None:
    rng = np.random.default_rng(1)
    noise = [int(value) for value in rng.poisson(1000, BLOCKS)]
    before = Measured("a", "a", 100, sum(noise), blocks_ns=tuple(noise))
    longer = tuple(value * times for value in reversed(noise))
    after = Measured("a", "a", 100 * times, sum(longer), blocks_ns=longer)
    (change,) = compare(
        Saved(SECOND_NS, (2,), 0, (before,)), Saved(times * SECOND_NS, (2,), 0, (after,))
    )
    assert change.verdict is Fate.STAYED
    assert not change.significant
    assert (change.probability is None) == (times == 30), "too few blocks are left"


def test_reads_back_what_it_wrote(tmp_path: Path) -> None:
    diagnosis = diagnose(evidence(share("softirq", "RCU"), share("irq", "36 foo")))
    kept = tmp_path / "before.json"
    kept.write_text(json.dumps(sealed(as_saved(diagnosis, "1"))))
    assert load(kept) == summary_of(diagnosis)
    changes = compare(load(kept), summary_of(diagnosis))
    assert {change.verdict for change in changes} == {Fate.STAYED}
    assert "remaining: " in "\n".join(page.page_lines(diagnosis, changes=changes))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"format": "noisetop-diagnosis"}',
        b"[" * 100_000,
        b'{"format": "noisetop-diagnosis", "format_version": 2, "duration_ns": 0, "cpus": [],'
        b' "noise_ns": 0, "findings": []}',
        b'{"format": "noisetop-diagnosis", "format_version": 2, "duration_ns": 1, "cpus": [],'
        b' "noise_ns": 0, "findings": [{"key": 1}]}',
        b'{"format": "noisetop-diagnosis", "format_version": 2, "duration_ns": 1e400, "cpus": [],'
        b' "noise_ns": 0, "findings": []}',
    ],
)
def test_another_file_is_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="no saved diagnosis"):
        load(path)


def test_a_saved_diagnosis_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    saved = sealed(as_saved(diagnose(evidence(share("softirq", "RCU"))), "1"))
    path.write_text(json.dumps(saved))
    load(path)
    path.write_text(json.dumps({**saved, "noise_ns": 7}))
    with pytest.raises(UsageError, match="its checksum does not fit"):
        load(path)


def test_only_old_files_lack_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    diagnosis = diagnose(evidence(share("softirq", "RCU")))
    saved = as_saved(diagnosis, "1")
    path.write_text(json.dumps(saved))
    with pytest.raises(UsageError, match="its checksum is missing"):
        load(path)
    path.write_text(json.dumps({**saved, "format_version": 2}))
    assert load(path) == summary_of(diagnosis)


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
