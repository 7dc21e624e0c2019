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
    blind_to: frozenset[str] = frozenset()
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


TOOLS: tuple[Tool, ...] = (Bpftrace(),)
