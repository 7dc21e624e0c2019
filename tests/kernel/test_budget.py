"""A budget for the time that is added to an interruption: measured here, and what comes of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisetop.counters.left_out import CHEAP, STEPS
from noisetop.events.symbols import read_kallsyms
from noisetop.machine import system
from noisetop.probe.program_costs import program_costs
from noisetop.session.run_budget import RunBudget
from noisetop.tracing.budget import MEASURED, SENT
from noisetop.tracing.program_sets import COMPLETE, ProgramSet, program_set
from noisetop.tracing.target import Target
from tests.kernel.forked import run
from tests.kernel.program import read

pytestmark = pytest.mark.kernel

CPUS = system.online_cpus()
VICTIM_CPU, HOUSE = max(CPUS), CPUS[:-1]
GENEROUS, TINY = "1ms", "1ns"


def chosen(limit_ns: int) -> ProgramSet:
    budget = RunBudget(limit_ns, (), Target((VICTIM_CPU,)), HOUSE, compiled=False)
    return budget.choose(read_kallsyms())


def test_its_ends_are_the_complete_set_and_cheap() -> None:
    assert chosen(1_000_000).programs == COMPLETE.programs
    least = chosen(1)
    assert least.programs == program_set([CHEAP]).programs
    added = dict(least.left_out.budget.added_ns)
    assert added.keys() == {"timer", "ipi", "softirq"}
    assert all(ns > 0 for ns in added.values())


def test_the_programs_of_a_timer_are_measured() -> None:
    """Each call of a program takes longer than nothing, and none a millisecond."""
    costs = program_costs(MEASURED, SENT, HOUSE[-1], HOUSE, read_kallsyms())
    assert len(costs) > len(SENT)
    names = ("hrtimer_entry_twin_1", "hrtimer_exit_twin_1")
    assert all(1 < (costs[name] or 0) < 1_000_000 for name in names), costs
    if len(HOUSE) == 1:
        assert all(costs[name] is None for name in SENT & costs.keys())


@pytest.mark.side_by_side
@pytest.mark.parametrize(("limit", "options"), [(GENEROUS, []), (TINY, ["budget"])])
def test_what_comes_of_it_is_told(limit: str, options: list[str], tmp_path: Path) -> None:
    """On the screen before the run, in the report of the file, and in JSON."""
    output = tmp_path / "one.noisetop"
    done = run("record", "-c", str(VICTIM_CPU), "--budget", limit, "-d", "300ms", "-o", output)
    assert done.returncode == 0, done.stderr
    told = "--budget of 1 ns: unknown are" if options else "--budget of 1.00 ms: nothing is left"
    assert told in done.stderr
    about = json.loads(read("report", output, "--json").stdout)["left_out"]
    assert about["options"] == options
    assert about["unknown"] == list(program_set([CHEAP] if options else []).left_out.unknown)
    assert about["budget"]["steps"] == list(STEPS if options else ())
    assert told in " ".join(read("report", output).stdout.split())
