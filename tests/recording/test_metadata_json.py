"""What a file says of sources and triggers, of which a forged one is refused."""

from __future__ import annotations

import pytest

from noisetop.events.interruption import Source
from noisetop.events.trigger import Trigger
from noisetop.recording.metadata_json import sources_from_list, triggers_from_list

UNKNOWN = list(Trigger())


def test_sources_of_a_file() -> None:
    paths = [["thread", "kworker/0:1", "vmstat_update"], ["of_a_later_version", "name"]]
    assert sources_from_list(paths) == [Source(tuple(path)) for path in paths]


@pytest.mark.parametrize("path", [[], ["fault"], ["", "x"], ["two words", "x"], ["\u202e", "x"]])
def test_a_path_that_is_no_source_of_ours(path: list[str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        sources_from_list([path])


@pytest.mark.parametrize("cpu", [-2, 1 << 32, (1 << 63) - 1])
def test_a_trigger_on_a_cpu_that_is_none(cpu: int) -> None:
    forged = list(Trigger(task="a", cpu=cpu))
    with pytest.raises(ValueError, match="on a CPU that is none"):
        triggers_from_list([UNKNOWN, forged])
    assert triggers_from_list([UNKNOWN, list(Trigger("a", 1, 65_535))])[1].cpu == 65_535
