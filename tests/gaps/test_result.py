"""A result survives its file; a file that is no result is one line of error."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisetop.checked_json import sealed
from noisetop.errors import NoisetopError
from noisetop.gaps.files import as_json, check_result_output, looks_like_result, read_result
from noisetop.gaps.result import ProbeResult
from tests.gaps.results import numa_result, spin_result, switch_result, write_result

EVERY = [spin_result(), spin_result(100, 50, explained=False), switch_result(), numa_result()]


@pytest.mark.parametrize("result", EVERY, ids=lambda result: result.kind)
def test_what_is_written_is_read_again(result: ProbeResult, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    write_result(result, path)
    assert looks_like_result(path)
    assert read_result(path) == result


def test_every_documented_field_is_there_and_the_other_way_round() -> None:
    words = (Path(__file__).parents[2] / "docs/probe-result.md").read_text()
    names: set[str] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            names.update(key for key in value if key.isidentifier())
            for one in value.values():
                walk(one)
        elif isinstance(value, list):
            for one in value:
                walk(one)

    for result in EVERY:
        document = result.to_json()
        document["metadata"] = {}
        walk(document)
    data = {"RCU", "p50", "p90", "p99", "min", "max", "mean", "copy", "scale"}
    missing = {name for name in names - data if f"`{name}`" not in words}
    assert not missing


def damaged(**changes: object) -> dict[str, object]:
    document: dict[str, object] = json.loads(as_json(spin_result()))
    return {**document, **changes}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b'{"format": "else"}',
        json.dumps(damaged(version=99)).encode(),
        json.dumps(damaged(kind=3)).encode(),
        json.dumps(damaged(spin=[{"busy_percent": 1}])).encode(),
        json.dumps(damaged(spin={"a": 1})).encode(),
        as_json(spin_result()).encode()[:-40],
    ],
)
def test_anything_else_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(NoisetopError) as error:
        read_result(path)
    assert "\n" not in str(error.value)


@given(st.data())
def test_a_changed_value_is_an_error_or_a_result(data: st.DataObject) -> None:
    document = json.loads(as_json(spin_result()))
    del document["crc32"]
    cpu = document["spin"][0]["cpus"][0]
    key = data.draw(st.sampled_from(sorted(cpu)))
    cpu[key] = data.draw(st.sampled_from([None, 1, -1.5, "x", [], {}, [[1]], {"a": "b"}, True]))
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(sealed(document), file)
    path = Path(file.name)
    try:
        found = read_result(path)
    except NoisetopError as error:
        message = str(error)
        found = None
    finally:
        path.unlink()
    assert found is not None or "damaged" in message


def test_a_name_that_says_nothing_is_refused(tmp_path: Path) -> None:
    for name, kind in (("x.txt", "spin"), ("x.latency.svg.gz", "numa"), ("x", "switch")):
        with pytest.raises(NoisetopError, match="end its name in"):
            check_result_output(tmp_path / name, kind, force=False)


def test_other_files_are_no_results(tmp_path: Path) -> None:
    assert not looks_like_result(tmp_path / "absent")
    (tmp_path / "trace.json").write_text('{"traceEvents": []}')
    assert not looks_like_result(tmp_path / "trace.json")
