"""Results that no probe makes: each is refused, and no command fails on one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from noisetop.checked_json import sealed
from noisetop.cli import run
from noisetop.errors import NoisetopError
from noisetop.gaps.files import as_json, read_result
from noisetop.gaps.result import ProbeResult
from tests.gaps.results import numa_result, spin_result, switch_result

MADE = {"spin": spin_result, "switch": switch_result, "numa": numa_result}


def changed(kind: str, change: Callable[[Any], object], path: Path) -> Path:
    document = json.loads(as_json(MADE[kind]()))
    del document["crc32"]
    whole: Any = document[kind]
    change(whole[0]["cpus"][0] if kind == "spin" else whole)
    path.write_text(json.dumps(sealed(document)))
    return path


CHANGES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "ends before it starts": ("spin", lambda cpu: cpu.update(end_ns=5)),
    "a negative count": ("spin", lambda cpu: cpu.update(gaps=-1)),
    "a negative bar": ("spin", lambda cpu: cpu["buckets"][0].update(count=-1)),
    "more unstored than there were": ("spin", lambda cpu: cpu.update(unstored_gaps=9)),
    "no median": ("spin", lambda cpu: cpu["percentiles_ns"].pop("p50")),
    "a bucket that is none": ("spin", lambda cpu: cpu["histogram"].update({"99999": 1})),
    "a bucket without a number": ("spin", lambda cpu: cpu["histogram"].update({"x": 1})),
    "a point of three": ("spin", lambda cpu: cpu["curve"].append([1.0, 2.0, 3.0])),
    "a share above one": ("spin", lambda cpu: cpu["curve"].append([1.5, 2.0])),
    "a gap of one moment": ("spin", lambda cpu: cpu["timeline"].append([1])),
    "a gap backwards": ("spin", lambda cpu: cpu["timeline"].append([2, 1])),
    "no period": ("spin", lambda cpu: cpu["regular"].update(period_ns=0.0)),
    "blocks of no length": ("spin", lambda cpu: cpu["blocks"].update(length_ns=0)),
    "blocks of two sizes": ("spin", lambda cpu: cpu["blocks"]["lost_ns"].pop()),
    "a source of one row": ("spin", lambda cpu: cpu["blocks"]["sources"].update(x=[[1]])),
    "a source without blocks": ("spin", lambda cpu: cpu["blocks"]["sources"].update(x=[[], []])),
    "no time": ("switch", lambda switch: switch.update(duration_ns=0)),
    "no processes": ("switch", lambda switch: switch.update(processes=[])),
    "a slice of four": ("switch", lambda switch: switch["timeline"].append([1, 2, 3, 4])),
    "a slice backwards": ("switch", lambda switch: switch["timeline"].append([0, 9, 8])),
    "no cells": ("numa", lambda numa: numa.update(cells=[])),
    "cells that differ": ("numa", lambda numa: numa["cells"][0]["bandwidth"].pop("copy")),
    "nothing measured": ("numa", lambda numa: numa["cells"][0].update(latency_ns=[])),
    "a negative speed": ("numa", lambda numa: numa["cells"][0].update(latency_ns=[-1.0])),
}


@pytest.mark.parametrize(("kind", "change"), CHANGES.values(), ids=CHANGES)
def test_what_no_probe_makes_is_refused(
    tmp_path: Path, kind: str, change: Callable[[Any], object]
) -> None:
    path = changed(kind, change, tmp_path / "a.json")
    for command in (["report"], ["export", "-o", str(tmp_path / "a.svg")], ["compare", str(path)]):
        with pytest.raises(NoisetopError, match="is damaged: "):
            run([command[0], str(path), *command[1:]])


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_result_is_what_a_probe_makes(tmp_path: Path, made: Callable[[], ProbeResult]) -> None:
    path = tmp_path / "a.json"
    path.write_text(as_json(made()))
    assert read_result(path) == made()


def test_a_kind_that_is_not_that_of_the_content(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    document = json.loads(as_json(spin_result()))
    path.write_text(json.dumps({**document, "crc32": None, "kind": "numa"}))
    with pytest.raises(NoisetopError, match="its checksum does not fit"):
        read_result(path)
    del document["crc32"]
    path.write_text(json.dumps(sealed({**document, "kind": "numa"})))
    with pytest.raises(NoisetopError, match="its kind is not that of its content"):
        read_result(path)


def test_only_old_files_lack_a_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    document = json.loads(as_json(spin_result()))
    del document["crc32"]
    path.write_text(json.dumps(document))
    with pytest.raises(NoisetopError, match="its checksum is missing"):
        read_result(path)
    path.write_text(json.dumps({**document, "version": 1}))
    assert read_result(path) == spin_result()


def test_names_in_a_result_are_harmless_on_a_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = changed("numa", lambda numa: numa.update(notes=["\x1b[31mred"]), tmp_path / "a.json")
    assert run(["report", "--no-pager", str(path)]) == 0
    assert "\x1b" not in capsys.readouterr().out
