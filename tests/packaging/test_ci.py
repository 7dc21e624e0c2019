""".ci/run: which parts it runs, and what it makes of how they end."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.packaging.made_up_machine import PROJECT, Machine

pytestmark = pytest.mark.packaging


MAKE = """
echo "make $*" >>{root}/log
case "$1" in
check) exit {check} ;;
test) echo "must run: ${NOISETOP_MUST_RUN:-}."; echo "{closing}"; exit {test} ;;
test-guests) echo "====== {guests} in 9.00s ======"; exit {kernels} ;;
*) echo "====== 2 passed in 9.00s ======" ;;
esac
"""
CLOSING = "=================== 3 passed, 1 skipped in 0.05s ==================="
ALWAYS = ["make check", "make test KERNEL_ARGS=--reruns 1", "make test-viewers"]


@pytest.fixture
def ci(machine: Machine) -> Machine:
    """A clone with .ci/run, on a machine where BPF is allowed, and nothing on record."""
    (machine.root / ".ci").mkdir()
    shutil.copy(PROJECT / ".ci/run", machine.root / ".ci/run")
    machine.add("bpftool")
    on_record(machine)
    return machine


def on_record(ci: Machine, *parts: str) -> None:
    """Has nothing changed since the recorded run of these parts of the tests."""
    cases = " ".join(f"{part}) echo nothing changed; exit 0 ;;" for part in parts)
    script = f'case "$3" in {cases} *) echo "changed: bpf"; exit 1 ;; esac'
    ci.add("python", script, folder=".venv/bin")


def run_ci(
    ci: Machine,
    check: int = 0,
    test: int = 0,
    kernels: int = 0,
    closing: str = CLOSING,
    guests: str = "5 passed",
) -> subprocess.CompletedProcess[str]:
    script = MAKE.replace("{check}", str(check)).replace("{test}", str(test))
    script = script.replace("{kernels}", str(kernels)).replace("{guests}", guests)
    ci.add("make", script.replace("{closing}", closing))
    bash = shutil.which("bash")
    assert bash is not None
    return ci.run(bash, ".ci/run")


@pytest.mark.parametrize(
    ("check", "test", "kernels"), [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (2, 2, 2)]
)
def test_ci_fails_when_any_part_does(ci: Machine, check: int, test: int, kernels: int) -> None:
    result = run_ci(ci, check, test, kernels)
    assert result.returncode == max(check, test, kernels)
    assert result.stdout.splitlines()[-1] == CLOSING


def test_ci_runs_everything_where_nothing_is_on_record(ci: Machine) -> None:
    result = run_ci(ci)
    rest = ("test-packaging", "test-guests", "test-thorough", "fuzz TIME=60s", "test-arm64")
    assert ci.log() == [*ALWAYS, *(f"make {part}" for part in rest)]
    assert "ci: packaging: run, changed: bpf\n" in result.stdout
    assert "ci: guests: all, changed: bpf\n" in result.stdout
    assert "ci: configs: not run, changed: bpf: make record-configs\n" in result.stdout


def test_ci_leaves_out_what_did_not_change_and_says_so(ci: Machine) -> None:
    on_record(ci, "packaging", "guests", "configs")
    result = run_ci(ci)
    assert ci.log() == [*ALWAYS, "make test-guests ARGS=-k bullseye"]
    assert "ci: packaging: not run, nothing changed\n" in result.stdout
    assert "ci: guests: the oldest kernel alone, nothing changed\n" in result.stdout
    for part in ("hostile input in full", "fuzz", "arm64"):
        assert f"ci: {part}: not run, as with the guests\n" in result.stdout
    assert "ci: configs: not run, nothing changed\n" in result.stdout


def test_ci_runs_a_part_whose_record_cannot_be_read(ci: Machine) -> None:
    ci.add("python", "echo Traceback >&2; exit 1", folder=".venv/bin")
    result = run_ci(ci)
    assert "make test-packaging" in ci.log()
    assert "ci: guests: all, Traceback\n" in result.stdout


def test_ci_knows_a_long_run(ci: Machine) -> None:
    closing = "================== 300 passed in 83.10s (0:01:23) =================="
    assert run_ci(ci, closing=closing).stdout.splitlines()[-1] == closing


def test_ci_fails_when_no_guest_ran_a_test(ci: Machine) -> None:
    assert run_ci(ci, guests="1 passed, 4 skipped").returncode == 0
    result = run_ci(ci, guests="5 skipped")
    assert result.returncode == 1
    assert "make test-guests ran no test" in result.stderr


def test_ci_fails_without_a_closing_line(ci: Machine) -> None:
    assert run_ci(ci, closing="Killed").returncode == 1


def test_ci_insists_on_kernel_tests_where_they_can_run(ci: Machine) -> None:
    has_btf = os.access("/sys/kernel/btf/vmlinux", os.R_OK)
    expected = "viewer kernel pure" if has_btf else "viewer"
    assert f"must run: {expected}.\n" in run_ci(ci).stdout
    ci.add("bpftool", "exit 255")
    assert "must run: viewer.\n" in run_ci(ci).stdout
    ci.add("bpftool")
    ci.add("id", "echo 1000")
    assert "must run: viewer.\n" in run_ci(ci).stdout
