"""Whatever /proc and /sys hold, there is a page and no traceback."""

from __future__ import annotations

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noisetop.checks import Goal, Machine, Status, find, page, run_checks
from noisetop.checks.counters import Window, sample
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
    seen = Machine(root, cpus=(2, 3), goal=goal)
    counted = seen.counted
    before = sample(seen, counted)
    after = replace(sample(seen, counted), at_ns=before.at_ns + 10**9)
    seen.window = Window(before, after)
    results = run_checks(seen)
    assert len(results) == 60
    assert all(result.status in Status for result in results)
    text = page.text(results, seen)
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text) < 60_000
    document = page.as_json(results, seen, "0")
    assert document.isascii()
    assert len(document) < 200_000


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.dictionaries(st.sampled_from(_NAMES), HOSTILE_CONTENTS, min_size=1, max_size=40),
    st.sampled_from(list(Goal)),
)
def test_any_content(changes: dict[str, Content], goal: Goal) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: content for name, content in changes.items() if content is not None}
        write_tree(Path(folder), remove(good_files(), changes) | kept)
        _audit(Path(folder), goal)


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
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
    seen = Machine(tmp_path, cpus=(2, 3))
    seen.window = Window(sample(seen, seen.counted), sample(seen, seen.counted))
    results = run_checks(seen)
    assert [(r.id, r.verdict.cause) for r in results if r.status is not Status.SKIP] == []
    assert "60 cannot tell" in page.text(results, seen)


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
        seen = Machine(tmp_path, cpus=(2, 3), goal=goal)
        seen.window = Window(sample(seen, seen.counted), sample(seen, seen.counted))
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
    for path, check_id in sorted(cited):
        seen = machine(tmp_path / check_id / path.replace("/", "_"), {path: Directory()})
        if run_checks(seen, [find(check_id)])[0].status is Status.PASS:
            passing.add((path, check_id))
    assert passing == _PROVED_OTHERWISE
