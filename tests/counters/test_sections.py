"""What every section promises, of each that there is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from noisetop.counters.period import PeriodCounters, counters_cut_short, counters_from_file
from noisetop.counters.section import Section, sections
from noisetop.counters.tick_stops import TICK_STOPS
from noisetop.events.interruption import Source
from tests.recordings import everything

ALL = pytest.mark.parametrize("section", sections(), ids=lambda one: type(one).__name__)


@ALL
def test_what_is_not_known_goes_through_a_file(section: Section[Any, Any]) -> None:
    assert section.from_file({}) == section.none()
    stored = json.loads(json.dumps(section.to_file(section.none())))
    assert section.from_file(stored) == section.none()


@ALL
def test_what_is_known_goes_through_a_file(section: Section[Any, Any]) -> None:
    value = everything().counters.of(section)
    assert section.from_file(json.loads(json.dumps(section.to_file(value)))) == value
    json.dumps(section.as_dict(value) | section.cpu_as_dict(value, 2))


@ALL
def test_every_text_is_one_harmless_line(section: Section[Any, Any]) -> None:
    value = everything().counters.of(section)
    lines = [*section.lines(value, 0), *section.live_lines(value, 1)]
    for text in (section.brief(value, 1).text, *lines):
        assert text.isprintable()
    assert bool(section.title) == any(True for _ in section.lines(value, 0)) or not lines


def test_no_two_sections_use_the_same_key() -> None:
    for of in (
        [section.to_file(section.none()) for section in sections()],
        [section.as_dict(section.none()) for section in sections()],
    ):
        keys = [key for content in of for key in content]
        assert len(keys) == len(set(keys))


def test_all_sections_together_go_through_a_file() -> None:
    made = everything().counters
    assert counters_from_file(json.loads(json.dumps(made.to_file()))) == made
    assert counters_from_file({}) == PeriodCounters()


def test_a_recording_that_was_cut_short_has_the_last_counters() -> None:
    last = {2: {"stopped": 3}, 9: {"stopped": 1}}
    cut = counters_cut_short({"missing": ["x"]}, lambda field, enum: last, (2,))
    assert cut.of(TICK_STOPS) == {2: {"stopped": 3}}


def test_events_go_to_the_section_of_their_class() -> None:
    moments = [(2, Source(("hardware", "frequency")), 4), (2, Source(("irq", "x")), 1)]
    counters = PeriodCounters().with_events(moments)
    assert counters != PeriodCounters()
    assert PeriodCounters().with_events(moments[1:]) == PeriodCounters()
