"""Which runs of tests that take long are on record, and whether their inputs are still the same.

A record is a tracked file with a hash of each input. Only a whole run that passed writes it, and
only when asked to: ``pytest -p tests.recorded_runs --record guests``. Of the configurations of
kernels, which take long to build, one at a time may be added, as long as no input changed.
``python -m tests.recorded_runs guests`` recomputes the hashes, prints one line, and returns 0 where
nothing changed since.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Part:
    """Tests that need not run again while their inputs are the same."""

    inputs: tuple[str, ...]
    """Files and folders of the project."""
    record: str
    """The tracked file; never an input."""
    marked: bool = False
    """Whether its tests have a marker of its name; else they are those of the folder."""
    piecemeal: bool = False
    """Whether a run may be of some of its tests: the record says what of."""

    def path(self, project: Path = PROJECT) -> Path:
        """Where the record lies."""
        return project / self.record

    def hashes(self, project: Path = PROJECT) -> dict[str, str]:
        """A hash of each input as it is now."""
        return {name: _hash_of(project, name, self.record) for name in self.inputs}

    def recorded(self, project: Path = PROJECT) -> dict[str, str]:
        """The hashes of the last run that was recorded; empty where there is none."""
        path = self.path(project)
        return dict(json.loads(path.read_text())["inputs"]) if path.exists() else {}

    def changed(self, project: Path = PROJECT) -> list[str]:
        """Inputs that are not what the recorded run had."""
        recorded = self.recorded(project)
        return [name for name, now in self.hashes(project).items() if recorded.get(name) != now]


PARTS = {
    "guests": Part(("bpf", "noisetop/native", "tests/guests"), "tests/guests/result.json"),
    "configs": Part(
        ("bpf", "noisetop/native", "tests/configs"), "tests/configs/result.json", piecemeal=True
    ),
    "packaging": Part(
        (
            *("packaging", "Makefile", "pyproject.toml", "bpf/CMakeLists.txt", ".ci/run"),
            *("noisetop/native", "tests/packaging", "tests/kernel/test_exporter.py"),
            # The board's queries are asked of these metrics, and Spark answers these questions.
            *("noisetop/metrics", "noisetop/fleet"),
        ),
        "tests/packaging/result.json",
        marked=True,
    ),
}


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for child in sorted(path.iterdir()) if path.is_dir() else ():
        if child.name != "__pycache__":
            yield from _files(child)


def _hash_of(project: Path, name: str, record: str) -> str:
    """Of names and contents of all files of one input."""
    total = hashlib.sha256()
    for file in _files(project / name):
        relative = file.relative_to(project).as_posix()
        if relative != record:
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            total.update(f"{relative}\0{content}\n".encode())
    return total.hexdigest()


@dataclass(slots=True, eq=False)  # a plugin has to be hashable
class Recorder:
    """Writes the record of a part when all of its tests ran and passed."""

    name: str
    project: Path = PROJECT
    results: Callable[[], dict[str, Any]] = dict
    """What the record says beside the hashes."""
    obstacles: list[str] = field(default_factory=list)
    passed: int = 0
    before: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.before = PARTS[self.name].hashes(self.project)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Counts what ARGS left out; a marker that chooses the part leaves out the others."""
        if PARTS[self.name].piecemeal:
            return
        marked = PARTS[self.name].marked
        own = [
            item
            for item in items
            if (item.get_closest_marker(self.name) if marked else self.name in item.path.parts)
        ]
        self.obstacles += [f"{item.nodeid} was left out" for item in own]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts what did not pass."""
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self.obstacles.append(f"{report.nodeid} {report.outcome}")
        elif report.when == "call":
            self.passed += 1

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Writes the record, or says why not."""
        part = PARTS[self.name]
        if exitstatus or self.obstacles or not self.passed:
            why = self.obstacles[0] if self.obstacles else "not all tests ran and passed"
            print(f"\n{part.record} stays as it is: {why}", file=sys.stderr)
        elif part.hashes(self.project) != self.before:
            print(f"\n{part.record} stays as it is: its inputs changed meanwhile", file=sys.stderr)
        else:
            record = {"inputs": self.before, **self.results()}
            part.path(self.project).write_text(json.dumps(record, indent=1) + "\n")
            print(f"\nwrote {part.record}", file=sys.stderr)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares --record."""
    parser.addoption("--record", choices=sorted(PARTS), help="write what this run passed on")


def pytest_configure(config: pytest.Config) -> None:
    """Records where that is asked for."""
    if name := config.getoption("--record"):
        config.pluginmanager.register(Recorder(name, results=_results_of(name)))


def _results_of(name: str) -> Callable[[], dict[str, Any]]:
    return {"guests": _guests, "configs": _configs}.get(name, dict)


# What boots them is not installed elsewhere.
def _guests() -> dict[str, Any]:
    from tests.guests import document, guest

    return {"kernels": [document.told(run) for run in guest.RUNS.values()]}


def _configs() -> dict[str, Any]:
    from tests.configs import boot

    part = PARTS["configs"]
    before = [] if part.changed() else json.loads(part.path().read_text())["configurations"]
    return {"configurations": boot.results(before)}


def main(name: str) -> int:
    """0 where nothing changed since the recorded run; prints which inputs did."""
    part = PARTS[name]
    if not part.recorded():
        print(f"no run of {name} is on record ({part.record})")
        return 1
    if changed := part.changed():
        print(f"changed since the run of {part.record}: {', '.join(changed)}")
        return 1
    print(f"nothing changed since the run of {part.record} in {', '.join(part.inputs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
