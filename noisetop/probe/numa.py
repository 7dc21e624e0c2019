"""``noisetop probe numa``: what memory on each node costs a CPU of each node."""

from __future__ import annotations

import os
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.gaps.result import NumaCell, NumaResult
from noisetop.machine.system import ROOT, read_text
from noisetop.probe.sampler import measure_memory
from noisetop.text.cpu_list import parse_cpu_list

# Bytes read and written per byte of one array, as STREAM counts them (McCalpin).
_ARRAYS = {"copy": 2, "scale": 2, "add": 3, "triad": 3}
_CACHES = 4
_DEFAULT_BYTES = 128 << 20
_MEMORY_SHARE = 8
MIN_BYTES = 1 << 20


def nodes_of_cpus(root: Path = ROOT) -> dict[int, int]:
    """A CPU that may be used, of each node that has one."""
    allowed = os.sched_getaffinity(0)
    first: dict[int, int] = {}
    for node in _nodes(root, "has_cpu"):
        listed = read_text(root / f"sys/devices/system/node/node{node}/cpulist")
        cpus = [cpu for cpu in parse_cpu_list(listed) if cpu in allowed] if listed else []
        if cpus:
            first[node] = cpus[-1]
    return first or {0: max(allowed)}


def nodes_of_memory(root: Path = ROOT) -> tuple[int, ...]:
    """Nodes that have memory; node -1 when the kernel knows no nodes."""
    return _nodes(root, "has_memory") or (-1,)


def _nodes(root: Path, name: str) -> tuple[int, ...]:
    text = read_text(root / "sys/devices/system/node" / name)
    return parse_cpu_list(text) if text else ()


def default_bytes(root: Path = ROOT) -> int:
    """Per array: four times the last cache, but no more than an eighth of the free memory."""
    largest = 0
    for size in (root / "sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = read_text(size)
        if text.endswith("K"):
            largest = max(largest, int(text[:-1]) << 10)
    wanted = _CACHES * largest or _DEFAULT_BYTES
    for line in read_text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            wanted = min(wanted, (int(line.split()[1]) << 10) // (3 * _MEMORY_SHARE))
    return max(wanted, MIN_BYTES)


def run_numa(array_bytes: int, repeats: int, root: Path = ROOT) -> NumaResult:
    """Measures every pair of nodes, one after the other."""
    if array_bytes < MIN_BYTES:
        raise UsageError("--size takes at least 1 MiB")
    cpus, memories = nodes_of_cpus(root), nodes_of_memory(root)
    cells = [
        _measure(cpu_node, cpu, memory, array_bytes, repeats)
        for cpu_node, cpu in sorted(cpus.items())
        for memory in memories
    ]
    notes = []
    if len(cells) == 1:
        notes.append("This machine has one memory node: there is no remote memory to compare.")
    return NumaResult(array_bytes=array_bytes, cells=cells, notes=notes)


def _measure(cpu_node: int, cpu: int, memory: int, array_bytes: int, repeats: int) -> NumaCell:
    times = measure_memory(cpu, memory, array_bytes, repeats)
    measured = {"copy": times.copy, "scale": times.scale, "add": times.add, "triad": times.triad}
    bandwidth = {
        name: [arrays * times.array_bytes / max(ns, 1) for ns in measured[name]]
        for name, arrays in _ARRAYS.items()
    }
    return NumaCell(
        cpu_node=cpu_node,
        cpu=cpu,
        memory_node=max(memory, 0),
        bandwidth=bandwidth,
        latency_ns=times.access,
    )
