"""The programs as BCC compiles them, for kernels that have headers but no BTF.

The sources are those of the embedded object; ``bpf/bcc.h`` is their front end. BCC is used as a
compiler only, in a process of its own, by whichever interpreter has it: distributions install
it for theirs, which a virtual environment does not see. Maps, loading and attaching are native.
"""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.machine.system import ROOT
from noisetop.tracing import bcc_compiler

INTERPRETERS = (sys.executable, "/usr/bin/python3")
_FLAGS = ("-Wno-macro-redefined", "-ferror-limit=0")
_LACKING = re.compile(r"no member named '(\w+)' in 'struct (\w+)'")
_RAW_SECTION = re.compile(r"(?:tp_btf|raw_tp)/\w+")
# Safe only where the kernel's BTF says so: noisetop/native/rcu.c.
_HAZARDOUS = ("softirq_raise", "tick_stop")
# Only BTF leads to the registers of a task.
_TYPED = ("entry_begin", "entry_end")
_PER_CPU = ("__per_cpu_offset", "__preempt_count", "pcpu_hot")

# By struct and member, as bpf/bcc.h tests them.
_LOST_WITH_MEMBER = {("task_struct", "throttled"): "throttled waits (needs BTF)"}
# Only the private structs worker and kthread tell, and programs that walk all tasks.
_LOST_ALWAYS = (
    "work items after they slept (needs BTF)",
    "work of kworkers that act (needs BTF)",
    "waits that began before (needs BTF)",
)
_LOST_WITHOUT_SYMBOLS = "context of whoever acts (needs BTF)"


@dataclass(frozen=True, slots=True)
class TranslationUnit:
    """What the sources are compiled with."""

    programs: Mapping[str, str]
    """The section of each program of the object by its name."""
    source_ids: Mapping[str, int]
    knobs: Mapping[str, int | tuple[int, int]]
    """Constants by name: a value, or an array's (offset in ``constants``, bytes of an element)."""
    maps: Mapping[str, int]
    """Descriptors by name."""
    constants: int
    """Descriptor of the map that holds the constants."""
    per_cpu: Mapping[str, int]
    """Addresses of the kernel's variables that lead to the preempt count, where they are known."""

    def carried(self) -> list[str]:
        """Names of the programs that BCC carries: those on tracepoints that are always safe."""
        raw = [name for name, section in self.programs.items() if _RAW_SECTION.match(section)]
        return [name for name in raw if name not in (*_HAZARDOUS, *_TYPED)]

    def not_carried(self) -> list[str]:
        """Names of the others."""
        carried = set(self.carried())
        return [name for name in self.programs if name not in carried]


@dataclass(frozen=True, slots=True)
class Compiled:
    """Programs, and what they cannot tell in comparison with those of the object."""

    code: Mapping[str, bytes]
    lost: tuple[str, ...]


def has_headers(root: Path = ROOT, release: str = "") -> bool:
    """Whether BCC is going to find the headers of the running kernel."""
    release = release or os.uname().release
    folders = [root / "lib/modules" / release / "build"]
    if given := os.environ.get("BCC_KERNEL_SOURCE"):
        folders.append(Path(given))
    packed = root / "sys/kernel/kheaders.tar.xz"
    return packed.exists() or any((folder / "include").is_dir() for folder in folders)


@functools.cache
def find_interpreter(interpreters: tuple[str, ...] = INTERPRETERS) -> str:
    """The first interpreter that can import BCC; empty: none of them."""
    for interpreter in interpreters:
        if not Path(interpreter).exists():
            continue
        attempt = [interpreter, "-I", "-c", "import bcc"]
        if not subprocess.run(attempt, capture_output=True, check=False).returncode:
            return interpreter
    return ""


def per_cpu_symbols(path: Path) -> dict[str, int]:
    """Where the variables lie that lead to the preempt count, from /proc/kallsyms."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return {}
    lines = re.findall(rf"^([0-9a-f]+) \w ({'|'.join(_PER_CPU)})$", text, re.MULTILINE)
    return {name: int(address, 16) for address, name in lines}


def translation_unit_text(
    unit: TranslationUnit, sources: Iterable[str], lacking: Iterable[tuple[str, str]] = ()
) -> str:
    """The text to compile around the files ``sources``.

    ``lacking`` are (struct, member) that the kernel's headers do not have. A function ``program_…``
    calls each program, because BCC takes functions from the main file only, and rewrites what it
    finds there. While the headers are read, the kernel's functions with the names of our programs
    are called something else.
    """
    names = unit.carried()
    ordered = sorted(sources)
    lines = [
        "#define NOISE_BCC",
        *(f"#define NOISE_LACKS_{struct}_{member}" for struct, member in sorted(lacking)),
        *_constants(unit),
        *(f"#define {name} {_map(fd)}" for name, fd in unit.maps.items()),
        f"#define NOISE_STATES_ADDRESS {_only_value(unit.maps['noise_cpus'])}",
        *(f"#define {name}_source_id {number}" for name, number in unit.source_ids.items()),
        *(f"#define {name} linux_{name}" for name in names),
        '#include "frontend.h"',
        *(f"#undef {name}" for name in names),
        *(f'#include "{name}"' for name in ordered),
        *(f"int program_{name}(u64 *ctx) {{ return {name}(ctx); }}" for name in names),
    ]
    return "\n".join(lines) + "\n"


def _map(descriptor: int) -> str:
    """What stands for a map in a call of a helper: 1 says that the number is a descriptor."""
    return f"(*(struct noise_map *)bpf_pseudo_fd(1, {descriptor}))"


def _only_value(descriptor: int) -> str:
    """The address of the only value of an array, as libbpf makes it of .rodata."""
    return f"bpf_pseudo_fd(2, {descriptor})"


def _constants(unit: TranslationUnit) -> Iterator[str]:
    own = _preempt_count(unit.per_cpu)
    for name, value in unit.knobs.items():
        if name in own:
            continue
        if isinstance(value, tuple):
            offset, size = value
            pointer = f"(const volatile noise_u{8 * size} *)"
            place = f"{_only_value(unit.constants)} + {offset}"
            yield f"#define {name} ({pointer}({place}))"
        elif value < 0:
            yield f"static const long long {name} = {value}ll;"
        else:
            yield f"static const unsigned long long {name} = {value}ull;"
    yield from (f"#define {name} {value}" for name, value in own.items())


def _preempt_count(per_cpu: Mapping[str, int]) -> dict[str, str]:
    """Where the preempt count lies behind the beginning of a CPU's variables: alone, or in
    ``struct pcpu_hot`` (6.2 to 6.14)."""
    offset = ""
    if "__preempt_count" in per_cpu:
        offset = f"{per_cpu['__preempt_count']:#x}ull"
    elif "pcpu_hot" in per_cpu:
        member = "__builtin_offsetof(struct pcpu_hot, preempt_count)"
        offset = f"({per_cpu['pcpu_hot']:#x}ull + {member})"
    known = bool(offset) and "__per_cpu_offset" in per_cpu
    return {
        "noise_preempt_count_known": str(int(known)),
        "noise_preempt_count_offset": offset or "0ull",
        "noise_per_cpu_offsets": f"{per_cpu.get('__per_cpu_offset', 0):#x}ull",
    }


def compile_programs(unit: TranslationUnit, folder: Path, interpreter: str) -> Compiled:
    """Compiles the sources in ``folder``. Raises NoisetopError with the compiler's first complaint.

    Which members the kernel's headers have is the compiler's to say: what it misses in one attempt
    is left out in the next.
    """
    sources = [path.name for path in folder.glob("*.bpf.c")]
    lacking: set[tuple[str, str]] = set()
    while True:
        request = {
            "text": translation_unit_text(unit, sources, lacking),
            "flags": [f"-I{folder}", *_FLAGS],
            "functions": [f"program_{name}" for name in unit.carried()],
        }
        done = subprocess.run(
            [interpreter, "-I", str(Path(bcc_compiler.__file__))],
            input=json.dumps(request).encode(),
            capture_output=True,
            check=False,
        )
        if not done.returncode:
            code = json.loads(done.stdout)
            return Compiled(
                {name: bytes.fromhex(code[f"program_{name}"]) for name in unit.carried()},
                _lost(unit, lacking),
            )
        complaints = done.stderr.decode(errors="replace")
        found = {(struct, member) for member, struct in _LACKING.findall(complaints)}
        if found <= lacking:
            raise NoisetopError(f"BCC cannot compile the programs: {_first_error(complaints)}")
        lacking |= found


def _lost(unit: TranslationUnit, lacking: set[tuple[str, str]]) -> tuple[str, ...]:
    lost = [text for key, text in _LOST_WITH_MEMBER.items() if key in lacking]
    if _preempt_count(unit.per_cpu)["noise_preempt_count_known"] == "0":
        lost.append(_LOST_WITHOUT_SYMBOLS)
    told = [name for name, section in unit.programs.items() if section.startswith("iter/")]
    others = [name for name in unit.not_carried() if name not in (*_HAZARDOUS, *told)]
    files = dict.fromkeys((*_HAZARDOUS, *(name.split("_")[0] for name in others)))
    return (*_LOST_ALWAYS, *lost, *(f"{name} (needs BTF)" for name in files))


def _first_error(complaints: str) -> str:
    lines = [line for line in complaints.splitlines() if "error:" in line]
    return (lines or complaints.splitlines()[-1:] or ["no reason given"])[0]
