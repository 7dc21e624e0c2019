"""What is no noise, as stacks beside those of noisetop.summary.noise_stacks."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.columns.side_tables import side_table
from noisetop.summary.noise_stacks import Stack
from noisetop.summary.summary import Summary


def side_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """What is no noise with its time in ns, below roots of its own."""
    for cpu in summary.cpus:
        for noise_class, found in sorted(cpu.side.items()):
            table = side_table(noise_class)
            for one in found:
                yield table.stack_of(one, f"cpu {cpu.cpu}"), one.net_ns
