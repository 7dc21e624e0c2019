"""A bpftrace script that only sums durations, by tracepoint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.process import ToolProcess, running, write_gate
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import Tracepoint, pairs, sampled

_SUM = re.compile(r"^@(\w+)_ns: (\d+)$", re.MULTILINE)


def script_for(tracepoints: tuple[Tracepoint, ...], cpu: int) -> str:
    """Sums the time between each entry and its exit on one CPU, no more."""
    # Maps without a key are the cheapest that bpftrace has.
    lines = []
    starts = []
    for entry, exit_ in pairs(sampled(tracepoints)):
        name = entry.name.rsplit("_", 1)[0]
        starts.append(f"@{name}_start")
        lines += [
            f"tracepoint:{entry} /cpu == {cpu}/ {{ @{name}_start = nsecs; }}",
            f"tracepoint:{exit_} /cpu == {cpu} && @{name}_start/ "
            f"{{ @{name}_ns = sum(nsecs - @{name}_start); }}",
        ]
    return "\n".join([*lines, "END { " + " ".join(f"clear({s});" for s in starts) + " }", ""])


def parse_sums(text: str) -> dict[str, int]:
    """Summed nanoseconds by name, from what bpftrace prints at its end."""
    return {name: int(total) for name, total in _SUM.findall(text)}


@dataclass(slots=True)
class BpftraceSession:
    """bpftrace at work."""

    process: ToolProcess

    def seen(self) -> Seen:
        """It does not count, so: how many of its sums are above zero."""
        return Seen(sum(1 for total in parse_sums(self.process.said()).values() if total))


@dataclass(frozen=True, slots=True)
class Bpftrace:
    """``bpftrace`` with that script."""

    name: str = "bpftrace sums"
    program: str = "bpftrace"
    install: str = "apt install bpftrace"
    blind_to: frozenset[str] = frozenset({"pipe"})
    per_interruption: float = 0.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """bpftrace starts its command, the gate, once all probes are attached."""
        program = setting.folder / "sums.bt"
        program.write_text(script_for(setting.tracepoints, setting.cpu))
        script, opened = write_gate(setting.folder)
        argv = ["bpftrace", "-c", f"/bin/sh {script}", str(program)]
        with running(argv, setting.housekeeping, setting.folder, "bpftrace") as process:
            process.wait_until(opened.exists)
            yield BpftraceSession(process)


_LOST = re.compile(r"Lost (\d+) events")
_PAGE_KIB = 4


def parse_printed(text: str) -> Seen:
    """What a script that prints a line per event printed, and what it says that it lost."""
    lines = text.splitlines()
    events = sum(1 for line in lines if line.startswith("@ "))
    return Seen(events, sum(map(int, _LOST.findall(text))), len(text))


@dataclass(slots=True)
class PrintSession:
    """bpftrace printing events."""

    process: ToolProcess

    def seen(self) -> Seen:
        """By its lines."""
        return parse_printed(self.process.said())


@dataclass(frozen=True, slots=True)
class BpftracePrint:
    """``bpftrace`` with a script that prints a line per event: as a recorder."""

    name: str = "bpftrace printf"
    program: str = "bpftrace"
    install: str = "apt install bpftrace"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 4.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Time, CPU and task of each event, on the recorded CPUs."""
        program = setting.folder / "print.bt"
        where = " || ".join(f"cpu == {cpu}" for cpu in setting.recorded)
        action = '{ printf("@ %llu %d %d\\n", nsecs, cpu, tid); }'
        lines = [f"tracepoint:{one} /{where}/ {action}\n" for one in sampled(setting.tracepoints)]
        program.write_text("".join(lines))
        script, opened = write_gate(setting.folder)
        argv = ["bpftrace", "-c", f"/bin/sh {script}", str(program)]
        if setting.buffer_kib:
            argv = ["env", f"BPFTRACE_PERF_RB_PAGES={setting.buffer_kib // _PAGE_KIB}", *argv]
        with running(argv, setting.housekeeping, setting.folder, "bpftrace") as process:
            process.wait_until(opened.exists)
            yield PrintSession(process)


@dataclass(frozen=True, slots=True)
class BpftraceSenders:
    """``bpftrace`` with a script that only counts who sends interrupts to the watched CPU."""

    name: str = "bpftrace count by sender"
    program: str = "bpftrace"
    install: str = "apt install bpftrace"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 0.0

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """A map by task, which is what it takes to name the sender."""
        program = setting.folder / "senders.bt"
        program.write_text(
            "".join(
                f"tracepoint:{tracepoint} {{ @by_{tracepoint.name}[tid] = count(); }}\n"
                for tracepoint in sampled(setting.tracepoints)
            )
        )
        script, opened = write_gate(setting.folder)
        argv = ["bpftrace", "-c", f"/bin/sh {script}", str(program)]
        with running(argv, setting.housekeeping, setting.folder, "bpftrace") as process:
            process.wait_until(opened.exists)
            yield SendersSession(process)


@dataclass(slots=True)
class SendersSession:
    """bpftrace counting senders."""

    process: ToolProcess

    def seen(self) -> Seen:
        """By its counts."""
        counts = re.findall(r"^@by_\w+\[\d+\]: (\d+)$", self.process.said(), re.MULTILINE)
        return Seen(sum(map(int, counts)))


PRINT: Tool = BpftracePrint()
SENDERS: Tool = BpftraceSenders()
TOOLS: tuple[Tool, ...] = (Bpftrace(),)
