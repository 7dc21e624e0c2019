"""Noise as stacks: the CPU, then whose doing it was, the path of the source, and who caused it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from noisetop.summary.summary import SourceSummary, Summary

Stack = tuple[str, ...]
CLASS = 2
"""Place of the class in a stack."""


def _every(source: SourceSummary) -> bool:
    return True


def noise_stacks(
    summary: Summary, wanted: Callable[[SourceSummary], bool] = _every
) -> Iterator[tuple[Stack, int]]:
    """Each trigger of each source of each CPU with its net time in ns.

    ``wanted``: of which sources. What ran on an idle CPU is left out. Noise of an unknown
    cause ends with its source.
    """
    for cpu in summary.cpus:
        for source in filter(wanted, cpu.sources):
            stack = (f"cpu {cpu.cpu}", source.origin.label, *source.source.path)
            for part in source.triggers:
                label = part.trigger.label
                yield (*stack, f"by {label}") if label else stack, part.net_ns


@dataclass(slots=True)
class Frame:
    """A step of stacks, and what is above it. Names are untrusted."""

    name: str
    noise_class: str = ""
    """Of a step from the class on; empty below it."""
    net_ns: int = 0
    above: dict[str, Frame] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """Levels, its own included."""
        return 1 + max((frame.height for frame in self.above.values()), default=0)

    @property
    def largest_first(self) -> list[Frame]:
        """What is above it, in an order that does not depend on that of the stacks."""
        return sorted(self.above.values(), key=lambda one: (-one.net_ns, one.name))


def noise_tree(stacks: Iterable[tuple[Stack, int]], class_at: int = CLASS) -> Frame:
    """The stacks with the steps they share as one frame. ``class_at``: place of the class."""
    root = Frame("noise")
    for stack, net_ns in stacks:
        root.net_ns += net_ns
        frame = root
        for place, name in enumerate(stack):
            if name not in frame.above:
                frame.above[name] = Frame(name, stack[class_at] if place >= class_at else "")
            frame = frame.above[name]
            frame.net_ns += net_ns
    return root
