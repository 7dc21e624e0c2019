from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.counters.losses import LOSSES, Losses
from noisetop.counters.overhead import OVERHEAD, Overhead
from noisetop.counters.unavailable import UNAVAILABLE
from noisetop.errors import NoisetopError
from noisetop.events.interruption import Flag
from noisetop.events.layout import Events
from noisetop.events.symbols import SymbolTable
from noisetop.events.task_directory import Details
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails
from noisetop.recording.block_file import PlainBlockFile
from noisetop.recording.raw_file import MAGIC, SpoolWriter, read_spool
from noisetop.recording.recording import Recording
from noisetop.summary.recorded import summary_of
from tests.recordings import (
    FLAGS,
    START_NS,
    all_rows,
    events,
    layout,
    names,
    write_spool,
)

SYMBOLS = {0xFFFFFFFF81001000: "process_timeout"}


def some_events(count: int, first: int = 0) -> Events:
    softirq = {"source": "softirq", "id": 1, "cpu": 2, "victim_tid": 7, "flags": Flag.OUTERMOST}
    rows = [
        {**softirq, "start_ns": START_NS + 100 * (first + i), "gross_ns": 50 + i, "net_ns": 40 + i}
        for i in range(count)
    ]
    return events(*rows)


def timer_event() -> Events:
    function = next(iter(SYMBOLS))
    return events(
        {
            "source": "timer",
            "id": function,
            "parent_source": "softirq",
            "parent_id": 1,
            "cpu": 3,
            "start_ns": START_NS,
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.noisetop"


def test_reads_back_what_was_written(path: Path) -> None:
    write_spool(path, [some_events(3), some_events(2, 3), timer_event()], symbols=SYMBOLS)
    recorded = read_spool(path)
    rows = all_rows(recorded)
    assert rows["start_ns"].tolist()[:5] == [START_NS + 100 * i for i in range(5)]
    assert rows["net_ns"].tolist()[:5] == [40, 41, 42, 40, 41]
    assert [recorded.sources[i].path for i in rows["source"][[0, 5]]] == [
        ("softirq", "TIMER"),
        ("softirq", "TIMER", "process_timeout"),
    ]
    assert (recorded.start_ns, recorded.end_ns) == (START_NS, START_NS + 1_000_000)
    assert (recorded.cpus, recorded.metadata) == ((2, 3), {"host": "box"})
    assert recorded.counters.of(LOSSES) == Losses({2: {"ring_full": 4}}, lost_spool=1)
    assert recorded.counters.of(OVERHEAD) == Overhead(cpu_ns=9)
    assert recorded.counters.of(UNAVAILABLE) == ("csd",)
    assert (recorded.ended, recorded.damage) == ("asked", "")


def test_can_be_read_twice(path: Path) -> None:
    write_spool(path, [some_events(3)])
    recorded = read_spool(path)
    assert summary_of(recorded) == summary_of(recorded)


def test_many_events_come_in_tables_of_bounded_size(path: Path) -> None:
    some = some_events(1_000)
    blocks = [some.copy() for _ in range(600)]
    for number, block in enumerate(blocks):
        block["start_ns"] += number * 1_000_000  # the youngest wait for their triggers
    write_spool(path, blocks, end_ns=START_NS + 1_000_000_000)
    sizes = [len(chunk) for chunk in read_spool(path).chunks()]
    assert sum(sizes) == 600_000
    assert max(sizes) < 300_000


def test_a_recording_without_its_end_is_read_up_to_its_last_event(path: Path) -> None:
    write_spool(path, [some_events(3)], end_ns=None)
    recorded = read_spool(path)
    assert recorded.damage == "it was cut short"
    assert len(all_rows(recorded)) == 3
    assert recorded.end_ns == START_NS + 200 + 52


def paths_of(recorded: Recording) -> list[tuple[str, ...]]:
    return [recorded.sources[i].path for i in all_rows(recorded)["source"]]


def function_event(address: int) -> Events:
    return events({"source": "timer", "id": address, "cpu": 3, "start_ns": START_NS})


def test_a_recording_cut_short_has_the_names_that_were_written_while_it_grew(path: Path) -> None:
    known = {0xFFFF1000 + 0x100 * i: f"function_{i}" for i in range(3)}
    blocks = [function_event(address) for address in known]
    write_spool(path, blocks, symbols=known, symbols_while_growing=True, end_ns=None)
    assert [each[-1] for each in paths_of(read_spool(path))] == list(known.values())


class Lookup:
    """Looks up no process, but says so of each name."""

    def __init__(self) -> None:
        self.told: list[int] = []

    def note(self, names: npt.NDArray[np.void]) -> None:
        self.told += names["tgid"].tolist()

    def news(self) -> dict[str, Any]:
        fresh, self.told = self.told, []
        about = ProcessDetails("ls", "ls /", 1, "/a.service")
        group = {"/a.service": CgroupNames("/a.service", "a.service")}
        return Details(dict.fromkeys(fresh, about), group).to_file() if fresh else {}


def test_who_the_tasks_are_is_written_while_it_grows(path: Path) -> None:
    told = layout().task_name
    assert told is not None
    name = np.zeros(1, told)
    name["tid"] = name["tgid"] = 50
    name["comm"], name["flags"] = b"ls", FLAGS["NAME"]
    with path.open("w+b", buffering=0) as file:
        blocks = PlainBlockFile(file.fileno(), layout())
        writer = SpoolWriter(layout(), blocks)
        writer.write_head({"own_pid": 7}, names(), (2,), Lookup())
        blocks.append(layout().block_kinds["EVENTS"], name.tobytes())
        writer.write_names()
        size = path.stat().st_size
        writer.write_names()
        assert path.stat().st_size == size
    found = read_spool(path)
    assert not len(all_rows(found))
    assert found.directory.describe(50) == "ls 50 (unit a.service)"
    assert found.directory.command(50) == "ls /"


def test_only_symbols_that_occur_are_written(path: Path) -> None:
    known = {0xFFFF1000 + 0x100 * i: f"function_{i}" for i in range(50_000)}
    address = next(iter(known))
    whole = write_spool(path, [function_event(address), function_event(address + 4)], symbols=known)
    assert len(whole) < 20_000
    assert [each[-1] for each in paths_of(read_spool(path))] == ["function_0"] * 2


def test_an_address_without_a_symbol_gets_no_name_of_another_function(path: Path) -> None:
    known = {0xFFFF1000: "function_0", 0xFFFF2000: "function_1"}
    blocks = [function_event(address) for address in known]
    write_spool(path, blocks[:1], symbols=known)
    whole = write_spool(path, blocks, symbols={0xFFFF1000: "function_0"}, end_ns=None)
    assert whole
    assert {each[-1] for each in paths_of(read_spool(path))} == {"0xffff1000", "0xffff2000"}


def test_a_recording_that_begins_with_all_symbols_is_read(path: Path) -> None:
    """As they were written up to version 0.1."""
    whole = write_spool(path, [function_event(0xFFFF1004)], symbols={0xFFFF1000: "function_0"})
    table = SymbolTable(b"%016x t function_0\n" % 0xFFFF1000).pack()
    table += bytes(-len(table) % 8)
    shared = layout()
    head, blocks = whole.index(b"\n", len(MAGIC)) + 1, np.zeros(1, shared.block)
    blocks["magic"], blocks["kind"] = shared.block_magic, shared.block_kinds["SYMBOLS"]
    blocks["bytes"] = len(table)
    old_head = with_head(whole[:head], symbols_complete=True)
    path.write_bytes(old_head + blocks.tobytes() + table + whole[head:])
    assert paths_of(read_spool(path))[0][-1] == "function_0"


def read_all(path: Path) -> Recording | NoisetopError:
    try:
        recorded = read_spool(path)
        summary_of(recorded)
    except NoisetopError as error:
        return error
    return recorded


def is_one_line(found: Recording | NoisetopError) -> bool:
    return isinstance(found, Recording) or str(found).isprintable()


@given(share=st.floats(0, 1, exclude_max=True))
def test_cut_anywhere_it_is_recovered_or_refused_in_one_line(path: Path, share: float) -> None:
    whole = write_spool(path, [some_events(40), some_events(40, 40)], symbols=SYMBOLS)
    path.write_bytes(whole[: int(share * len(whole))])
    found = read_all(path)
    assert is_one_line(found)
    if isinstance(found, Recording):
        assert found.damage == "it was cut short"
        assert len(all_rows(found)) in (0, 40, 80)


@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255))))
def test_damaged_anywhere_it_is_read_or_refused_in_one_line(
    path: Path, changes: list[tuple[float, int]]
) -> None:
    damaged = bytearray(write_spool(path, [some_events(4), timer_event()], symbols=SYMBOLS))
    for share, byte in changes:
        damaged[int(share * len(damaged))] = byte
    path.write_bytes(damaged)
    assert is_one_line(read_all(path))


def with_head(whole: bytes, **changes: object) -> bytes:
    end = whole.index(b"\n", len(MAGIC))
    head = {**json.loads(whole[len(MAGIC) : end]), **changes}
    line = json.dumps(head).encode()
    return MAGIC + line + b" " * (-(len(MAGIC) + len(line) + 1) % 8) + whole[end:]


@pytest.mark.parametrize(
    "changes",
    [
        {"cpus": "all"},
        {"cpus": None},
        {"metadata": [1]},
        {"softirqs": 7},
        {"irq_actions": {"x": []}},
        {"layout": {}},
        {"layout": {"structs": {}, "enums": {}, "sources": [], "block_magic": 1}},
    ],
    ids=str,
)
def test_a_head_that_we_did_not_write_is_refused(path: Path, changes: dict[str, object]) -> None:
    whole = write_spool(path, [some_events(1)])
    path.write_bytes(with_head(whole, **changes))
    with pytest.raises(NoisetopError, match=r"damaged \("):
        read_spool(path)


def test_a_source_that_the_file_does_not_describe_is_refused(path: Path) -> None:
    strange = some_events(1)
    strange["source"] = 255
    write_spool(path, [strange])
    with pytest.raises(NoisetopError, match="damaged"):
        summary_of(read_spool(path))


def test_an_end_before_the_start_is_refused(path: Path) -> None:
    write_spool(path, [], end_ns=START_NS - 1)
    with pytest.raises(NoisetopError, match="ends before it starts"):
        read_spool(path)


def test_nested_brackets_without_end_are_refused(path: Path) -> None:
    path.write_bytes(MAGIC + b"[" * 200_000 + b"\n")
    with pytest.raises(NoisetopError, match="damaged"):
        read_spool(path)


def test_blocks_of_a_later_version_are_passed_over(path: Path) -> None:
    whole = write_spool(path, [some_events(2)], end_ns=None)
    shared = layout()
    later = shared.block_magic.to_bytes(4, "little") + (99).to_bytes(4, "little")
    path.write_bytes(whole + later + (16).to_bytes(8, "little") + b"x" * 16)
    assert len(all_rows(read_spool(path))) == 2


def test_blocks_begin_at_a_multiple_of_eight(path: Path) -> None:
    for host in ("a", "ab", "abcdefgh"):
        with path.open("w+b") as file:
            writer = SpoolWriter(layout(), PlainBlockFile(file.fileno(), layout()))
            writer.write_head({"host": host}, names(), (0,))
        head_bytes = path.read_bytes().index(b"\n", len(MAGIC)) + 1
        assert head_bytes % 8 == 0
