"""The table of programs in the documentation is that of the embedded object."""

from __future__ import annotations

from pathlib import Path

from bench.program_table import markdown, programs_on
from noisetop import _native

PAGE = Path(__file__).parents[2] / "docs/performance.md"


def test_the_page_is_up_to_date() -> None:
    told = "run: python -m bench.program_table, and put it into docs/performance.md"
    assert markdown() in PAGE.read_text(), told


def test_every_tracepoint_of_the_table_has_a_program() -> None:
    """Another name would count as no program at all."""
    rows = [line.split("|") for line in markdown().splitlines()[2:]]
    for _, words, complete, *reduced, named, _ in rows:
        assert int(complete) == len(named.split(",")) >= 2, words
        assert all(int(count) <= int(complete) for count in reduced)
    assert programs_on("hrtimer_expire_entry") == ("hrtimer_entry_twin_1",)
    assert not programs_on("no_such_tracepoint")
    assert _native.programs()["softirq_raise"].endswith("/softirq_raise")
