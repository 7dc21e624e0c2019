"""Where CPUs lie, as this machine and as recordings tell it."""

from __future__ import annotations

from pathlib import Path

from noisetop.machine.system import topology
from noisetop.machine.topology import CpuPlace, group_name, in_groups, places_of


def test_from_the_files_of_a_machine(tmp_path: Path) -> None:
    base = tmp_path / "sys/devices/system/cpu"
    for cpu in (0, 1):
        for name, text in {
            "topology/core_id": "0",
            "topology/physical_package_id": "1",
            "topology/thread_siblings_list": "0-1",
            "cache/index0/shared_cpu_list": str(cpu),
            "cache/index3/shared_cpu_list": "0-7",
        }.items():
            path = base / f"cpu{cpu}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{text}\n")
        (base / f"cpu{cpu}/node2").mkdir()
    (base / "online").write_text("0-1\n")
    places = places_of(topology(tmp_path))
    assert places == dict.fromkeys((0, 1), CpuPlace(1, 2, "0-7", 0))
    assert group_name(0, places) == "package 1, node 2, cache 0-7"


def test_what_a_recording_does_not_tell_or_tells_wrong() -> None:
    assert places_of(None) == places_of([1]) == {}
    odd = {"x": {}, "1": 5, "2": {"core": "a", "package": "9" * 30, "node": None}}
    assert places_of(odd) == {2: CpuPlace()}
    assert group_name(2, {}) == ""


def test_threads_of_a_core_stand_side_by_side() -> None:
    places = {cpu: CpuPlace(0, 0, "", cpu % 2) for cpu in range(4)}
    assert in_groups(range(4), places) == [[0, 2, 1, 3]]
    assert in_groups([7, 3], {}) == [[3, 7]]
