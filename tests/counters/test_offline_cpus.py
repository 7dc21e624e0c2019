import json

from noisetop.counters.offline_cpus import (
    OFFLINE,
    OfflineInterval,
    OfflineLog,
    describe_offline,
    offline_lines,
    within,
)

SECOND_NS = 1_000_000_000
FAR_NS = 100 * SECOND_NS


def test_pairs_what_went_with_what_came() -> None:
    log = OfflineLog(frozenset({1, 2}))
    log.went(1, 10)
    log.went(2, 12)
    log.came(1, 20)
    log.went(1, 30)
    assert log.intervals() == (
        OfflineInterval(1, 10, 20),
        OfflineInterval(2, 12, None),
        OfflineInterval(1, 30, None),
    )


def test_a_cpu_that_was_not_there_before() -> None:
    log = OfflineLog(frozenset({1}))
    log.came(5, 20)
    assert log.intervals() == (OfflineInterval(5, None, 20, watched=False),)


def test_a_cpu_that_is_told_twice_is_absent_once() -> None:
    log = OfflineLog(frozenset({1}))
    log.went(1, None)
    log.went(1, 5)
    assert log.intervals() == (OfflineInterval(1, None, None),)


def test_only_what_touches_the_period() -> None:
    log = OfflineLog(frozenset({1, 2}))
    log.went(1, 10)
    log.came(1, 20)
    log.went(2, 50)
    assert within(log.intervals(), 20, 50) == ()
    assert within(log.intervals(), 19, 20) == (OfflineInterval(1, 10, 20),)
    assert within(log.intervals(), 60, 70) == (OfflineInterval(2, 50, None),)


ALL = (
    OfflineInterval(1, 3 * SECOND_NS, 5 * SECOND_NS),
    OfflineInterval(2, 4 * SECOND_NS, None),
    OfflineInterval(3, 4 * SECOND_NS, None),
    OfflineInterval(7, None, 6 * SECOND_NS, watched=False),
)


def test_in_one_line() -> None:
    assert describe_offline(()) == ""
    assert describe_offline(ALL) == (
        "CPU 2-3 OFFLINE, CPU 1 was offline, CPU 7 was offline (not watched)"
    )


def test_in_full() -> None:
    assert list(offline_lines(ALL, SECOND_NS)) == [
        "CPU 1 from 2.000 s until 4.000 s",
        "CPU 2 from 3.000 s to the end",
        "CPU 3 from 3.000 s to the end",
        "CPU 7 until 5.000 s (not watched: later events there are not recorded)",
    ]


def test_through_json() -> None:
    stored = json.loads(json.dumps(OFFLINE.to_file(ALL)))
    assert OFFLINE.from_file(stored) == ALL
