"""What came of the tests inside a guest, and which of them are to be run in one more boot."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.guests.machine import Outcome

BOOTS = 4
"""How often a kernel is booted at most until each of its tests came to an end."""
CHANCES = 2
"""What fails in emulation, or stops the guest, counts when it does so that often."""
_ORDER = ("chosen", "began", "passed", "skipped", "failed")
"""What is told of a test last counts, but for a teardown that passes after a failure."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test inside a guest."""

    name: str
    group: str
    state: str
    """passed, failed, skipped, stopped (the guest came to its end in it) or unreached"""
    message: str = ""


def read(text: str, groups: Mapping[str, str]) -> dict[str, Case]:
    """The tests of a file of tell.py, by their names in pytest; groups: paths by name."""
    by_path = {path: name for name, path in groups.items()}
    cases: dict[str, Case] = {}
    best: Counter[str] = Counter()
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            continue  # the guest stopped while it was written
        node, state = told["name"], told["state"]
        if node in cases and _ORDER.index(state) < best[node]:
            continue
        best[node] = _ORDER.index(state)
        path, _, name = node.partition("::")
        final = {"chosen": "unreached", "began": "stopped"}.get(state, state)
        cases[node] = Case(name, by_path.get(path, ""), final, told["message"])
    return cases


def settle(
    boot: Callable[[Sequence[str]], tuple[Outcome, dict[str, Case]]],
    names: Sequence[str],
    boots: int = BOOTS,
) -> tuple[Outcome, dict[str, Case]]:
    """Boots until each test passed, or did not in CHANCES boots, or BOOTS were made.

    ``boot`` runs the tests of these names, at first whole files of them, and tells what came of
    them; later boots run those only that are not settled. The last outcome comes back, and of each
    test the last that came of it.
    """
    cases: dict[str, Case] = {}
    missed: Counter[str] = Counter()
    for number in range(1, boots + 1):
        outcome, told = boot(names)
        cases |= told
        missed.update(node for node, case in told.items() if case.state in ("failed", "stopped"))
        names = [
            node for node, case in cases.items()
            if case.state in ("failed", "stopped", "unreached") and missed[node] < CHANCES
        ] if cases else names  # fmt: skip
        if not names or number == boots:
            break
        print(f"once more for {len(names)} of {len(cases)} tests, after {_why(told, outcome)}")
    return outcome, cases


def _why(told: Mapping[str, Case], outcome: Outcome) -> str:
    bad = [f"{case.name} {case.state}" for case in told.values() if case.state != "passed"]
    seen = [text for text in bad if not text.endswith("unreached")]
    return ", ".join(seen) or outcome.told()
