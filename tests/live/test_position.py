"""Where keys lead to in a recording."""

from __future__ import annotations

from noisetop.live.position import SPEEDS, Position


def span(position: Position) -> tuple[int, int]:
    return position.first, position.until


def test_steps_from_the_whole_recording() -> None:
    whole = Position.whole(10)
    assert whole.is_whole
    assert span(whole.stepped(1)) == (0, 1)
    assert span(whole.stepped(-1)) == (9, 10)
    assert span(Position.whole(1).stepped(-1)) == (0, 1)
    assert span(whole.at(3).stepped(1)) == (4, 5)
    assert span(whole.at(3).stepped(-10)) == (0, 1)
    assert span(whole.at(3).stepped(100)) == (9, 10)


def test_since_the_start_the_first_period_stays() -> None:
    position = Position.whole(10).at(3).toggled()
    assert span(position) == (0, 4)
    assert span(position.stepped(2)) == (0, 6)
    assert span(position.stepped(-1)) == (0, 3)
    assert span(position.stepped(100).stepped(-1)) == (0, 9)
    assert span(position.stepped(2).toggled()) == (5, 6)


def test_a_range_in_either_order() -> None:
    start = Position.whole(10).at(6).marked()
    assert start.mark == 6
    chosen = start.at(2).ranged()
    assert span(chosen) == (2, 7)
    assert chosen.is_range
    assert chosen.mark is None
    assert span(chosen.stepped(1)) == (7, 8)
    assert span(chosen.stepped(-1)) == (1, 2)
    assert span(chosen.all()) == (0, 10)


def test_playing_begins_again_at_the_end() -> None:
    whole = Position.whole(10)
    assert span(whole.played()) == (0, 1)
    assert whole.played().playing
    assert span(whole.at(4).played()) == (4, 5)
    assert not whole.played().played().playing
    assert span(whole.at(2).marked().at(4).ranged().played()) == (2, 3)


def test_speeds_end_at_both_ends() -> None:
    position = Position.whole(3)
    assert position.faster(1).speed == 2
    assert position.faster(100).speed == SPEEDS[-1]
    assert position.faster(-100).speed == SPEEDS[0]
