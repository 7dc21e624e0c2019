"""The tracepoints that noisetop uses, so that its peers are given the same."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

BPF_SOURCES = Path(__file__).parent.parent / "bpf"
TRACEFS = Path("/sys/kernel/tracing")

_SECTION = re.compile(r'SEC\("(?:tp_btf|raw_tp)/(\w+)"\)')
_VECTOR = re.compile(r"^NOISE_VECTOR\((\w+),", re.MULTILINE)
# arch/x86/include/asm/trace/irq_vectors.h: "we must not allow sampling" of it, as perf uses the
# interrupt itself. Neither perf nor bpftrace can have it.
_NO_SAMPLING = frozenset({"irq_work_exit"})
_PAIRS = (("_entry", "_exit"), ("_start", "_end"))


@dataclass(frozen=True, slots=True)
class Tracepoint:
    """One of the kernel's trace events."""

    system: str
    name: str

    def __str__(self) -> str:
        return f"{self.system}:{self.name}"


def used_names(folder: Path = BPF_SOURCES) -> tuple[str, ...]:
    """Names of the tracepoints that the BPF sources attach to."""
    names: set[str] = set()
    for source in folder.glob("*.bpf.c"):
        text = source.read_text()
        names.update(_SECTION.findall(text))
        for vector in _VECTOR.findall(text):
            names.update((f"{vector}_entry", f"{vector}_exit"))
    return tuple(sorted(names))


def available(names: tuple[str, ...], tracefs: Path = TRACEFS) -> tuple[Tracepoint, ...]:
    """Those that this kernel has as trace events, which is what the peers can record."""
    found = (path for name in names for path in tracefs.glob(f"events/*/{name}"))
    return tuple(Tracepoint(path.parent.name, path.name) for path in sorted(found))


def sampled(tracepoints: tuple[Tracepoint, ...]) -> tuple[Tracepoint, ...]:
    """Those that the kernel lets perf events record."""
    return tuple(tracepoint for tracepoint in tracepoints if tracepoint.name not in _NO_SAMPLING)


def pairs(tracepoints: tuple[Tracepoint, ...]) -> tuple[tuple[Tracepoint, Tracepoint], ...]:
    """Entries with their exits."""
    known = set(tracepoints)
    matched = []
    for first in tracepoints:
        for begin, end in _PAIRS:
            if first.name.endswith(begin):
                second = Tracepoint(first.system, first.name.removesuffix(begin) + end)
                matched += [(first, second)] if second in known else []
    return tuple(matched)
