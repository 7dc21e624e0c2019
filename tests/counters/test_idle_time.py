import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from noisetop.counters import idle_time
from noisetop.counters.idle_time import IDLE_TIME, IdleTime
from noisetop.counters.section import CpuFigure
from noisetop.machine.stolen_time import NS_PER_TICK

HALF_A_SECOND = {2: IdleTime(400_000_000, 100_000_000), 3: IdleTime(0, 0)}


@dataclass
class Trace:
    cpus: tuple[int, ...] = (2, 3)


def test_a_period_is_what_the_kernel_counted_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "proc/stat"
    stat.parent.mkdir()
    monkeypatch.setattr(idle_time, "ROOT", tmp_path)
    reader = IDLE_TIME.open(Trace())  # type: ignore[arg-type]
    stat.write_text("cpu  9 9 9 99 9\ncpu2 1 1 1 10 5\ncpu3 1 1 1 7 6\ncpu4 1 1 1 7 6\n")
    before = reader.read()
    stat.write_text("cpu2 1 1 1 50 15\ncpu3 1 1 1 7 4\n")
    found = IDLE_TIME.between(before, reader.read(), 0, 1)
    assert found == {2: IdleTime(40 * NS_PER_TICK, 10 * NS_PER_TICK), 3: IdleTime(0, 0)}


def test_it_goes_through_a_file_and_into_json() -> None:
    assert IDLE_TIME.from_file(json.loads(json.dumps(IDLE_TIME.to_file(HALF_A_SECOND)))) == (
        HALF_A_SECOND
    )
    assert IDLE_TIME.cpu_as_dict(HALF_A_SECOND, 2) == {
        "idle_time": {"idle_ns": 400_000_000, "iowait_ns": 100_000_000}
    }
    assert IDLE_TIME.cpu_as_dict(HALF_A_SECOND, 9) == {"idle_time": None}


def test_the_column_tells_of_one_cpu_and_of_all() -> None:
    (column,) = IDLE_TIME.cpu_columns
    texts = [column.text(CpuFigure(HALF_A_SECOND, cpu, 10**9)) for cpu in (2, 3, None, 9)]
    assert texts == ["50.0", "0.0", "25.0", "-"]


def test_a_line_for_each_cpu() -> None:
    assert list(IDLE_TIME.lines(HALF_A_SECOND, 0)) == [
        "CPU 2: nothing to run for 500 ms, 100 ms of it for I/O",
        "CPU 3: nothing to run for 0 ns",
    ]
