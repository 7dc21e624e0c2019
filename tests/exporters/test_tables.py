"""CSV and Parquet: their readers give what was recorded, and the sums of a report."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop import cli
from noisetop.counters.losses import LOSSES, Losses, describe_losses
from noisetop.errors import NoisetopError, UsageError
from noisetop.events.interruption import Source
from noisetop.exporters import (
    csv_table,
    csv_table_gzip,
    noisetop_file,
    parquet_table,
    recording_output,
)
from noisetop.exporters._csv_rows import csv_rows
from noisetop.flat_tables import all_tables, events
from noisetop.flat_tables.schema import BOOL, TEXT, Texts
from noisetop.recording.open import open_recording
from noisetop.recording.recording import Recording
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import summary_of
from tests.builders import side_figures
from tests.recordings import (
    DATA,
    HOSTILE,
    everything,
    interruption,
    recording,
    table,
)

_RECORDINGS = sorted(DATA.rglob("*.noisetop"))
_NAMES = st.text(max_size=12) | st.sampled_from(
    ["", " ", '"', '""', "a,b", "a\nb", "a\r\nb", "=cmd()", "\x00", "\x1b[2J", "\ud800", HOSTILE]
)
Row = dict[str, Any]


def csv_of(recorded: Recording, name: str = "events") -> list[Row]:
    """The rows that csv reads, with values of the types of the columns."""
    out = io.BytesIO()
    csv_table.write_table(recorded, out, name)
    rows = csv.DictReader(io.StringIO(out.getvalue().decode(), newline=""), strict=True)
    assert rows.fieldnames == [column.name for column in all_tables()[name].columns]
    return [_typed(row, name) for row in rows]


def _typed(row: dict[str, str], name: str) -> Row:
    typed: Row = {}
    for column in all_tables()[name].columns:
        text = row[column.name]
        if column.type == TEXT:
            typed[column.name] = text
        elif column.type == BOOL:
            typed[column.name] = {"true": True, "false": False}[text]
        else:
            assert text.isdigit() if text else column.nullable
            typed[column.name] = int(text) if text else None
    return typed


def parquet_of(recorded: Recording, path: Path, name: str = "events") -> list[Row]:
    """The rows that DuckDB reads."""
    with path.open("wb") as out:
        parquet_table.write_table(recorded, out, name)
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        found = connection.execute("SELECT * FROM read_parquet($path)", {"path": str(path)})
        names = [about[0] for about in found.description or ()]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


Sums = dict[tuple[int, str, str], tuple[int, int]]


def _sums_of_report(path: Path) -> Sums:
    """Count and net time by CPU, source and origin."""
    counts: Counter[tuple[int, str, str]] = Counter()
    net_ns: Counter[tuple[int, str, str]] = Counter()
    document: Any = summary_as_dict(summary_of(open_recording(path)))
    for cpu, about in document["cpus"].items():
        for one in about["sources"]:
            key = int(cpu), " › ".join(one["path"]), one["origin"]
            counts[key] += one["count"]
            net_ns[key] += one["net_ns"]
    return {key: (counts[key], net_ns[key]) for key in counts}


def _sums_of_events(rows: Iterable[Row]) -> Sums:
    sums: Sums = {}
    for row in rows:
        if row["kind"] != "side":
            key = row["cpu"], row["source"], row["origin"]
            count, net_ns = sums.get(key, (0, 0))
            sums[key] = count + 1, net_ns + row["net_ns"] * (row["kind"] == "noise")
    return sums


def _sums_of_sources(rows: Iterable[Row]) -> Sums:
    sums: Sums = {}
    for row in rows:
        if row["kind"] == "noise":
            key = row["cpu"], row["source"], row["origin"]
            count, net_ns = sums.get(key, (0, 0))
            sums[key] = count + row["count"], net_ns + row["net_ns"]
    return sums


@pytest.mark.parametrize("path", _RECORDINGS, ids=lambda path: path.stem)
def test_every_reader_gets_the_sums_of_the_report(path: Path, tmp_path: Path) -> None:
    expected, recorded, out = _sums_of_report(path), open_recording(path), tmp_path / "a.parquet"
    events = csv_of(recorded)
    assert _sums_of_events(events) == expected
    assert _sums_of_sources(csv_of(recorded, "sources")) == expected
    assert _sums_of_events(parquet_of(recorded, out)) == expected
    assert _sums_of_events(pyarrow.parquet.read_table(out).to_pylist()) == expected
    assert _sums_of_sources(parquet_of(recorded, out, "sources")) == expected
    buckets: Counter[tuple[int, str, str]] = Counter()
    for row in csv_of(recorded, "buckets"):
        if row["kind"] == "noise":
            buckets[row["cpu"], row["source"], row["origin"]] += row["count"]
    noise = [row for row in events if row["kind"] == "noise"]
    assert buckets == Counter((row["cpu"], row["source"], row["origin"]) for row in noise)
    run = csv_of(recorded, "runs")[0]
    assert run["noise_ns"] == sum(net_ns for _, net_ns in expected.values())
    assert run["count"] == sum(count for count, _ in expected.values())
    losses = recorded.counters.of(LOSSES)
    assert (run["lost"], run["losses"]) == (losses.total, describe_losses(losses))


@pytest.mark.parametrize("name", all_tables())
def test_parquet_and_csv_are_the_same_table(name: str, tmp_path: Path) -> None:
    for recorded in (everything(), open_recording(DATA / "noisy.noisetop"), recording()):
        expected = csv_of(recorded, name)
        path = tmp_path / "a.parquet"
        assert parquet_of(recorded, path, name) == expected
        schema = pyarrow.parquet.read_schema(path)
        for column in all_tables()[name].columns:
            found = str(schema.field(column.name).type)
            assert found == {TEXT: "string"}.get(column.type, column.type)
        assert schema.metadata[b"noisetop_table"] == name.encode()
        assert schema.metadata[b"noisetop_schema_version"] == b"1"
        losses = describe_losses(recorded.counters.of(LOSSES))
        assert schema.metadata[b"noisetop_losses"].decode() == losses
        assert schema.metadata[b"noisetop_damage"].decode() == recorded.damage


def test_an_event_is_a_row() -> None:
    rows = csv_of(everything())
    first, last = rows[1], rows[-1]
    assert (first["net_ns"], first["kind"], first["class"]) == (800, "noise", "timer")
    assert (first["trigger"], first["trigger_cpu"], first["trigger_ns"]) == ("tick", None, None)
    assert (first["victim"], first["outermost"], first["entry"]) == ("victim", True, False)
    assert (last["trigger"], last["trigger_tid"], last["trigger_cpu"]) == (
        "stress-ng 4711",
        4711,
        0,
    )
    assert [row["kind"] for row in rows] == [*["noise"] * 3, *["side"] * 2, "idle", "noise"]
    assert rows[2]["source"] == f"thread › {HOSTILE} › {HOSTILE}"


@given(st.lists(_NAMES, min_size=1, max_size=4))
def test_names_are_not_changed(names: list[str]) -> None:
    sources = [Source(("thread", name)) for name in names]
    rows = [interruption(10 * at, 5, source=at % len(sources)) for at in range(9)]
    recorded = recording(table(*rows), sources=sources, tasks={100: names[0]})
    found = csv_of(recorded)
    told = [name.encode(errors="replace").decode() for name in names]
    assert [row["source"] for row in found] == [
        f"thread › {told[at % len(told)]}" for at in range(9)
    ]
    assert {row["victim"] for row in found} == {told[0]}


def test_very_long_names_take_few_rows_at_a_time() -> None:
    text = '"' * (1 << 20)
    numbers = np.zeros(40, np.int64)
    parts = list(csv_rows({"a": Texts(numbers, [text]), "b": np.arange(40, dtype=np.uint64)}))
    assert len(parts) > 1
    assert max(map(len, parts)) < 1 << 26
    rows = b"".join(parts).decode().split("\r\n")
    assert [row.rpartition(",")[2] for row in rows[:-1]] == [str(at) for at in range(40)]


def test_lines_end_as_the_rfc_has_it_and_all_texts_are_quoted() -> None:
    out = io.BytesIO()
    csv_table.write(recording(table(interruption(0, 30, source=1))), out)
    head, row, rest = out.getvalue().decode().split("\r\n")
    assert rest == ""
    assert head.startswith("start_ns,gross_ns,net_ns,cpu,kind,class,")
    assert row == (
        '5000000000,30,30,2,"noise","softirq","softirq › RCU","unattributed",100,"victim",100,'
        '"victim","",0,,,2,true,false,false'
    )


def test_compressed_csv_is_the_same() -> None:
    plain, packed = io.BytesIO(), io.BytesIO()
    csv_table.write(everything(), plain)
    csv_table_gzip.write(everything(), packed)
    assert gzip.decompress(packed.getvalue()) == plain.getvalue()


def test_many_rows_keep_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_ROWS", 1000)
    recorded = open_recording(DATA / "noisy.noisetop")
    rows = parquet_of(recorded, tmp_path / "a.parquet")
    assert rows == csv_of(recorded)
    starts = np.concatenate([chunk["start_ns"] for chunk in recorded.all_chunks()])
    assert [row["start_ns"] for row in rows] == starts.tolist()


def test_numbers_that_are_too_large_to_look_up_are_sorted() -> None:
    rows = [interruption(at, 5, victim=4_294_967_295 - at) for at in range(3)]
    found = csv_of(recording(table(*rows)))
    assert [row["victim_tid"] for row in found] == [4_294_967_295, 4_294_967_294, 4_294_967_293]


THREADS = """
import sys
from pathlib import Path
import duckdb
from noisetop.exporters import parquet_table

def threads():
    return len(list(Path("/proc/self/task").iterdir()))

before = threads()
with parquet_table.connect(Path(sys.argv[1])) as connection:
    connection.execute("SELECT count(*) FROM range(1000000)").fetchall()
    print(threads() - before)
"""


def test_duckdb_starts_no_thread(tmp_path: Path) -> None:
    """In a process of its own: here others may come and go meanwhile."""
    command = [sys.executable, "-c", THREADS, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


def test_duckdb_sees_one_folder(tmp_path: Path) -> None:
    with parquet_table.connect(tmp_path) as connection:
        for statement in (
            "COPY (SELECT 1) TO '/tmp/noisetop-test.parquet'",
            "SELECT * FROM read_csv('/etc/passwd')",
            "INSTALL httpfs",
            "SET threads = 8",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)


def test_without_duckdb_one_line_says_what_to_type(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    monkeypatch.setattr(parquet_table, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'noisetop\[tables\]'$"):
        recording_output(tmp_path / "a.parquet", force=False)
    assert list(tmp_path.iterdir()) == []


def test_what_duckdb_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise duckdb.IOException("IO Error: no space left\nmore of it")

    monkeypatch.setattr(parquet_table, "copy", refuse)
    with pytest.raises(NoisetopError, match="no space left: set TMPDIR to a folder with room"):
        parquet_table.write(everything(), io.BytesIO())


@pytest.mark.parametrize("name", all_tables())
def test_the_command_writes_the_table_that_is_asked_for(name: str, tmp_path: Path) -> None:
    out, path = tmp_path / "a.csv", DATA / "noisy.noisetop"
    assert cli.run(["export", str(path), "-o", str(out), "--table", name]) == 0
    expected = io.BytesIO()
    csv_table.write_table(open_recording(path), expected, name)
    assert out.read_bytes() == expected.getvalue()


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("ring_full", "LOST 3 events: ring full 3 (CPU 2)"),
        ("switch", "lost 0, unpaired 3: switch 3 (CPU 2)"),
        ("", ""),
    ],
)
def test_what_is_missing_is_said(
    reason: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.noisetop"
    losses = Losses({2: {reason: 3}} if reason else {})
    with path.open("wb") as out:
        noisetop_file.write(recording(counters=side_figures(losses=losses)), out)
    assert cli.run(["export", str(path), "-o", str(tmp_path / "a.csv")]) == 0
    assert capsys.readouterr().err == (f"noisetop: {path}: {said}\n" if said else "")


def test_other_formats_hold_no_table(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--table takes \.csv, \.csv\.gz or \.parquet"):
        recording_output(tmp_path / "a.json", force=False, table="runs")
