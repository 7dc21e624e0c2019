"""Tables of interruptions and records of the kernel side use the same bits."""

from noisetop.events.interruption import SIDE_LEVEL, Flag
from tests.recordings import FLAGS, layout


def test_flags_of_tables_are_those_of_records() -> None:
    ours = Flag.ENTRY | Flag.COLD
    flags = {flag.name: flag.value for flag in Flag if not flag & ours}
    assert flags.items() <= FLAGS.items()


def test_the_marks_of_an_entry_are_no_flags_of_an_interval() -> None:
    intervals = FLAGS.keys() - {"NAME", "TRIGGER", "WAIT"}
    assert not {FLAGS[name] for name in intervals} & {Flag.ENTRY, Flag.COLD}
    assert layout().entry_mark > max(layout().levels.values())


def test_the_level_beside_the_noise_is_that_of_records() -> None:
    assert layout().levels["SIDE"] == SIDE_LEVEL
