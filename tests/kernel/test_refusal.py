"""A kernel that refuses a program of ours: one source is missing, with the reason, and no more.

Such a kernel is made up from this one: in a mount namespace its BTF calls a field by another name.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Set
from pathlib import Path

import pytest

from tests.kernel.loads import RESTS, workload
from tests.kernel.own_cpu import OTHER, OWN
from tests.kernel.program import PROGRAM

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

BTF = Path("/sys/kernel/btf/vmlinux")


def run_without(fields: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """noisetop where no struct has a field of these names."""
    edited = folder / "btf"
    kernel = BTF.read_bytes()
    for field in fields.split():
        name = f"\0{field}\0".encode()
        assert kernel.count(name) == 1
        kernel = kernel.replace(name, name[:-2] + b"_\0")
    edited.write_bytes(kernel)
    script = 'mount --bind "$0" "$1" && shift && exec "$@"'
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, edited, BTF, PROGRAM, *arguments],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


REFUSED = {
    # Field: tracepoint and program that read it
    "cpu_base": ("hrtimer_start", "hrtimer_start"),
    "current_work": ("workqueue_execute", "work_entry"),
}
OPTIONAL = {
    "CFS_BANDWIDTH": "throttled throttle_count sched_task_group",
    "SMP": "on_cpu",
    "CGROUPS": "cgroups",
    "NUMA_BALANCING": "numa_faults_locality",
}
"""Fields that a kernel's option takes away, with which it goes on without a word."""


def traced_without(fields: str, folder: Path, *options: str) -> list[str]:
    """What is named as missing, where timers are traced all the same."""
    with workload("timerfd", OWN, OTHER, 500, rest_us=RESTS):
        done = run_without(fields, folder, "--json", "-c", str(OWN), "-d", "500ms", *options)
    assert done.returncode == 0, done.stderr
    documents = [json.loads(line) for line in done.stdout.splitlines()]
    sources = [one for seen in documents for one in seen["cpus"][str(OWN)]["sources"]]
    assert sum(one["count"] for one in sources if one["path"][0] == "timer") > 100
    missing: list[str] = documents[0]["unavailable_sources"]
    return missing


def test_each_source_that_is_refused_is_missing(tmp_path: Path) -> None:
    missing = traced_without(" ".join(REFUSED), tmp_path)
    for field, (tracepoint, program) in REFUSED.items():
        (named,) = [name for name in missing if name.split()[0] == tracepoint]
        assert f"({program} was refused: " in named
        assert field in named


@pytest.mark.parametrize(
    "options",
    [OPTIONAL.keys(), *(pytest.param({one}, marks=pytest.mark.thorough) for one in OPTIONAL)],
    ids=["all", *OPTIONAL],
)
def test_what_options_take_away_is_no_refusal(options: Set[str], tmp_path: Path) -> None:
    missing = traced_without(" ".join(OPTIONAL[one] for one in options), tmp_path, "--faults")
    assert not [name for name in missing if "refused" in name]


def test_a_program_that_would_halt_the_kernel_is_left_out(tmp_path: Path) -> None:
    """As on kernels whose RCU does not note that it has asked for help: noisetop/native/rcu.c."""
    if b"\0rcu_read_lock_nesting\0" not in BTF.read_bytes():
        return  # readers are not preempted
    fields = "defer_qs_pending __softirq_pending"
    done = run_without(fields, tmp_path, "--json", "-c", str(OWN), "-d", "500ms")
    assert done.returncode == 0, done.stderr
    missing = json.loads(done.stdout.splitlines()[0])["unavailable_sources"]
    (told,) = [name for name in missing if name.split()[0] == "softirq_raise"]
    assert "without end" in told


def test_local_tells_who_raises_softirqs_where_their_mask_is_found(tmp_path: Path) -> None:
    options = "--json", "-c", str(OWN), "-d", "500ms", "--local"
    for fields in ("", "__softirq_pending"):
        done = run_without(fields, tmp_path, *options)
        assert done.returncode == 0, done.stderr
        unknown = json.loads(done.stdout.splitlines()[0])["left_out"]["unknown"]
        assert ("who raises softirqs" in unknown) == bool(fields)
        assert ("who raises softirqs" in done.stderr) == bool(fields)


def test_without_the_one_that_tells_the_victim_it_says_why(tmp_path: Path) -> None:
    done = run_without("prev_sum_exec_runtime", tmp_path, "--json", "-c", "0", "-d", "1s")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1, done.stderr
    line = done.stderr
    assert "thread_switch" in line
    assert "prev_sum_exec_runtime" in line
