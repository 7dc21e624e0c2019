"""Tables of interruptions and records of the kernel side use the same bits."""

from noisetop.events.interruption import SIDE_LEVEL, Flag
from tests.recordings import FLAGS, layout


def test_flags_of_tables_are_those_of_records() -> None:
    assert {flag.name: flag.value for flag in Flag}.items() <= FLAGS.items()


def test_the_level_beside_the_noise_is_that_of_records() -> None:
    assert layout().levels["SIDE"] == SIDE_LEVEL
