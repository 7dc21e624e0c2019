"""What the machine itself admits to, as figures, and how they are told.

noisetop.counters.hardware_totals reads them; nothing in here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from noisetop.events.interruption import HARDWARE, Source
from noisetop.text.cpu_list import format_cpu_list
from noisetop.text.units import format_ns

STEAL = (HARDWARE, "steal")
_NS_PER_S = 1_000_000_000
_OF_ALL = "exact count for all of the machine"
INSTANTS = {
    "frequency": "exact count of what software set; the CPU's own changes (HWP, CPPC) are not seen",
    "frequency_limits": f"{_OF_ALL}; a policy may hold several CPUs",
    "thermal_trip": f"{_OF_ALL}; a zone went over a trip point",
    "cooling": f"{_OF_ALL}; a cooling device was set to another state",
}
"""Sources of bpf/power.bpf.c, and what their count can tell."""
_OF_CPU = "frequency"


@dataclass(frozen=True, slots=True)
class HardwareFigure:
    """What happened between two readings; None where the machine does not tell."""

    cpu: int | None
    """None: all of the machine."""
    path: tuple[str, ...]
    ns: int | None
    count: int | None
    resolution: str
    """How fine the figure is and what it leaves out, in words."""
    step_ns: int = 0
    """What ``ns`` is a multiple of; 0: it is exact, or its step is not known."""

    @property
    def label(self) -> str:
        """The path in one line."""
        return " › ".join(self.path)


def hardware_lines(figures: Iterable[HardwareFigure]) -> list[str]:
    """A line for each figure above zero, then those that stayed at zero, a line per set of CPUs.

    All words are ours or from ROWS, none from the kernel.
    """
    figures = tuple(figures)
    rows = [
        (
            one.label,
            "all CPUs" if one.cpu is None else f"CPU {one.cpu}",
            _amount(one),
            one.resolution,
        )
        for one in figures
        if one.ns or one.count
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{label:<{widths[0]}}  {where:<{widths[1]}}  {amount:>{widths[2]}}  {words}"
        for label, where, amount, words in rows
    ]
    return lines + _quiet_lines(figures)


def short_name(unavailable: str, cpus: str) -> str:
    """What a line about an unavailable counter names, without the reason, and without the CPUs
    where these are all watched ones."""
    name = unavailable.partition(": ")[0].removeprefix(f"{HARDWARE} › ")
    return name.removesuffix(f" on CPU {cpus}")


def _quiet_lines(figures: Iterable[HardwareFigure]) -> list[str]:
    cpus: dict[str, list[int]] = {}
    for one in figures:
        if not one.ns and not one.count:
            fine = f" (±{format_ns(one.step_ns)})" if one.step_ns else ""
            quiet = cpus.setdefault(" › ".join(one.path[1:]) + fine, [])
            quiet += [] if one.cpu is None else [one.cpu]
    names: dict[str, list[str]] = {}
    for name, on in cpus.items():
        names.setdefault(format_cpu_list(on), []).append(name)
    return [
        f"none on {f'CPU {on}' if on else 'all CPUs'}: {', '.join(quiet)}"
        for on, quiet in names.items()
    ]


def _amount(figure: HardwareFigure) -> str:
    """Time, count or both; counts in full, because they are exact."""
    parts = [] if figure.ns is None else [format_ns(figure.ns)]
    if figure.count is not None:
        parts.append(f"{figure.count} {'time' if figure.count == 1 else 'times'}")
    return ", ".join(parts)


def figures_from(rows: object) -> tuple[HardwareFigure, ...]:
    """Figures as a recording holds them; what is no figure is passed over."""
    figures = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        cpu, path, ns, count = (row.get(key) for key in ("cpu", "path", "ns", "count"))
        numbers = all(number is None or isinstance(number, int) for number in (cpu, ns, count))
        if numbers and isinstance(path, list) and path:
            words, step_ns = str(row.get("resolution", "")), row.get("step_ns", 0)
            step_ns = step_ns if isinstance(step_ns, int) else 0
            figures.append(HardwareFigure(cpu, tuple(map(str, path)), ns, count, words, step_ns))
    return tuple(figures)


def figures_as_dict(figures: Iterable[HardwareFigure]) -> dict[str, object]:
    """Figures by CPU and those of the whole machine, ready for the json module; times in ns."""
    machine: list[dict[str, object]] = []
    cpus: dict[str, list[dict[str, object]]] = {}
    for one in figures:
        place = machine if one.cpu is None else cpus.setdefault(str(one.cpu), [])
        place.append(
            {
                "path": list(one.path),
                "ns": one.ns,
                "count": one.count,
                "resolution": one.resolution,
                "step_ns": one.step_ns,
            }
        )
    return {"cpus": cpus, "machine": machine}


def instant_figures(counts: Iterable[tuple[int, Source, int]]) -> Iterator[HardwareFigure]:
    """Figures of events that take no time, from how often each occurred on each CPU."""
    totals: dict[tuple[int | None, tuple[str, ...]], int] = {}
    for cpu, source, count in counts:
        path = source.path[:2]
        key = (cpu if path[-1] == _OF_CPU else None), path
        totals[key] = totals.get(key, 0) + count
    for (where, path), count in sorted(totals.items(), key=lambda one: (one[0][1], one[0][0] or 0)):
        words = INSTANTS.get(path[-1], _OF_ALL)
        yield HardwareFigure(where, path, None, count, words)


def steal_ns(figures: Iterable[HardwareFigure], cpu: int | None) -> int | None:
    """What the hypervisor took from one CPU, None: from all of them; None when it is not told."""
    told = [
        one.ns
        for one in figures
        if one.path == STEAL and one.ns is not None and cpu in (None, one.cpu)
    ]
    return sum(told) if told else None


def brief_line(figures: Iterable[HardwareFigure], duration_ns: int) -> str:
    """All CPUs in one line: times as a rate with their resolution, exact counts above zero, and
    what stayed at zero. Empty when there is no figure."""
    by_path: dict[tuple[str, ...], list[HardwareFigure]] = {}
    for one in figures:
        by_path.setdefault(one.path[1:], []).append(one)
    texts = {path: _brief(parts, duration_ns) for path, parts in by_path.items()}
    told = [f"{' '.join(path)} {text}" for path, text in texts.items() if text]
    loud = {path[:1] for path, text in texts.items() if text}
    quiet = [path if path[:1] in loud else path[:1] for path, text in texts.items() if not text]
    if quiet:
        told.append(f"none: {', '.join(' '.join(path) for path in dict.fromkeys(quiet))}")
    return "  ".join(told)


def _brief(parts: list[HardwareFigure], duration_ns: int) -> str:
    """Empty when nothing happened; a time that has steps is told even then."""
    ns = sum(one.ns or 0 for one in parts)
    count = sum(one.count or 0 for one in parts)
    step_ns = max(one.step_ns for one in parts)
    amounts = [str(count)] if count else []
    if ns or step_ns:
        rate = ns * _NS_PER_S / duration_ns if duration_ns > 0 else 0.0
        each = " per CPU" if len(parts) > 1 else ""
        fine = f" (±{format_ns(step_ns)}{each})" if step_ns else ""
        amounts.append(f"{format_ns(rate)}/s{fine}")
    return ", ".join(amounts)
