"""The folder of a fleet: what is in it, written again, joined, killed."""

from __future__ import annotations

import glob
import json
import multiprocessing
import os
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import pyarrow.parquet
import pytest

from noisetop import cli
from noisetop.errors import NoisetopError, UsageError
from noisetop.events.source_groups import group_path
from noisetop.exporters.parquet_table import parquet_writer
from noisetop.flat_tables import all_tables
from noisetop.flat_tables.schema import TEXT
from noisetop.fleet import partition as partitions
from noisetop.fleet.compact import compact
from noisetop.fleet.exchange import exchange
from noisetop.fleet.folder import MARKER, Fleet, create_fleet, open_fleet, open_fleets
from noisetop.fleet.run import Anonymity, parse_label, run_head
from noisetop.fleet.tables import ALWAYS, fleet_tables
from noisetop.fleet.write import write_run
from noisetop.recording.open import open_recording
from noisetop.summary.recorded import summary_of
from tests.fleet.fleets import fleet_of, host
from tests.recordings import DATA, HOSTILE, recording

NOISY = DATA / "noisy.noisetop"


def rows(path: Path, table: str, what: str = "*", *, hive: bool = False) -> list[Any]:
    """What DuckDB reads by itself, as somebody else would."""
    files = f"{glob.escape(str(path))}/{table}/**/*.parquet".replace("'", "''")
    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        return connection.execute(
            f"SELECT {what} FROM read_parquet('{files}', hive_partitioning = {hive})"
        ).fetchall()


def sums(fleet: Fleet) -> list[Any]:
    """Everything that must not change."""
    found: list[Any] = []
    for table in ("runs", "sources", "buckets", "moments"):
        found.append(sorted(map(str, rows(fleet.path, table))))
    return found


def test_sums_are_those_of_the_report(tmp_path: Path) -> None:
    out = tmp_path / "fleet"
    assert cli.run(["export", str(NOISY), "-o", f"{out}/", "--label", "env=prod"]) == 0
    summary = summary_of(open_recording(NOISY))
    whole = summary.all_cpus()
    assert rows(out, "sources", "sum(net_ns) FILTER (kind = 'noise')") == [(summary.noise_ns,)]
    assert rows(out, "buckets", "sum(count) FILTER (kind = 'noise')") == [(whole.count,)]
    about = "host, labels, fleet_version, external_ns, cpu_count"
    labels = '{"env": "prod"}'
    assert rows(out, "runs", about) == [("noisy", labels, 1, whole.external_ns, 2)]
    assert rows(out, "moments", "max(noise_ns)") == [(whole.max_single_ns,)]
    assert not (out / "events").exists()


def test_folders_are_hive_partitions(tmp_path: Path) -> None:
    fleet_of(tmp_path / "fleet", [(host(3), {})])
    plain = rows(tmp_path / "fleet", "sources", "DISTINCT CAST(day AS TEXT), host")
    assert plain == rows(
        tmp_path / "fleet", "sources", "DISTINCT CAST(day AS TEXT), host", hive=True
    )
    assert plain == [("2026-11-01", "node-3")]


def test_all_numbers_are_signed(tmp_path: Path) -> None:
    assert set(fleet_tables()) == set(all_tables())
    fleet_of(tmp_path / "fleet", [(host(0), {})])
    for name in ALWAYS:
        columns = fleet_tables()[name].columns
        files = f"{tmp_path}/fleet/{name}/**/*.parquet"
        with duckdb.connect(":memory:", config={"threads": 1}) as connection:
            found = connection.execute(
                f"DESCRIBE SELECT * FROM read_parquet('{files}', hive_partitioning = false)"
            ).fetchall()
        types = {TEXT: "VARCHAR", "int64": "BIGINT", "bool": "BOOLEAN"}
        assert [(one[0], one[1]) for one in found] == [(c.name, types[c.type]) for c in columns]


@pytest.mark.parametrize("joined", [False, True])
def test_the_same_run_is_replaced(tmp_path: Path, joined: bool) -> None:
    fleet = fleet_of(
        tmp_path / "fleet", [(host(1, seed=n, day=0, target=f"run {n}"), {}) for n in range(3)]
    )
    if joined:
        compact(fleet)
    before = sums(fleet)
    again = host(1, seed=1, target="run 1")
    with parquet_writer() as writer:
        write_run(fleet, again, writer, labels={}, anonymity=Anonymity(), events=False)
        assert sums(fleet) == before
        write_run(fleet, again, writer, labels={"a": "b"}, anonymity=Anonymity(), events=True)
    assert rows(fleet.path, "runs", "count(*), count(DISTINCT run)") == [(3, 3)]
    assert rows(fleet.path, "runs", "count(*) FILTER (labels <> '{}')") == [(1,)]
    assert rows(fleet.path, "events", "count(*) > 100") == [(True,)]


@pytest.mark.parametrize("older", [0, 1])
def test_files_from_before_a_column_came_are_joined_with_later_ones(
    tmp_path: Path, older: int
) -> None:
    runs: list[Any] = [(host(1, seed=n, target=f"run {n}"), {}) for n in range(2)]
    fleet = fleet_of(tmp_path / "fleet", runs)
    path = sorted(fleet.files("runs"))[older]
    before = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(before.drop_columns(["losses"]), path)
    compact(fleet)
    assert len(fleet.files("runs")) == 1
    found = rows(fleet.path, "runs", "run, losses", hive=False)
    ((run, _),) = (one for one in found if one[1] is None)
    assert [run] == before["run"].to_pylist()
    assert {losses for _, losses in found} == {None, "lost 0"}


def test_joining_changes_no_row(tmp_path: Path) -> None:
    runs = [(host(n % 2, seed=n, target=f"run {n}"), {"n": str(n)}) for n in range(6)]
    fleet = fleet_of(tmp_path / "it's [1]", runs)
    before = sums(fleet)
    done = compact(fleet)
    assert (done.before, done.after, done.joined) == (24, 8, 8)
    assert sums(fleet) == before
    assert compact(fleet).joined == 0


def kill_at(path: Path, place: str) -> None:
    """Joins the files of a fleet and dies there."""

    def die(*arguments: Any) -> None:
        if place == "after":
            exchange(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(partitions, "copy" if place == "join" else "exchange", die):
        compact(open_fleet(path))


@pytest.mark.parametrize("place", ["join", "before", "after"])
def test_killed_while_joining_no_row_is_lost_or_doubled(tmp_path: Path, place: str) -> None:
    fleet = fleet_of(
        tmp_path / "fleet", [(host(1, seed=n, target=f"run {n}"), {}) for n in range(3)]
    )
    before = sums(fleet)
    process = multiprocessing.get_context("fork").Process(target=kill_at, args=(fleet.path, place))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert sums(fleet) == before
    compact(fleet)
    assert sums(fleet) == before
    assert not list(fleet.path.rglob(".*"))


def test_names_of_hosts_are_hashed(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("secret\n")
    out = f"{tmp_path}/fleet/"
    hashed = ["export", str(NOISY), "-o", out, "--hash-hosts", "--hash-key", str(key)]
    assert cli.run(hashed) == 0
    assert cli.run(hashed) == 0
    (name, command) = rows(Path(out), "runs", "host, command")[0]
    assert len(rows(Path(out), "runs")) == 1
    assert len(name) == 20
    assert command == ""
    assert name != run_head(open_recording(NOISY), {}, Anonymity(True)).host
    for file in Path(out).rglob("*"):
        assert "noisy" not in file.name
        assert file.is_dir() or b"noisy" not in file.read_bytes()
    with pytest.raises(UsageError, match="named in another way: use the same --hash-hosts"):
        cli.run(["export", str(NOISY), "-o", out])
    with pytest.raises(UsageError, match="name their hosts in different ways"):
        open_fleets([Path(out), create_fleet(tmp_path / "other", "names").path])


@pytest.mark.parametrize(
    "name", ["../../up", "a/b", "", ".", "x" * 5000, "é" * 64, HOSTILE, "a'b\"[c]"]
)
def test_any_name_of_a_host_stays_in_the_folder(tmp_path: Path, name: str) -> None:
    made = host(1)
    made.metadata["host"] = name
    fleet = fleet_of(tmp_path / "fleet", [(made, {})])
    (file,) = fleet.files("runs")
    assert file.resolve().is_relative_to(fleet.path.resolve() / "runs" / "day=2026-11-01")
    assert rows(fleet.path, "runs", "host") == [((name or "unknown")[:64],)]


@pytest.mark.parametrize(
    "started", ["", "yesterday", "2026-11-01", "0001-01-01T00:00:00+00:00", "../x"]
)
def test_a_run_without_a_date_has_an_unknown_day(started: str) -> None:
    head = run_head(recording(metadata={"host": "a", "started": started}), {})
    assert (head.day, head.started_ns) == ("unknown", 0)


def test_what_is_no_fleet_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no fleet: .* -o .*empty/ writes"):
        open_fleet(tmp_path / "empty")
    with pytest.raises(UsageError, match="there is no folder"):
        open_fleet(tmp_path / "none")
    with pytest.raises(UsageError, match="is a file: noisetop export"):
        open_fleet(NOISY)
    fleet = create_fleet(tmp_path / "fleet", "names")
    (fleet.path / MARKER).write_text(json.dumps({"fleet_version": 9, "hosts": "names"}))
    with pytest.raises(NoisetopError, match="is of version 9 of the tables, this noisetop reads 1"):
        open_fleet(fleet.path)
    for text in ("", "[]", "{}", "[" * 50_000, '{"hosts": 1}'):
        (fleet.path / MARKER).write_text(text)
        with pytest.raises(NoisetopError, match="is damaged"):
            open_fleet(fleet.path)
    (tmp_path / "empty" / "file").touch()
    with pytest.raises(UsageError, match="holds other files: give an empty folder"):
        create_fleet(tmp_path / "empty", "names")


def test_one_bad_file_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    none = str(tmp_path / "none")
    assert cli.run(["export", none, str(NOISY), "-o", f"{tmp_path}/fleet/"]) == 1
    assert "1 of 2 files are not in" in capsys.readouterr().err
    assert len(rows(tmp_path / "fleet", "runs")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a", "b", "-o", "c.csv"], "2 recordings take a folder as output: -o DIR/"),
        (["a", "-o", "c.csv", "--label", "a=b"], "--label takes a folder as output"),
        (["a", "-o", "c.csv", "--hash-hosts"], "--hash-hosts takes a folder"),
        (["a", "-o", "c/", "--table", "runs"], "c/ gets all tables: leave out --table"),
        (["a", "-o", "c/", "--hash-key", "k"], "--hash-key is for --hash-hosts: add that"),
        (["a", "-o", "c/", "--hash-hosts", "--hash-key", "none"], "cannot read none"),
    ],
)
def test_what_cannot_be_is_one_line(arguments: Iterable[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cli.run(["export", *arguments])


@pytest.mark.parametrize("text", ["", "a", "=b", "a=", "a b=c", "a,b=c"])
def test_labels_are_checked(text: str) -> None:
    assert parse_label("env=a=b, c") == ("env", "a=b, c")
    with pytest.raises(UsageError, match="is no label: write KEY=VALUE"):
        parse_label(text)


@pytest.mark.parametrize(
    ("label", "group"),
    [
        ("irq › 36 virtio1-req.0", "irq › virtio*-req.*"),
        ("thread › kworker/u8:3-events › flush_to_ldisc", "thread › kworker/* › flush_to_ldisc"),
        ("thread › ksoftirqd/1 › NET_RX", "thread › ksoftirqd/* › NET_RX"),
        ("softirq › TIMER › tcp_v4_timer", "softirq › TIMER › tcp_v4_timer"),
        ("ipi", "ipi"),
    ],
)
def test_numbers_of_a_host_are_no_part_of_a_group(label: str, group: str) -> None:
    assert group_path(tuple(label.split(" › "))) == tuple(group.split(" › "))


def test_a_place_that_cannot_be_exchanged_keeps_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(NoisetopError, match="cannot replace"):
        exchange(tmp_path / "a", tmp_path / "none")
    assert (tmp_path / "a").is_dir()
