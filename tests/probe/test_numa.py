"""Nodes of a made-up machine, and the one cell of this one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from noisetop.errors import UsageError
from noisetop.probe import numa
from noisetop.probe.numa import default_bytes, nodes_of_cpus, nodes_of_memory, run_numa
from noisetop.probe.sampler import MemoryTimes

CPU = max(os.sched_getaffinity(0))


def machine(root: Path) -> None:
    nodes = root / "sys/devices/system/node"
    for node, cpus in ((0, str(CPU)), (1, "4000"), (2, "")):
        (nodes / f"node{node}").mkdir(parents=True)
        (nodes / f"node{node}/cpulist").write_text(cpus)
    (nodes / "has_cpu").write_text("0-1")
    (nodes / "has_memory").write_text("0,2")
    cache = root / "sys/devices/system/cpu/cpu0/cache/index3"
    cache.mkdir(parents=True)
    (cache / "size").write_text("32768K")
    (root / "proc").mkdir()
    (root / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  1048576 kB\n")


def test_nodes_without_a_cpu_that_may_be_used_are_left_out(tmp_path: Path) -> None:
    machine(tmp_path)
    assert nodes_of_cpus(tmp_path) == {0: CPU}
    assert nodes_of_memory(tmp_path) == (0, 2)


def test_a_kernel_without_nodes_has_one(tmp_path: Path) -> None:
    assert nodes_of_cpus(tmp_path) == {0: CPU}
    assert nodes_of_memory(tmp_path) == (-1,)


def test_arrays_exceed_the_cache_but_not_the_memory(tmp_path: Path) -> None:
    machine(tmp_path)
    assert default_bytes(tmp_path) == (1 << 30) // 24
    (tmp_path / "proc/meminfo").write_text("MemAvailable: 104857600 kB\n")
    assert default_bytes(tmp_path) == 128 << 20


def test_every_pair_of_nodes_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine(tmp_path)
    asked = []

    def measure(cpu: int, node: int, array_bytes: int, repeats: int) -> MemoryTimes:
        asked.append((cpu, node))
        ns = [1_000] * repeats
        return MemoryTimes(array_bytes, ns, ns, ns, ns, [90.0] * repeats)

    monkeypatch.setattr(numa, "measure_memory", measure)
    result = run_numa(1 << 20, 2, tmp_path)
    assert asked == [(CPU, 0), (CPU, 2)]
    assert result.notes == []
    # 2 arrays of 1 MiB in 1 µs, 3 for add and triad.
    assert result.cells[0].bandwidth["copy"] == [2 * (1 << 20) / 1_000] * 2
    assert result.cells[0].bandwidth["triad"] == [3 * (1 << 20) / 1_000] * 2


def test_tiny_arrays_are_refused() -> None:
    with pytest.raises(UsageError, match="--size"):
        run_numa(1000, 1)
