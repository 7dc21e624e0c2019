"""Programs with the names of the kernel's own threads: what a task is called proves nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import Evidence, evidence_of
from noisetop.diagnosis.rule import Match
from noisetop.events.interruption import Source
from noisetop.events.origin import Origin
from noisetop.events.task_names import TaskInfo
from noisetop.events.trigger import Trigger
from tests.recordings import interruption, recording, table

USER, KERNEL, VICTIM = 4711, 15, 100
NAMES = ("swapper/1", "migration/1", "ksoftirqd/1", "kworker/1:0", "khugepaged", "rcu_preempt")
INFOS = {
    USER: TaskInfo(USER, 1, False, 0),
    KERNEL: TaskInfo(KERNEL, 2, True, 0),
    VICTIM: TaskInfo(VICTIM, 1, False, 0),
}


def evidence(source: Source, trigger: Trigger, *tids: int) -> Evidence:
    """As if each of these had run for 50 µs, with one and the same origin."""
    rows = [
        interruption(tid * 100_000, 50_000, tid=tid, trigger=1, origin=Origin.OTHERS)
        for tid in tids
    ]
    return evidence_of(
        recording(table(*rows), sources=[source], triggers=[Trigger(), trigger], infos=INFOS)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_thread_is_told_apart_by_what_it_is(name: str) -> None:
    both = evidence(Source(("thread", name)), Trigger("waker", 7), USER, KERNEL)
    by_user = {share.user: share for share in both.shares}
    assert {user: share.tasks[0].trigger.tid for user, share in by_user.items()} == {
        True: USER,
        False: KERNEL,
    }
    assert by_user[True].is_program
    assert by_user[True].poses
    assert not by_user[True].sender
    found = {finding.rule: finding.net_ns for finding in diagnose(both).findings}
    assert found.pop("other-program") == 50_000
    assert sum(found.values()) == 50_000


@pytest.mark.parametrize("tid", [USER, KERNEL])
@pytest.mark.parametrize("name", ["khugepaged", "kswapd0", "kcompactd0", "ksmd", "kworker/1:0"])
def test_a_sender_is_told_apart_by_what_it_is(name: str, tid: int) -> None:
    source = Source(("ipi", "call_function_single", "flush_tlb_func"))
    [share] = evidence(source, Trigger(name, tid, 0), VICTIM).shares
    assert share.sender_poses == (tid == USER)
    claimed = Match((("ipi",),), sender=(name,)).claimed([share])
    assert bool(claimed) == (tid == KERNEL)


def test_without_knowledge_the_name_is_all_there_is() -> None:
    (share,) = evidence(Source(("thread", "ksoftirqd/1")), Trigger(), 9).shares
    assert not share.is_program
    assert replace(share, user=True).is_program
