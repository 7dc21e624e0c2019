"""Noise as stacks: the CPU, then whose doing it was, the path of the source, and who caused it."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.columns.side_tables import side_table
from noisetop.summary.summary import Summary

Stack = tuple[str, ...]
CLASS = 2
"""Place of the class in a stack of noise."""


def noise_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """Each trigger of each source of each CPU with its net time in ns.

    What ran on an idle CPU is left out. Noise of an unknown cause ends with its source.
    """
    for cpu in summary.cpus:
        for source in cpu.sources:
            stack = (f"cpu {cpu.cpu}", source.origin.label, *source.source.path)
            for part in source.triggers:
                label = part.trigger.label
                yield (*stack, f"by {label}") if label else stack, part.net_ns


def side_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """What is no noise with its time in ns, below roots of its own."""
    for cpu in summary.cpus:
        for noise_class, found in sorted(cpu.side.items()):
            table = side_table(noise_class)
            for one in found:
                yield table.stack_of(one, f"cpu {cpu.cpu}"), one.net_ns
