"""Writes what the last recorded run of the guests saw into docs/kernels.md: make docs-kernels."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.guests.guest import GROUPS, LEFT_OUT, Run
from tests.guests.machine import PROJECT

DOCUMENT = PROJECT / "docs" / "kernels.md"
RESULT = Path(__file__).with_name("result.json")
"""Written by make record-guests: tests/recorded_runs.py."""
BEGIN = "<!-- From here on make docs-kernels writes what the last recorded run saw. -->\n"
END = "<!-- Up to here. -->\n"

Told = Mapping[str, Any]
"""One kernel in the result: what told() makes of it."""


def told(run: Run) -> dict[str, Any]:
    """What came of one kernel, as a plain object for the result."""
    missing = run.facts.get("missing")
    return {
        "name": run.kernel.name,
        "release": str(run.facts.get("release", "?")),
        "realtime": bool(run.facts.get("realtime")),
        "accelerated": run.accelerated,
        "missing": missing if isinstance(missing, list) else None,
        "groups": {
            group: dict(sorted(Counter(case.state for case in run.of(group)).items()))
            for group in GROUPS
        },
        "isolated_core": {case.name: case.state for case in run.of("isolation")},
    }


def rendered(text: str, kernels: Sequence[Told]) -> str:
    """The document with the tables of these kernels between its two marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError("the document has no marks for its tables")
    return f"{before}{BEGIN}\n{tables(kernels)}\n{END}{after}"


def tables(kernels: Sequence[Told]) -> str:
    """The kernels with what came of each group, and of each test of an isolated core."""
    head: list[tuple[str, Callable[[Told], str]]] = [
        ("", lambda one: one["name"]),
        ("release", lambda one: one["release"]),
        ("PREEMPT_RT", lambda one: "yes" if one["realtime"] else "no"),
        ("booted", lambda one: "with KVM" if one["accelerated"] else "in emulation"),
        ("missing", _missing),
    ]
    rows = [_row(title, [tell(one) for one in kernels]) for title, tell in head]
    rows.insert(1, _row("---", ["---"] * len(kernels)))
    rows += [_row(group, [_result(one, group) for one in kernels]) for group in GROUPS]
    names = dict.fromkeys(name for one in kernels for name in one["isolated_core"])
    core = [
        _row("isolated core", [one["name"] for one in kernels]),
        _row("---", ["---"] * len(kernels)),
        *(_row(_words(name), [_state(one, name) for one in kernels]) for name in names),
    ]
    left = [f"- `{name}` is left out: {why}." for name, why in LEFT_OUT.items()]
    return "\n".join([*rows, "", *core, "", *left, ""])


def _row(title: str, cells: Sequence[str]) -> str:
    return "| " + " | ".join([title, *cells]) + " |"


def _missing(kernel: Told) -> str:
    if kernel["missing"] is None:
        return "?"
    return ", ".join(f"`{name}`" for name in kernel["missing"]) or "nothing"


def _result(kernel: Told, group: str) -> str:
    states = kernel["groups"].get(group, {})
    ended = ("passed", "failed", "skipped")
    without_end = sum(count for state, count in states.items() if state not in ended)
    parts = [f"{states.get('passed', 0)} passed"]
    parts += [f"{states[state]} {state}" for state in ended[1:] if states.get(state)]
    parts += [f"{without_end} without an end"] if without_end else []
    return ", ".join(parts) if states else "did not run"


def _state(kernel: Told, name: str) -> str:
    return str(kernel["isolated_core"].get(name, "did not run"))


def _words(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ").replace("[", ": ").removesuffix("]")


def main() -> None:
    """Rewrites the document."""
    kernels = json.loads(RESULT.read_text())["kernels"]
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(), kernels))


if __name__ == "__main__":
    main()
