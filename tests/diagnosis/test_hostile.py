"""Whatever a machine or a file holds, a diagnosis is a page or one clear error."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisetop.checks import AuditedMachine, run_checks
from noisetop.cli import run
from noisetop.diagnosis import Diagnosis, diagnose, page
from noisetop.diagnosis.document import as_json
from noisetop.errors import NoisetopError
from noisetop.events.waits import TaskWait
from tests.checks.test_hostile import HOSTILE_CONTENTS
from tests.checks.trees import Content, good_files, remove, task, write_tree
from tests.diagnosis.cases import CASES, share
from tests.diagnosis.test_rules import evidence
from tests.recordings import DATA, HOSTILE, interruption, recording, table, write_recording

_EXAMPLES = settings().max_examples
"""50, and with --thorough 1000."""
MANAGED = "36 virtio1-req.0"
FILES: dict[str, Content] = {
    **good_files(),
    **task(50, "app", "0-3"),
    **task(51, HOSTILE.replace("\n", "").strip(), "2"),
    "/proc/irq/36/smp_affinity_list": "2",
    "/proc/irq/36/effective_affinity_list": "2",
    "/proc/50/cgroup": "0::/box\n",
    "/sys/fs/cgroup/box/cpu.max": "2000 10000",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "f",
    "/sys/devices/virtual/workqueue/cpumask": "f",
    "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
}
"""A machine that has all that remedies are made from."""
WAITS = {50: TaskWait({"throttled": 3}, {"throttled": 9_000}, 5_000)}
SHARES = (
    *(case.share for case in CASES),
    share("irq", MANAGED),
    share("thread", "app"),
    share("thread", HOSTILE),
    share("ipi", "call_function", "ipi_mb", sender="app"),
)
COMMANDS = {"echo", "sysctl", "taskset", "for", "grubby"}


def commands(text: str) -> set[str]:
    """The programs that a line for a shell runs."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words, first = set(), True
    for word in lexer:
        if first:
            words.add(word)
        first = word in (";", "do", "&&", "|")
    return words - {"do", "done"}


def assert_page(diagnosis: Diagnosis, machine: AuditedMachine | None) -> None:
    audit = run_checks(machine) if machine else ()
    shown = "\n".join(page.page_lines(diagnosis, audit, top=1000))
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert as_json(diagnosis, audit, version="1").isascii()
    typed = [one for one in diagnosis.findings if one.shell]
    for finding in typed:
        for text in (finding.remedy, finding.undo):
            assert text.startswith("#") or commands(text) <= COMMANDS, text
            assert "\n" not in text
    script = "\n".join(text for one in typed for text in (one.remedy, one.undo))
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def diagnosed(root: Path) -> tuple[Diagnosis, AuditedMachine]:
    machine = AuditedMachine(root, cpus=(2, 3))
    return diagnose(replace(evidence(*SHARES, waits=WAITS), machine=machine)), machine


def test_the_machine_that_is_damaged_below_gives_remedies_to_type(tmp_path: Path) -> None:
    write_tree(tmp_path, FILES)
    diagnosis, machine = diagnosed(tmp_path)
    assert_page(diagnosis, machine)
    typed = {finding.rule for finding in diagnosis.findings if finding.shell}
    assert typed >= {"device-interrupt", "other-program", "quota", "packet-steering", "membarrier"}
    assert typed >= {"unbound-worker", "huge-page-collapse"}


@settings(max_examples=_EXAMPLES // 12)
@given(st.dictionaries(st.sampled_from(sorted(FILES)), HOSTILE_CONTENTS, min_size=1, max_size=40))
def test_any_content(changes: dict[str, Content]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: content for name, content in changes.items() if content is not None}
        write_tree(Path(folder), remove(FILES, changes) | kept)
        assert_page(*diagnosed(Path(folder)))


@settings(max_examples=_EXAMPLES // 25)
@given(HOSTILE_CONTENTS)
def test_the_same_content_everywhere(content: Content) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if content is not None:
            write_tree(Path(folder), dict.fromkeys(FILES, content))
        assert_page(*diagnosed(Path(folder)))


def outcome(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says about a file: its page, or its error."""
    try:
        assert run(["diagnose", str(path)]) == 0
    except NoisetopError as error:
        return str(error)
    shown = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert "together" in shown
    return shown


@settings(max_examples=_EXAMPLES // 10)
@given(
    name=st.sampled_from(["unloaded", "noisy"]),
    changes=st.lists(st.tuples(st.floats(0, 0.999), st.binary(min_size=1, max_size=9)), max_size=6),
    length=st.floats(0, 1),
)
def test_a_damaged_recording(
    name: str,
    changes: list[tuple[float, bytes]],
    length: float,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = bytearray((DATA / f"{name}.noisetop").read_bytes())
    for place, new in changes:
        at = int(place * len(content))
        content[at : at + len(new)] = new
    path = tmp_path / "damaged.noisetop"
    path.write_bytes(content[: int(length * len(content))] if not changes else content)
    said = outcome(path, capsys)
    assert said
    assert "\n" not in said or "together" in said, "an error is one line"


NUMBER = st.one_of(st.integers(0, 1000), st.integers(0, 2**62))


@settings(max_examples=_EXAMPLES // 10)
@given(
    rows=st.lists(st.tuples(NUMBER, NUMBER, st.integers(0, 5), st.integers(0, 4)), max_size=30),
    metadata=st.dictionaries(
        st.sampled_from(["online", "nohz_full", "host", "kernel", "target"]),
        st.one_of(st.text(max_size=20), st.sampled_from(["0-3", "9" * 50, "3-1", HOSTILE])),
    ),
)
def test_a_recording_with_any_figures(
    rows: list[tuple[int, int, int, int]],
    metadata: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "odd.noisetop"
    written = table(
        *(
            interruption(start, long, source=source, trigger=trigger)
            for start, long, source, trigger in rows
        )
    )
    write_recording(recording(written, metadata=metadata), path, force=True)
    assert outcome(path, capsys)
