from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from noisetop import _native
from noisetop.errors import NoisetopError
from noisetop.events.layout import Layout
from noisetop.tracing import bcc
from noisetop.tracing.bcc import (
    TranslationUnit,
    compile_programs,
    per_cpu_symbols,
    translation_unit_text,
)

SOURCES = Path(_native.__file__).with_name("bpf")
PROJECT = Path(__file__).parents[2]


@pytest.fixture
def unit() -> TranslationUnit:
    """As a tracer of CPU 1 gives it, but for the descriptors."""
    layout = Layout.from_native(_native.layout())
    return TranslationUnit(
        programs=_native.programs(),
        source_ids={kind.name: number for number, kind in layout.kinds.items()},
        knobs={"noise_watched_cpus": (64, 1), "noise_watched_word": 1, "noise_negative": -5},
        maps={"noise_cpus": 7},
        constants=9,
        per_cpu={"__preempt_count": 0x20, "__per_cpu_offset": 0xFFFF0000},
    )


def text_of(unit: TranslationUnit) -> str:
    return translation_unit_text(unit, [path.name for path in SOURCES.glob("*.bpf.c")])


def test_every_program_is_carried_or_listed(unit: TranslationUnit) -> None:
    text = text_of(unit)
    carried = set(re.findall(r"^int program_(\w+)\(u64 \*ctx\)", text, re.MULTILINE))
    assert carried | set(unit.not_carried()) == set(unit.programs)
    assert not carried & set(unit.not_carried())
    assert {"thread_switch", "irq_entry", "wait_wakeup"} <= carried


def test_every_program_that_is_carried_is_in_the_sources(unit: TranslationUnit) -> None:
    included = re.findall(r'^#include "(\w+\.bpf\.c)"', text_of(unit), re.MULTILINE)
    assert included == sorted(included)
    assert set(included) == {path.name for path in (PROJECT / "bpf").glob("*.bpf.c")}
    sources = "".join((SOURCES / name).read_text() for name in included)
    for name in unit.carried():
        vector = name.removesuffix("_entry").removesuffix("_exit")
        assert f"int {name}(u64 *ctx)" in sources or f"NOISE_VECTOR({vector}," in sources


def test_the_sources_beside_the_object_are_those_that_it_was_made_from() -> None:
    for path in (PROJECT / "bpf").glob("*.[ch]"):
        assert (SOURCES / path.name).read_bytes() == path.read_bytes()


def test_every_source_has_the_number_that_it_has_in_the_object(unit: TranslationUnit) -> None:
    text = text_of(unit)
    assert unit.source_ids
    for name, number in unit.source_ids.items():
        assert f"#define {name}_source_id {number}\n" in text


def test_knobs_and_maps_are_written_out(unit: TranslationUnit) -> None:
    text = text_of(unit)
    assert "static const unsigned long long noise_watched_word = 1ull;\n" in text
    assert "static const long long noise_negative = -5ll;\n" in text
    watched = "((const volatile noise_u8 *)(bpf_pseudo_fd(2, 9) + 64))"
    assert f"#define noise_watched_cpus {watched}\n" in text
    assert "#define noise_cpus (*(struct noise_map *)bpf_pseudo_fd(1, 7))\n" in text
    assert "#define NOISE_STATES_ADDRESS bpf_pseudo_fd(2, 7)\n" in text


@pytest.mark.parametrize(
    ("per_cpu", "known", "offset"),
    [
        ({"__preempt_count": 0x20, "__per_cpu_offset": 0xF000}, 1, "0x20ull"),
        (
            {"pcpu_hot": 0x40, "__per_cpu_offset": 0xF000},
            1,
            "(0x40ull + __builtin_offsetof(struct pcpu_hot, preempt_count))",
        ),
        ({"__preempt_count": 0x20}, 0, "0x20ull"),
        ({}, 0, "0ull"),
    ],
)
def test_where_the_preempt_count_is(
    unit: TranslationUnit, per_cpu: dict[str, int], known: int, offset: str
) -> None:
    text = text_of(
        TranslationUnit(
            unit.programs, unit.source_ids, unit.knobs, unit.maps, unit.constants, per_cpu
        )
    )
    assert f"#define noise_preempt_count_known {known}\n" in text
    assert f"#define noise_preempt_count_offset {offset}\n" in text


def test_per_cpu_symbols_by_their_whole_names(tmp_path: Path) -> None:
    path = tmp_path / "kallsyms"
    path.write_text(
        "000000000001fb40 A __preempt_count\n"
        "ffffffffae21cb60 D __per_cpu_offset\n"
        "ffffffffae263194 r __ksymtab___per_cpu_offset\n"
    )
    assert per_cpu_symbols(path) == {
        "__preempt_count": 0x1FB40,
        "__per_cpu_offset": 0xFFFFFFFFAE21CB60,
    }
    assert per_cpu_symbols(tmp_path / "none") == {}


class Compiler:
    """Stands for the process that compiles: refuses members until it is told that they lack."""

    def __init__(self, lacking: dict[str, str], complaint: str = "") -> None:
        self.lacking = lacking
        self.complaint = complaint
        self.attempts = 0

    def __call__(
        self, command: list[str], *, input: bytes, **_: object
    ) -> subprocess.CompletedProcess[bytes]:
        self.attempts += 1
        request = json.loads(input)
        complaints = [
            f"bcc.h:1:1: error: no member named '{member}' in 'struct {struct}'"
            for struct, member in self.lacking.items()
            if f"NOISE_LACKS_{struct}_{member}\n" not in request["text"]
        ]
        complaints += [self.complaint] if self.complaint else []
        if complaints:
            return subprocess.CompletedProcess(command, 1, b"", "\n".join(complaints).encode())
        code = dict.fromkeys(request["functions"], "9500000000000000")
        return subprocess.CompletedProcess(command, 0, json.dumps(code).encode(), b"")


def test_members_that_the_headers_lack_are_left_out(
    unit: TranslationUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = Compiler({"task_struct": "throttled", "cgroup": "ancestors"})
    monkeypatch.setattr("noisetop.tracing.bcc.subprocess.run", compiler)
    compiled = compile_programs(unit, SOURCES, "python3")
    assert compiler.attempts == 2
    assert set(compiled.code) == set(unit.carried())
    assert "throttled waits (needs BTF)" in compiled.lost


def test_what_bcc_cannot_carry_is_listed(
    unit: TranslationUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisetop.tracing.bcc.subprocess.run", Compiler({}))
    programs = {**unit.programs, "sampled": "perf_event"}
    more = TranslationUnit(programs, unit.source_ids, unit.knobs, unit.maps, unit.constants, {})
    compiled = compile_programs(more, SOURCES, "python3")
    assert "sampled" not in compiled.code
    assert set(compiled.lost) == {
        "work items after they slept (needs BTF)",
        "work of kworkers that act (needs BTF)",
        "waits that began before (needs BTF)",
        "context of whoever acts (needs BTF)",
        "sampled (needs BTF)",
        "fault (needs BTF)",
        "entry (needs BTF)",
        "softirq_raise (needs BTF)",
        "tick_stop (needs BTF)",
    }


def test_a_complaint_that_stays_is_told_in_one_line(
    unit: TranslationUnit, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaint = "main.c:1:1: warning: odd\nmain.c:2:2: error: unknown type name 'x'\n    x\n"
    monkeypatch.setattr("noisetop.tracing.bcc.subprocess.run", Compiler({}, complaint))
    with pytest.raises(NoisetopError) as told:
        compile_programs(unit, SOURCES, "python3")
    assert str(told.value) == (
        "BCC cannot compile the programs: main.c:2:2: error: unknown type name 'x'"
    )


def test_an_interpreter_without_bcc_is_passed_over(tmp_path: Path) -> None:
    true, false = shutil.which("true"), shutil.which("false")
    assert true
    assert false
    assert bcc.find_interpreter((str(tmp_path / "none"), false, true)) == true
    assert bcc.find_interpreter((false,)) == ""
