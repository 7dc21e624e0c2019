"""Noise as stacks: the CPU, then the path of the source."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.summary import Summary

Stack = tuple[str, ...]


def noise_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """Each source of each CPU with its net time in ns; what ran on an idle CPU is left out."""
    for cpu in summary.cpus:
        for source in cpu.sources:
            if source.count:
                yield (f"cpu {cpu.cpu}", *source.source.path), source.net_ns
