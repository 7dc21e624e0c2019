"""The floor: as many empty programs on the same tracepoints, with as many readings of the clock.

What they add nobody can get below who attaches BPF programs there: the way from a tracepoint to a
program, and the clock. `--local` and `--cheap` attach fewer and have a floor each.
"""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from bench import c_program
from bench.process import ToolProcess, running
from bench.tools import Seen, Session, Setting, Tool
from bench.tracepoints import BPF_SOURCES
from noisetop import _native
from noisetop.counters.left_out import CHEAP, LOCAL
from noisetop.errors import NoisetopError
from noisetop.tracing.program_sets import SECOND_TWINS, program_set

SOURCE = Path(__file__).parents[1] / "empty_programs.c"
NOT_ATTACHED = frozenset(
    {"wait_waking", "softirq_raise", "entry_begin", "entry_end", *SECOND_TWINS}
)
"""Of the complete set: where the kernel has csd_queue_cpu and casts, without --entries, and while
no timer of the softirq expires."""
_TIMED = ("_entry", "_exit", "_twin_1", "_start", "_switch", "_wakeup")
"""Names of programs that take the time of a watched CPU end like this."""
_HEAD = """\
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
char LICENSE[] SEC("license") = "Dual BSD/GPL";
"""
_PROGRAM = 'SEC("raw_tp/{tracepoint}") int {name}(void *ctx) {{ {body}return 0; }}\n'
_CLOCK = "if (bpf_get_smp_processor_id() == {cpu}) bpf_ktime_get_ns(); "


def source_for(cpu: int, left_out: Collection[str] = ()) -> str:
    """C of a program for each one of the embedded object that the complete set attaches, but for
    those that are left out."""
    lines = [_HEAD]
    for name, section in sorted(_native.programs().items()):
        kind, _, tracepoint = section.partition("/")
        if kind in ("tp_btf", "raw_tp") and name not in {*NOT_ATTACHED, *left_out}:
            body = _CLOCK.format(cpu=cpu) if name.endswith(_TIMED) else ""
            lines.append(_PROGRAM.format(tracepoint=tracepoint, name=name, body=body))
    return "".join(lines)


def compiled(folder: Path, cpu: int, left_out: Collection[str] = ()) -> tuple[Path, Path]:
    """The loader and the object, in the folder; see source_for(). Raises NoisetopError."""
    code = folder / "empty.o"
    code.write_bytes(_object_of(source_for(cpu, left_out)))
    return c_program.compiled(SOURCE, folder, options=("-lbpf",)), code


@cache
def _object_of(source: str) -> bytes:
    """Compiled once only: the same programs are started over and over."""
    include = f"-I/usr/include/{platform.machine()}-linux-gnu"
    compiler = ["clang", "-target", "bpf", "-mcpu=v3", "-g", "-O2", include]
    command = [*compiler, "-c", "-o", "-", "-x", "c", "-"]
    try:
        done = subprocess.run(
            command, input=source.encode(), stdout=subprocess.PIPE, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise NoisetopError(f"cannot compile the empty programs: {error}") from error
    return done.stdout


@dataclass(slots=True)
class EmptySession:
    """Empty programs that are attached."""

    process: ToolProcess

    def seen(self) -> Seen:
        """They record nothing; how many are attached."""
        return Seen(int(self.process.stdout.read_text().split()[1]))


@dataclass(frozen=True, slots=True)
class EmptyPrograms:
    """The programs of a set without what they do."""

    name: str = "empty programs"
    left_out: tuple[str, ...] = ()
    """Programs of the complete set that this one lacks."""
    program: str = "clang"
    install: str = "apt install clang libbpf-dev"
    blind_to: frozenset[str] = frozenset()
    per_interruption: float = 0.0
    headers: Path = BPF_SOURCES
    """As every tool with programs that can be held has some; these need none."""

    @contextmanager
    def run(self, setting: Setting) -> Iterator[Session]:
        """Attached when entered."""
        command = [str(path) for path in compiled(setting.folder, setting.cpu, self.left_out)]
        with running(command, setting.housekeeping, setting.folder, "empty") as process:
            process.wait_until(lambda: "\n" in process.stdout.read_text())
            yield EmptySession(process)


FLOOR = EmptyPrograms()
LOCAL_FLOOR = EmptyPrograms("empty programs of --local", program_set((LOCAL,)).programs)
CHEAP_FLOOR = EmptyPrograms("empty programs of --cheap", program_set((CHEAP,)).programs)
TOOLS: tuple[Tool, ...] = ()
