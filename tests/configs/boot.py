"""Boots the kernel of a configuration and runs the tests of the kernel in it."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tests.configs import build
from tests.configs.catalogue import CONFIGURATIONS, Configuration
from tests.guests import guest, machine
from tests.guests.cases import BOOTS

GROUPS = {
    "offers": "tests/configs/inside/test_offers.py",
    "identities": "tests/kernel/test_identities.py",
}
"""What is run inside, by the name of the tests here."""

RUNS: dict[Configuration, guest.Run] = {}
"""Each configuration that was booted."""


@functools.cache
def run(configuration: Configuration) -> guest.Run:
    """Boots it and runs every group in it. UnavailableError where that cannot be."""
    machine.check_tools()
    image = build.image(configuration)
    accelerated = machine.kvm_works(image)
    folder = build.FOLDER / configuration.name / "guest"
    share = 1.0 if accelerated else guest.LOAD_SHARE

    def boot(names: Sequence[str]) -> machine.Outcome:
        command = guest.pytest_command(configuration, folder, names, share)
        return machine.boot(
            image, folder, command, cpus=configuration.cpus, patience_s=guest.PATIENCE_S
        )

    outcome, cases = guest.run_tests(boot, folder, GROUPS, 1 if accelerated else BOOTS)
    facts = folder / guest.FACTS
    told = json.loads(facts.read_text()) if facts.exists() else {}
    done = guest.Run(configuration, image, accelerated, outcome, tuple(cases.values()), told)
    RUNS[configuration] = done
    return done


def told(configuration: Configuration, run: guest.Run) -> dict[str, Any]:
    """What came of one configuration, as a plain object for the record."""
    return {
        "name": configuration.name,
        "source": run.image.version,
        "options": dict(configuration.options),
        "cpus": configuration.cpus,
        "accelerated": run.accelerated,
        "missing": run.facts.get("missing"),
        "groups": {
            group: dict(sorted(Counter(case.state for case in run.of(group)).items()))
            for group in GROUPS
        },
    }


def results(before: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The record's configurations: those of before, and those in which all passed meanwhile."""
    known = {one["name"]: one for one in before}
    for configuration, run in RUNS.items():
        if all(case.state == "passed" for case in run.cases):
            known[configuration.name] = told(configuration, run)
    return [known[one.name] for one in CONFIGURATIONS if one.name in known]
