"""Noise as stacks: the CPU, then the path of the source, then who caused it."""

from __future__ import annotations

from collections.abc import Iterator

from noisetop.summary import Summary

Stack = tuple[str, ...]


def noise_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """Each trigger of each source of each CPU with its net time in ns.

    What ran on an idle CPU is left out. Noise of an unknown cause ends with its source.
    """
    for cpu in summary.cpus:
        for source in cpu.sources:
            stack = (f"cpu {cpu.cpu}", *source.source.path)
            for part in source.triggers:
                label = part.trigger.label
                yield (*stack, f"by {label}") if label else stack, part.net_ns


def apart_stacks(summary: Summary) -> Iterator[tuple[Stack, int]]:
    """What is no noise with its time in ns, below roots of its own: page faults, whose sleep is no
    part of what they ran, and entries into the kernel, without the noise in them."""
    for cpu in summary.cpus:
        for fault in cpu.faults:
            _, kind, *asleep = fault.source.path
            root = "asleep in page faults" if asleep else "page faults"
            yield (root, f"cpu {cpu.cpu}", kind), fault.net_ns
        for entry in cpu.entries:
            yield ("entries", f"cpu {cpu.cpu}", *entry.source.path[1:]), entry.net_ns
