"""Runs the tests of the kernel inside one guest, and reads what came of them."""

from __future__ import annotations

import json
import shlex
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.kernels import machine, packages
from tests.kernels.catalogue import ISOLATION, Kernel

FOLDER = machine.PROJECT / "build" / "kernels"
GROUPS = {
    "offers": "tests/kernels/inside/test_offers.py",
    "identities": "tests/kernel/test_identities.py",
    "waits": "tests/kernel/test_waits.py",
    "isolation": "tests/kernels/inside/test_isolation.py",
    "entries": "tests/kernels/inside/test_entries.py",
}
"""What is run inside, by the name of the tests here."""
LEFT_OUT = {
    "tests/kernel/test_waits.py::test_waits_follow_their_thread_across_migrations": (
        "the scheduler counts no wait while it moves a thread, and emulation takes long for that"
    ),
    "tests/kernel/test_waits.py::test_waits_equal_the_kernels": (
        "between a wake-up and the switch after it the scheduler takes no new time, and emulation "
        "takes long for that: waits that are short do not agree within one per cent"
    ),
    "tests/kernel/test_waits.py::"
    "test_the_age_of_its_clock_is_what_the_kernel_leaves_out_of_short_waits": (
        "what it looks at is shorter than the programs that look at it take in emulation"
    ),
}
"""What is not run inside, and why."""
HOLD_TRACEPOINTS = Path(__file__).with_name("inside") / "hold_tracepoints.sh"
LOAD_SHARE = 0.1
"""How much of the load of the kernel tests emulation carries."""
PATIENCE_S = 540


@dataclass(frozen=True, slots=True)
class Case:
    """One test inside a guest."""

    name: str
    group: str
    state: str
    """passed, failed or skipped"""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of the tests inside one kernel."""

    kernel: Kernel
    image: packages.Image
    accelerated: bool
    """With KVM, else in emulation."""
    outcome: machine.Outcome
    cases: tuple[Case, ...]
    facts: dict[str, object] = field(default_factory=dict)
    """What the guest said of itself: test_offers.py."""

    def of(self, group: str) -> list[Case]:
        """The tests of one group."""
        return [case for case in self.cases if case.group == group]


def read_cases(text: str, groups: dict[str, str]) -> tuple[Case, ...]:
    """The tests of a JUnit file, as pytest writes it."""
    by_module = {path.removesuffix(".py").replace("/", "."): name for name, path in groups.items()}
    cases = []
    for element in ElementTree.fromstring(text).iter("testcase"):
        group = by_module.get(element.get("classname", ""), "")
        state, message = "passed", ""
        for child in element:
            if child.tag in ("failure", "error"):
                state, message = "failed", f"{child.get('message', '')}\n{child.text or ''}"
            elif child.tag == "skipped" and state == "passed":
                state, message = "skipped", child.get("message", "")
        cases.append(Case(element.get("name", ""), group, state, message))
    return tuple(cases)


def pytest_command(kernel: Kernel, report: Path, paths: Sequence[str], share: float) -> str:
    """The shell command that runs tests inside."""
    words = [
        str(HOLD_TRACEPOINTS), "env", "NOISETOP_MUST_RUN=kernel", f"NOISETOP_KERNEL={kernel.name}",
        f"NOISETOP_FACTS={report.with_name('facts.json')}", f"NOISETOP_LOAD_SHARE={share}",
        "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
        "--basetemp=/tmp/pytest", "--durations=10", "--tb=short", f"--junitxml={report}",
        *(f"--deselect={name}" for name in LEFT_OUT), *paths,
    ]  # fmt: skip
    return shlex.join(words)


RUNS: dict[Kernel, Run] = {}
"""Each kernel that was booted."""


def run(kernel: Kernel) -> Run:
    """Boots the kernel once and runs every group in it. UnavailableError where that cannot be."""
    if kernel not in RUNS:
        RUNS[kernel] = _run(kernel)
    return RUNS[kernel]


def _run(kernel: Kernel) -> Run:
    """Emulated CPUs stand still now and then, on a busy machine for long: there, what fails counts
    when it fails twice."""
    machine.check_tools()
    image = packages.fetch(kernel.package, kernel.suites)
    accelerated = machine.kvm_works(image)
    done = _boot(kernel, image, accelerated)
    failed = [case.name for case in done.cases if case.state != "passed"]
    if not accelerated and (failed or done.outcome.status is None):
        print(f"{image.version}: once more after {', '.join(failed) or done.outcome.told()}")
        done = _boot(kernel, image, accelerated)
    return done


def _boot(kernel: Kernel, image: packages.Image, accelerated: bool) -> Run:
    folder = FOLDER / kernel.name
    report, facts = folder / "junit.xml", folder / "facts.json"
    for path in (report, facts):
        path.unlink(missing_ok=True)
    share = 1.0 if accelerated else LOAD_SHARE
    command = pytest_command(kernel, report, list(GROUPS.values()), share)
    outcome = machine.boot(image, folder, command, arguments=ISOLATION, patience_s=PATIENCE_S)
    return Run(
        kernel, image, accelerated, outcome,
        read_cases(report.read_text(), GROUPS) if report.exists() else (),
        json.loads(facts.read_text()) if facts.exists() else {},
    )  # fmt: skip
