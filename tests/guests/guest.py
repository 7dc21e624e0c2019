"""Runs the tests of the kernel inside one guest, and reads what came of them."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.guests import machine, packages
from tests.guests.cases import BOOTS, Case, read, settle
from tests.guests.catalogue import ISOLATION, Kernel

FOLDER = machine.PROJECT / "build" / "guests"
GROUPS = {
    "offers": "tests/guests/inside/test_offers.py",
    "identities": "tests/kernel/test_identities.py",
    "waits": "tests/kernel/test_waits.py",
    "isolation": "tests/guests/inside/test_isolation.py",
    "entries": "tests/guests/inside/test_entries.py",
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
TOLD = "told.jsonl"
"""In a guest's folder: what came of its tests, by inside/tell.py."""
FACTS = "facts.json"
"""In a guest's folder: what it said of itself, by inside/test_offers.py."""


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


def pytest_command(kernel: Kernel, folder: Path, names: Sequence[str], share: float) -> str:
    """The shell command that runs tests inside, and has what came of them written in the folder."""
    words = [
        str(HOLD_TRACEPOINTS), "env", "NOISETOP_MUST_RUN=kernel", f"NOISETOP_KERNEL={kernel.name}",
        f"NOISETOP_FACTS={folder / FACTS}", f"NOISETOP_TOLD={folder / TOLD}",
        f"NOISETOP_LOAD_SHARE={share}", "PYTHONDONTWRITEBYTECODE=1",
        sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.guests.inside.tell",
        "--basetemp=/tmp/pytest", "--durations=10", "--tb=short",
        *(f"--deselect={name}" for name in LEFT_OUT), *names,
    ]  # fmt: skip
    return shlex.join(words)


def run_tests(
    boot: Callable[[Sequence[str]], machine.Outcome],
    folder: Path,
    groups: Mapping[str, str],
    boots: int = BOOTS,
) -> tuple[machine.Outcome, dict[str, Case]]:
    """Boots, more than once where need be, until all tests of the groups came to an end.

    What was told in each boot stays in the folder.
    """
    told = folder / TOLD
    for path in (folder / FACTS, *folder.glob(f"*{TOLD}")):
        path.unlink(missing_ok=True)

    def once(names: Sequence[str]) -> tuple[machine.Outcome, dict[str, Case]]:
        outcome = boot(names)
        if not told.exists():
            return outcome, {}
        number = len(list(folder.glob(f"*-{TOLD}"))) + 1
        kept = told.rename(folder / f"boot-{number}-{TOLD}")
        return outcome, read(kept.read_text(), groups)

    return settle(once, list(groups.values()), boots)


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
    folder = FOLDER / kernel.name
    share = 1.0 if accelerated else LOAD_SHARE

    def boot(names: Sequence[str]) -> machine.Outcome:
        command = pytest_command(kernel, folder, names, share)
        return machine.boot(image, folder, command, arguments=ISOLATION, patience_s=PATIENCE_S)

    outcome, cases = run_tests(boot, folder, GROUPS, 1 if accelerated else BOOTS)
    facts = folder / FACTS
    told = json.loads(facts.read_text()) if facts.exists() else {}
    return Run(kernel, image, accelerated, outcome, tuple(cases.values()), told)
