"""Tables of interruptions and records of the kernel side use the same bits."""

from noisetop.events.interruption import SIDE_LEVEL, Flag
from tests.recordings import FLAGS, layout


def test_flags_of_tables_are_those_of_records() -> None:
    flags = {flag.name: flag.value for flag in Flag if flag is not Flag.ENTRY}
    assert flags.items() <= FLAGS.items()


def test_the_mark_of_an_entry_is_no_flag_of_an_interval() -> None:
    no_interval = {"NAME", "TRIGGER", "WAIT"}
    assert all(FLAGS[name] != Flag.ENTRY for name in FLAGS.keys() - no_interval)
    assert layout().entry_mark > max(layout().levels.values())


def test_the_level_beside_the_noise_is_that_of_records() -> None:
    assert layout().levels["SIDE"] == SIDE_LEVEL
