"""Who else listens to the traced tracepoints, in a line."""

from __future__ import annotations

from noisetop.counters.other_listeners import NOBODY, OTHER_LISTENERS, OtherListeners, sharing
from noisetop.machine.tracepoint_users import TracepointUser

MINE = {"softirq_entry", "softirq_exit", "sched_switch", "sched_wakeup"}


def bpf(name: str, *tracepoints: str) -> TracepointUser:
    return TracepointUser("bpf", name, 7, tracepoints)


def brief(value: OtherListeners) -> str:
    return OTHER_LISTENERS.brief(value, 1).text


def test_only_what_is_shared_counts() -> None:
    users = [bpf("a", "softirq_entry", "sys_enter"), bpf("b", "sys_enter")]
    found = sharing(users, (), MINE)
    assert found.users == (bpf("a", "softirq_entry"),)
    assert "a 7 on softirq_entry" in brief(found)
    assert "indirect" in brief(found)
    assert "sys_enter" not in brief(found)


def test_nobody_is_no_line() -> None:
    assert sharing([bpf("b", "sys_enter")], (), MINE) == NOBODY
    assert not brief(NOBODY)
    assert not OTHER_LISTENERS.to_file(NOBODY)


def test_tracepoints_that_are_not_told_may_be_shared() -> None:
    found = sharing([TracepointUser("perf", "perf", 8, ())], (), MINE)
    assert "perf 8 (tracepoints that the kernel does not tell)" in brief(found)


def test_what_could_not_be_found_out_is_said() -> None:
    found = sharing((), ("ftrace (needs root)",), MINE)
    assert brief(found) == "not known: ftrace (needs root)"


def test_what_a_run_of_their_programs_takes_is_said_and_kept() -> None:
    users = (bpf("a", "softirq_entry"), TracepointUser("perf", "perf", 8, ()))
    value = OtherListeners(users, run_ns={7: 95.4})
    assert "a 7 on softirq_entry (its programs take 95 ns a run), perf 8 (" in brief(value)
    stored = OTHER_LISTENERS.to_file(value)
    assert [row["run_ns"] for row in stored["other_listeners"]["found"]] == [95.4, None]
    assert OTHER_LISTENERS.from_file(stored) == value
    for row in stored["other_listeners"]["found"]:
        del row["run_ns"]  # a file of before
    assert OTHER_LISTENERS.from_file(stored) == OtherListeners(users)


def test_many_are_counted() -> None:
    users = [TracepointUser("ftrace", f"i{n}", 0, tuple(sorted(MINE))) for n in range(5)]
    text = brief(sharing(users, (), MINE))
    assert "ftrace (i0) on sched_switch, sched_wakeup, softirq_entry and 1 more" in text
    assert "and 2 more:" in text
