"""When a run of tests is on record, and what a record is worth."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from pathlib import Path

import pytest

from tests import recorded_runs
from tests.guests.catalogue import KERNELS
from tests.recorded_runs import PARTS, PROJECT, Recorder

GUESTS = PARTS["guests"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a record that holds."""
    for name in ("bpf/a.bpf.c", "noisetop/native/a.c", "tests/guests/test_a.py", "docs/a.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    record(tmp_path)
    return tmp_path


def record(project: Path) -> None:
    GUESTS.path(project).write_text(json.dumps({"inputs": GUESTS.hashes(project), "kernels": []}))


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("bpf/a.bpf.c", ["bpf"]),
        ("bpf/new/b.h", ["bpf"]),
        ("noisetop/native/a.c", ["noisetop/native"]),
        ("tests/guests/test_a.py", ["tests/guests"]),
        ("docs/a.md", []),
        ("noisetop/cli.py", []),
        ("bpf/__pycache__/a.pyc", []),
    ],
)
def test_what_changed_since_the_record(project: Path, path: str, changed: list[str]) -> None:
    assert GUESTS.changed(project) == []
    (project / path).parent.mkdir(exist_ok=True)
    (project / path).write_text("other")
    assert GUESTS.changed(project) == changed


def test_a_file_that_is_gone_or_renamed_is_a_change(project: Path) -> None:
    (project / "bpf/a.bpf.c").rename(project / "bpf/b.bpf.c")
    assert GUESTS.changed(project) == ["bpf"]
    (project / "bpf/b.bpf.c").unlink()
    assert GUESTS.changed(project) == ["bpf"]


def test_without_a_record_everything_changed(project: Path) -> None:
    GUESTS.path(project).unlink()
    assert GUESTS.changed(project) == list(GUESTS.inputs)


def report(outcome: str = "passed", when: str = "call") -> pytest.TestReport:
    return pytest.TestReport("tests/guests/test_a.py::test", ("", 0, ""), {}, outcome, None, when)  # type: ignore[arg-type]


def recorder(project: Path) -> Recorder:
    return Recorder("guests", project, lambda: {"kernels": ["seen"]})


def test_a_whole_run_that_passed_is_recorded(project: Path) -> None:
    (project / "bpf/a.bpf.c").write_text("other")
    running = recorder(project)
    running.pytest_runtest_logreport(report())
    assert GUESTS.changed(project) == ["bpf"]
    running.pytest_sessionfinish(0)
    assert GUESTS.changed(project) == []
    assert json.loads(GUESTS.path(project).read_text())["kernels"] == ["seen"]


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_run_that_did_not_pass_is_not_recorded(project: Path, outcome: str) -> None:
    (project / "bpf/a.bpf.c").write_text("other")
    running = recorder(project)
    running.pytest_runtest_logreport(report())
    running.pytest_runtest_logreport(report(outcome))
    running.pytest_sessionfinish(0)
    assert GUESTS.changed(project) == ["bpf"]


@pytest.mark.parametrize(("passed", "status"), [(0, 0), (1, 1), (1, 2)])
def test_a_run_without_tests_or_with_a_failure_is_not_recorded(
    project: Path, passed: int, status: int
) -> None:
    (project / "bpf/a.bpf.c").write_text("other")
    running = recorder(project)
    running.passed = passed
    running.pytest_sessionfinish(status)
    assert GUESTS.changed(project) == ["bpf"]


def test_inputs_that_change_while_the_tests_run_are_not_recorded(project: Path) -> None:
    running = recorder(project)
    running.pytest_runtest_logreport(report())
    (project / "bpf/a.bpf.c").write_text("other")
    running.pytest_sessionfinish(0)
    assert GUESTS.changed(project) == ["bpf"]


def test_a_part_of_the_tests_is_not_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "tests/guests"
    folder.mkdir(parents=True)
    for name in ("conftest.py", "test_some.py"):
        (folder / name).touch()
    (folder / "test_some.py").write_text("def test_a(): pass\ndef test_b(): pass\n")
    (folder / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from tests.recorded_runs import Recorder\n"
        "def pytest_configure(config):\n"
        "    config.pluginmanager.register(Recorder('guests', Path.cwd()))\n"
    )
    environment = ("env", f"PYTHONPATH={PROJECT}", "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1")
    words = ("pytest", "-p", "no:cacheprovider", "tests/guests")
    result_file = folder / "result.json"
    for more, written in ((("-k", "test_a"), False), ((), True)):
        done = subprocess.run(
            [*environment, sys.executable, "-m", *words, *more],
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert result_file.exists() == written, done.stderr
        assert written or "test_b was left out" in done.stderr


@pytest.mark.parametrize(("name", "obstacles"), [("configs", 0), ("guests", 1)])
def test_of_configurations_alone_some_may_be_left_out(
    project: Path, name: str, obstacles: int
) -> None:
    item = types.SimpleNamespace(path=project / f"tests/{name}/test_a.py", nodeid="test_a")
    running = Recorder(name, project)
    running.pytest_deselected([item])  # type: ignore[list-item]
    assert len(running.obstacles) == obstacles


def test_the_word_about_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    for name, part in PARTS.items():
        assert recorded_runs.main(name) == bool(part.changed())
        line = capsys.readouterr().out
        assert line.count("\n") == 1
        assert part.record in line


def test_inputs_exist() -> None:
    for part in PARTS.values():
        assert all((PROJECT / name).exists() for name in part.inputs)


def test_ci_boots_the_oldest_kernel() -> None:
    assert f"oldest={KERNELS[0].name}\n" in (PROJECT / ".ci/run").read_text()
    assert KERNELS[0].suites == ("bullseye",)
