"""Writes what the harness saw into docs/kernels.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.kernels.guest import GROUPS, LEFT_OUT, Run
from tests.kernels.machine import PROJECT

DOCUMENT = PROJECT / "docs" / "kernels.md"
BEGIN = "<!-- From here on make test-kernels writes what it saw. -->\n"
END = "<!-- Up to here. -->\n"


def rewrite(path: Path, runs: Sequence[Run]) -> None:
    """Puts the tables of these runs between the two marks in a file."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path} has no marks for its tables")
    path.write_text(f"{before}{BEGIN}\n{tables(runs)}\n{END}{after}")


def tables(runs: Sequence[Run]) -> str:
    """The kernels with what came of each group, and of each test of an isolated core."""
    head: list[tuple[str, Callable[[Run], str]]] = [
        ("", lambda run: run.kernel.name),
        ("release", lambda run: str(run.facts.get("release", "?"))),
        ("PREEMPT_RT", lambda run: "yes" if run.facts.get("realtime") else "no"),
        ("booted", lambda run: "with KVM" if run.accelerated else "in emulation"),
        ("missing", _missing),
    ]
    rows = [_row(title, [tell(run) for run in runs]) for title, tell in head]
    rows.insert(1, _row("---", ["---"] * len(runs)))
    rows += [_row(group, [_result(run, group) for run in runs]) for group in GROUPS]
    names = dict.fromkeys(case.name for run in runs for case in run.of("isolation"))
    core = [
        _row("isolated core", [run.kernel.name for run in runs]),
        _row("---", ["---"] * len(runs)),
        *(_row(_words(name), [_state(run, name) for run in runs]) for name in names),
    ]
    left = [f"- `{name}` is left out: {why}." for name, why in LEFT_OUT.items()]
    return "\n".join([*rows, "", *core, "", *left, ""])


def _row(title: str, cells: Sequence[str]) -> str:
    return "| " + " | ".join([title, *cells]) + " |"


def _missing(run: Run) -> str:
    missing = run.facts.get("missing")
    if not isinstance(missing, list):
        return "?"
    return ", ".join(f"`{name}`" for name in missing) or "nothing"


def _result(run: Run, group: str) -> str:
    cases = run.of(group)
    failed = sum(case.state == "failed" for case in cases)
    skipped = sum(case.state == "skipped" for case in cases)
    passed = sum(case.state == "passed" for case in cases)
    without_end = len(cases) - passed - failed - skipped
    parts = [f"{passed} passed"]
    parts += [f"{failed} failed"] if failed else []
    parts += [f"{skipped} skipped"] if skipped else []
    parts += [f"{without_end} without an end"] if without_end else []
    return ", ".join(parts) if cases else "did not run"


def _state(run: Run, name: str) -> str:
    states = [case.state for case in run.of("isolation") if case.name == name]
    return states[0] if states else "did not run"


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ").replace("[", ": ").removesuffix("]")
