"""Whatever /proc and /sys hold, there is a page and no traceback."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisetop.checks import AuditedMachine, Goal, Status, find, page, run_checks
from noisetop.machine.kernel_counters import Window, read_counters
from tests.checks.trees import (
    Content,
    Directory,
    Link,
    Repeated,
    good_files,
    machine,
    remove,
    write_tree,
)

_NAMES = sorted(good_files())
_EXAMPLES = settings().max_examples
"""50, and with --thorough 1000."""
HOSTILE_CONTENTS: st.SearchStrategy[Content] = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=80),
    st.sampled_from(
        [
            None,
            "",
            "\n\n",
            Repeated("9", 6000),
            "0-" + "9" * 30,
            "4095",
            "1,2,,3-",
            Repeated("f", 3000),
            "0x10",
            "٣",
            Repeated("[", 100),
            Repeated("x", 100_000),
            Repeated("cpu2 1 1 1\n", 5_000),
            Repeated("1 ", 50_000),
            Repeated("\0", 5000),
            b"\xff\xfe\x1b[31m\x07",
            "() " + "a " * 60,
            "isolcpus=,,- nohz_full rcu_nocbs=x tsc= audit mitigations idle",
            Directory(),
            Link("/nonexistent/../.."),
            Link("loop"),
        ]
    ),
)


def _audit(root: Path, goal: Goal) -> None:
    seen = AuditedMachine(root, cpus=(2, 3), goal=goal)
    scope = seen.counter_scope
    before = read_counters(seen, scope)
    after = replace(read_counters(seen, scope), at_ns=before.at_ns + 10**9)
    seen.window = Window(before, after)
    results = run_checks(seen)
    assert len(results) == 60
    assert all(result.status in Status for result in results)
    text = "\n".join(page.verbose_lines(results, seen))
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text) < 60_000
    document = page.as_json(results, seen, "0")
    assert document.isascii()
    assert len(document) < 200_000


@settings(max_examples=_EXAMPLES // 10, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(_NAMES), HOSTILE_CONTENTS, min_size=1, max_size=40),
    st.sampled_from(list(Goal)),
)
def test_any_content(changes: dict[str, Content], goal: Goal) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: content for name, content in changes.items() if content is not None}
        write_tree(Path(folder), remove(good_files(), changes) | kept)
        _audit(Path(folder), goal)


@settings(max_examples=_EXAMPLES // 25, deadline=None, suppress_health_check=list(HealthCheck))
@given(HOSTILE_CONTENTS)
def test_the_same_content_everywhere(content: Content) -> None:
    with tempfile.TemporaryDirectory() as folder:
        if content is not None:
            write_tree(Path(folder), dict.fromkeys(_NAMES, content))
        _audit(Path(folder), Goal.REALTIME)


def test_nothing_may_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, good_files())

    def deny(*arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", deny)
    seen = AuditedMachine(tmp_path, cpus=(2, 3))
    seen.window = Window(
        read_counters(seen, seen.counter_scope), read_counters(seen, seen.counter_scope)
    )
    results = run_checks(seen)
    assert [(r.id, r.verdict.cause) for r in results if r.status is not Status.SKIP] == []
    assert "INCONCLUSIVE: 0 fail, 0 warn, 60 inconclusive" in "\n".join(
        page.verbose_lines(results, seen)
    )


def test_no_read_disturbs_a_watched_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section C of the audit's sources: these reads interrupt the CPU that they ask about."""
    noisy = {
        "/proc/sys/vm/stat_refresh": "",
        "/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq": "1",
        "/sys/devices/system/cpu/cpu2/cpufreq/cpuinfo_cur_freq": "1",
    }
    write_tree(tmp_path, good_files() | noisy)
    opened: list[str] = []
    plain_open = os.open

    def note(path: str, *arguments: int) -> int:
        opened.append(str(path))
        assert arguments[0] & os.O_ACCMODE == os.O_RDONLY
        return plain_open(path, *arguments)

    monkeypatch.setattr(os, "open", note)
    for goal in Goal:
        seen = AuditedMachine(tmp_path, cpus=(2, 3), goal=goal)
        seen.window = Window(
            read_counters(seen, seen.counter_scope), read_counters(seen, seen.counter_scope)
        )
        run_checks(seen)
    read = {f"/{os.path.relpath(path, tmp_path)}" for path in opened}
    assert "/proc/cmdline" in read
    assert "/dev/cpu/0/msr" in read
    assert not read & {*noisy, "/dev/cpu/2/msr", "/dev/cpu/3/msr", "/dev/cpu_dma_latency"}


# What other evidence proves as well, or what matters only when the first file says so.
_PROVED_OTHERWISE = {
    ("/proc/cmdline", "C06"),
    ("/proc/cmdline", "C18"),
    ("/proc/irq/36/effective_affinity_list", "C19"),
    ("/proc/irq/36/effective_affinity_list", "C56"),
    ("/proc/sys/kernel/printk", "C45"),
    ("/sys/devices/system/cpu/cpu2/power/pm_qos_resume_latency_us", "C36"),
    ("/sys/devices/system/cpu/isolated", "C03"),
    ("/sys/devices/system/cpu/smt/active", "C37"),
    ("/sys/fs/cgroup/cpuset.cpus.isolated", "C03"),
    ("/sys/kernel/mm/ksm/pages_sharing", "C39"),
    ("/sys/kernel/mm/transparent_hugepage/defrag", "C38"),
    ("/sys/kernel/rcu_expedited", "C13"),
}


def test_what_cannot_be_read_does_not_pass(tmp_path: Path) -> None:
    results = run_checks(machine(tmp_path / "good"))
    cited = {
        (reading.path, result.id)
        for result in results
        for reading in result.verdict.readings
        if result.status is Status.PASS and reading.path in _NAMES
    }
    assert len(cited) > 40
    passing = set()
    for path in sorted({path for path, _ in cited}):
        checks = [find(check_id) for cited_path, check_id in sorted(cited) if cited_path == path]
        seen = machine(tmp_path / path.replace("/", "_"), {path: Directory()})
        for result in run_checks(seen, checks):
            if result.status is Status.PASS:
                passing.add((path, result.id))
    assert passing == _PROVED_OTHERWISE
