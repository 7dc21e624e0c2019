from noisetop.absence import (
    Absence,
    AbsenceBook,
    absence_lines,
    absences_as_list,
    absences_from_list,
    describe_absences,
)

SECOND_NS = 1_000_000_000
FAR_NS = 100 * SECOND_NS


def test_pairs_what_went_with_what_came() -> None:
    book = AbsenceBook(frozenset({1, 2}))
    book.went(1, 10)
    book.went(2, 12)
    book.came(1, 20)
    book.went(1, 30)
    assert book.between(0, FAR_NS) == (
        Absence(1, 10, 20),
        Absence(2, 12, None),
        Absence(1, 30, None),
    )


def test_a_cpu_that_was_not_there_before() -> None:
    book = AbsenceBook(frozenset({1}))
    book.came(5, 20)
    assert book.between(0, FAR_NS) == (Absence(5, None, 20, watched=False),)


def test_a_cpu_that_is_told_twice_is_absent_once() -> None:
    book = AbsenceBook(frozenset({1}))
    book.went(1, None)
    book.went(1, 5)
    assert book.between(0, FAR_NS) == (Absence(1, None, None),)


def test_only_what_touches_the_period() -> None:
    book = AbsenceBook(frozenset({1, 2}))
    book.went(1, 10)
    book.came(1, 20)
    book.went(2, 50)
    assert book.between(20, 50) == ()
    assert book.between(19, 20) == (Absence(1, 10, 20),)
    assert book.between(60, 70) == (Absence(2, 50, None),)


ALL = (
    Absence(1, 3 * SECOND_NS, 5 * SECOND_NS),
    Absence(2, 4 * SECOND_NS, None),
    Absence(3, 4 * SECOND_NS, None),
    Absence(7, None, 6 * SECOND_NS, watched=False),
)


def test_in_one_line() -> None:
    assert describe_absences(()) == ""
    assert describe_absences(ALL) == (
        "CPU 2-3 OFFLINE, CPU 1 was offline, CPU 7 was offline (not watched)"
    )


def test_in_full() -> None:
    assert list(absence_lines(ALL, SECOND_NS)) == [
        "CPU 1 from 2.000 s until 4.000 s",
        "CPU 2 from 3.000 s to the end",
        "CPU 3 from 3.000 s to the end",
        "CPU 7 until 5.000 s (not watched: what happened there later is not among the events)",
    ]


def test_through_json() -> None:
    assert absences_from_list(absences_as_list(ALL)) == ALL
