"""The registry, its documentation, and that every check is tried in every way."""

from __future__ import annotations

import importlib
import pkgutil
from collections import defaultdict
from pathlib import Path

import pytest

import noisetop.checks
import tests.checks
from noisetop.checks import Check, CheckResult, Goal, Status, all_checks, find, run_checks
from noisetop.checks.catalogue import markdown
from noisetop.checks.result import Verdict
from tests.checks.trees import Case, machine

_DOCS = Path(__file__).parents[2] / "docs/checks.md"
_CLASSES = {"nmi", "irq", "ipi", "timer", "softirq", "thread", "fault", "hardware"}


def _cases() -> list[Case]:
    found: list[Case] = []
    for module in pkgutil.iter_modules(tests.checks.__path__, "tests.checks."):
        if module.name != __name__:
            found += getattr(importlib.import_module(module.name), "CASES", [])
    return found


def test_there_are_the_sixty_checks() -> None:
    assert [check.id for check in all_checks()] == [f"C{number:02}" for number in range(1, 61)]


def test_names_are_unique() -> None:
    assert len({check.name for check in all_checks()}) == len(all_checks())


def test_every_check_is_seen_to_pass_to_complain_and_to_skip() -> None:
    seen = defaultdict(set)
    for case in _cases():
        seen[case.check].add("complain" if case.status in ("fail", "warn") else case.status)
    lacking = {c.id: {"complain", "pass", "skip"} - seen[c.id] for c in all_checks()}
    assert {check_id: ways for check_id, ways in lacking.items() if ways} == {}


@pytest.mark.parametrize("check", all_checks(), ids=lambda check: check.id)
def test_check_is_described(check: Check) -> None:
    assert check.question.endswith("?")
    assert check.why.endswith(".")
    assert all((check.reads, check.expected, check.fix, check.sources))
    assert all(pattern and pattern[0] in _CLASSES for pattern in check.explains)


def test_documentation_is_up_to_date() -> None:
    text = _DOCS.read_text()
    assert text == markdown(), "run: python -m noisetop.checks.catalogue > docs/checks.md"
    assert all(f"### {check.id} {check.name}" in text for check in all_checks())


def test_good_machine_passes_everything(tmp_path: Path) -> None:
    results = run_checks(machine(tmp_path))
    others = {r.id: r.verdict.cause for r in results if r.status is not Status.PASS}
    assert others == dict.fromkeys(("C35", "C60"), "not relevant for the goal realtime")


def test_nothing_passes_or_complains_where_everything_is_hidden(tmp_path: Path) -> None:
    hidden = noisetop.checks.AuditedMachine(tmp_path, cpus=(2,), goal=Goal.BENCHMARK)
    statuses = {r.id: r.status for r in run_checks(hidden)}
    assert set(statuses.values()) == {Status.SKIP}


def test_results_come_worst_first_then_by_rank(tmp_path: Path) -> None:
    changes = {"/sys/devices/system/cpu/nohz_full": "", "/proc/sys/vm/stat_interval": "1"}
    results = run_checks(machine(tmp_path, changes))
    order = [list(Status).index(r.status) for r in results]
    assert order == sorted(order)
    failed = [r.check.rank for r in results if r.status is Status.FAIL]
    assert failed == sorted(failed)
    assert results[0].id == "C02"


def test_prefixes_are_compared_step_by_step() -> None:
    result = CheckResult(find("C31"), Verdict(Status.WARN, ""))
    assert result.explains_source(("timer", "local_timer", "sched_rt_period_timer"))
    assert not result.explains_source(("timer", "local_timer"))
    assert not result.explains_source(("timer", "local_timer", "tick_nohz_handler"))
