"""The Python interface, as docs/api.md describes it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import noisetop
from noisetop import api
from noisetop.events.origin import Origin
from noisetop.flat_tables import all_tables
from noisetop.flat_tables.schema import TEXT
from noisetop.recording.open import open_recording
from noisetop.summary.as_dict import summary_as_dict
from noisetop.summary.recorded import summary_of
from tests.recordings import DATA, everything

_PAGE = (Path(__file__).parents[1] / "docs/api.md").read_text()
_RECORDINGS = sorted(DATA.rglob("*.noisetop"))


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(DATA / "noisy.noisetop", tmp_path / "noise.noisetop")
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", _PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for example in examples:
        exec(example, names)
    assert len(examples) == 5
    noise_ns = summary_of(open_recording(DATA / "noisy.noisetop")).noise_ns
    assert names["total_ns"] == noise_ns
    assert "b'1'" in capsys.readouterr().out


def test_the_page_has_the_fields_of_the_array() -> None:
    listed = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", _PAGE, re.MULTILINE)
    names = api.INTERRUPTION.names or ()
    assert listed == [(name, str(api.INTERRUPTION[name])) for name in names]


@pytest.mark.parametrize("path", _RECORDINGS, ids=lambda path: path.stem)
def test_the_summary_is_that_of_a_report(path: Path) -> None:
    assert noisetop.open(path).summary() == summary_as_dict(summary_of(open_recording(path)))


@pytest.mark.parametrize("path", _RECORDINGS, ids=lambda path: path.stem)
def test_the_interruptions_add_up_to_the_report(path: Path) -> None:
    recording = noisetop.open(path)
    table, summary = recording.interruptions(), recording.summary()
    for cpu, about in summary["cpus"].items():
        mine = table[table["cpu"] == int(cpu)]
        assert len(mine) == about["count"]
        noise = mine[mine["victim_tid"] != 0]
        assert int(noise["net_ns"].sum()) == about["noise_ns"]
        for one in about["sources"]:
            number = recording.sources.index(tuple(one["path"]))
            origin = api.ORIGINS.index(one["origin"])
            same = mine[(mine["source"] == number) & (mine["origin"] == origin)]
            alike = [other for other in about["sources"] if _is_same(one, other)]
            assert len(same) == sum(other["count"] for other in alike)
            net_ns = int(same["net_ns"][same["victim_tid"] != 0].sum())
            assert net_ns == sum(other["net_ns"] for other in alike)


def _is_same(one: dict[str, object], other: dict[str, object]) -> bool:
    return (one["path"], one["origin"]) == (other["path"], other["origin"])


def test_names_are_complete_before_anything_was_read() -> None:
    recording = noisetop.open(DATA / "0.2/raw.noisetop")
    tids = {int(row["victim_tid"]) for row in recording.interruptions()} - {0}
    fresh = noisetop.open(DATA / "0.2/raw.noisetop")
    assert {fresh.task_name(tid) for tid in tids} == {recording.task_name(tid) for tid in tids}
    assert fresh.sources == recording.sources
    assert fresh.triggers[0] == ""
    assert fresh.task_name(0) == ""


def test_a_period_is_told() -> None:
    stored = open_recording(DATA / "noisy.noisetop")
    recording = api.Recording(stored)
    assert (recording.start_ns, recording.end_ns) == (stored.start_ns, stored.end_ns)
    assert recording.duration_ns == stored.duration_ns
    assert recording.cpus == stored.cpus
    assert recording.damage == ""
    recording.metadata["host"] = "another"
    assert stored.metadata["host"] != "another"


def test_no_file_is_one_line() -> None:
    with pytest.raises(noisetop.NoisetopError, match="there is no file nowhere"):
        noisetop.open("nowhere")


@pytest.mark.parametrize("name", all_tables())
def test_arrow_has_the_columns_of_the_tables(name: str) -> None:
    table = api.Recording(everything()).to_arrow(name)
    columns = all_tables()[name].columns
    assert table.schema.names == [one.name for one in columns]
    for column in columns:
        found = table.schema.field(column.name).type
        assert str(found).startswith("dictionary<values=string") == (column.type == TEXT)
        assert column.nullable or table[column.name].null_count == 0
    assert table.to_pandas().shape == (table.num_rows, len(columns))
    assert table.schema.metadata[b"noisetop_table"] == name.encode()


@pytest.mark.parametrize("name", all_tables())
def test_pandas_has_the_values_of_arrow(name: str) -> None:
    recording = noisetop.open(DATA / "noisy.noisetop")
    frame, rows = recording.to_pandas(name), recording.to_arrow(name).to_pylist()
    columns = all_tables()[name].columns
    for column in columns:
        values = frame[column.name].astype(object).tolist()
        expected = [row[column.name] for row in rows]
        assert [None if value is pandas.NA else value for value in values] == expected


def test_nothing_recorded_gives_tables_without_rows() -> None:
    recording = noisetop.open(DATA / "quiet.noisetop")
    assert recording.to_arrow().num_rows == 0
    assert recording.to_pandas().shape == (0, len(all_tables()["events"].columns))
    assert recording.interruptions().dtype == api.INTERRUPTION
    assert len(recording.interruptions()) == 0


@pytest.mark.parametrize(("method", "package"), [("to_arrow", "pyarrow"), ("to_pandas", "pandas")])
def test_what_is_not_installed_is_one_line(
    method: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(noisetop.NoisetopError, match=f"pip install {package}$"):
        getattr(api.Recording(everything()), method)()


def test_an_unknown_table_is_told() -> None:
    with pytest.raises(noisetop.NoisetopError, match="choose one of buckets, events, moments"):
        api.Recording(everything()).to_arrow("rows")


def test_origins_and_flags_are_those_of_the_tables() -> None:
    assert len(api.ORIGINS) == len(Origin)
    assert api.Flag(1) is api.Flag.OUTERMOST
    assert np.dtype(api.INTERRUPTION).itemsize == 53


def test_the_import_is_light() -> None:
    code = (
        "import noisetop, sys; assert 'numpy' not in sys.modules; assert 'open' in dir(noisetop); "
        "noisetop.open; assert 'numpy' in sys.modules; "
        "assert not {'duckdb', 'pandas', 'pyarrow'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = noisetop.nothing  # type: ignore[attr-defined]
