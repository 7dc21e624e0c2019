"""The verbs of the Makefile, in a made-up clone."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from tests.packaging.made_up_machine import PROJECT, Machine

pytestmark = pytest.mark.packaging


# A venv as far as the Makefile looks at it; pip and noisetop log how they were called.
MADE_PYTHON = """
mkdir -p .venv/bin
echo "command = python3 -m venv $PWD/.venv" >.venv/pyvenv.cfg
rm -f .venv/built .venv/tools
for tool in pip noisetop python pytest; do cp {root}/logged .venv/bin/$tool; done
"""


@pytest.fixture
def clone(machine: Machine) -> Machine:
    """A fresh clone on a machine that has everything."""
    for tool in ("make", "cp", "mv", "sh"):
        found = shutil.which(tool)
        assert found is not None
        (machine.root / "bin" / tool).symlink_to(found)
    machine.add_logged("logged", folder=".")
    machine.add_logged("python3", MADE_PYTHON)
    machine.add("prepare", '[ "$1" != python ] || echo python3', folder="packaging")
    shutil.copy(PROJECT / "Makefile", machine.root)
    for source in ("pyproject.toml", "bpf/CMakeLists.txt", "bpf/irq.bpf.c", "bpf/nmi.bpf.c"):
        (machine.root / source).parent.mkdir(exist_ok=True)
        (machine.root / source).touch()
    return machine


BUILD = "pip install -q -e ."
# The Makefile asks this of a virtual environment each time.
PROBE = "python -c import pip"


def steps(clone: Machine, *goals: str) -> list[str]:
    """What make ran for the goals, apart from its probe."""
    (clone.root / "log").unlink(missing_ok=True)
    result = clone.run("make", *goals)
    assert result.returncode == 0, result.stderr
    return [line.rstrip() for line in clone.log() if line != PROBE]


def age(clone: Machine, *files: str) -> None:
    """Makes the stamps older than the files, whatever the clock's resolution."""
    for file in files or ("Makefile",):
        stat = (clone.root / file).stat()
        for stamp in clone.root.glob(".venv/*"):
            if stamp.is_file():
                os.utime(stamp, ns=(stat.st_atime_ns, stat.st_mtime_ns - 1))


def test_build_makes_an_environment_once(clone: Machine) -> None:
    assert steps(clone, "build") == ["python3 -m venv --clear .venv", BUILD]
    assert steps(clone, "build") == []


def test_changed_source_is_built_again(clone: Machine) -> None:
    steps(clone, "build")
    age(clone, "bpf/irq.bpf.c")
    assert steps(clone, "build") == [BUILD]


@pytest.mark.parametrize("change", ["add", "remove"])
def test_source_that_came_or_went_is_noticed(clone: Machine, change: str) -> None:
    steps(clone, "build")
    if change == "add":
        # Older than the stamp, as a file is that was moved here.
        (clone.root / "bpf/new.bpf.c").touch()
        os.utime(clone.root / "bpf/new.bpf.c", (0, 0))
    else:
        (clone.root / "bpf/nmi.bpf.c").unlink()
    assert steps(clone, "build") == [BUILD]
    assert steps(clone, "build") == []


def test_environment_that_was_moved_is_made_anew(clone: Machine) -> None:
    steps(clone, "build")
    (clone.root / ".venv/pyvenv.cfg").write_text("command = python3 -m venv /elsewhere/.venv\n")
    assert steps(clone, "build")[0] == "python3 -m venv --clear .venv"


def test_environment_whose_python_is_gone_is_made_anew(clone: Machine) -> None:
    steps(clone, "build")
    (clone.root / ".venv/bin/python").unlink()
    assert steps(clone, "build")[0] == "python3 -m venv --clear .venv"


def test_run_passes_the_arguments(clone: Machine) -> None:
    steps(clone, "build")
    assert steps(clone, "run", "ARGS=--cpus 1 -d 10s") == ["noisetop --cpus 1 -d 10s"]


def test_run_takes_a_user_through_sudo(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    clone.add_logged("sudo", 'exec "$@"')
    assert steps(clone, "run", "ARGS=-p 1")[-2:] == [
        "sudo env PYTHONDONTWRITEBYTECODE=1 .venv/bin/noisetop -p 1",
        "noisetop -p 1",
    ]


def test_run_without_sudo_says_so(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    result = clone.run("make", "run")
    assert result.returncode != 0
    assert "noisetop: tracing takes root, and there is no sudo: run make run as root\n" in (
        result.stderr
    )


BESIDE = "-n auto --dist worksteal"
PURE = f"pytest {BESIDE} --ignore=tests/kernel -m not kernel and not viewer and not packaging"
OF_KERNEL = (
    "pytest -o testpaths=tests/kernel -p no:cacheprovider "
    "-m kernel and not packaging and not story and"
)
AT_ONCE, THEN = {PURE, f"{OF_KERNEL} side_by_side {BESIDE}"}, f"{OF_KERNEL} not side_by_side"


def assert_runs_all_parts(ran: list[str], more: str = "") -> None:
    *_, first, second, last = ran
    assert {first, second} == {f"{part}{more}" for part in AT_ONCE}
    assert last == f"{THEN}{more}"


def test_what_mostly_waits_runs_beside_the_pure_tests_and_then_the_rest(clone: Machine) -> None:
    ran = steps(clone, "test")
    assert ran[-5:-3] == [
        "pip install -q pip>=25.1",
        "pip install -q --group test --group check --group viewer --group wheel",
    ]
    assert_runs_all_parts(ran)
    assert_runs_all_parts(steps(clone, "test", "ARGS=-k irq"), " -k irq")


@pytest.mark.parametrize(
    ("pure", "beside", "alone", "status"),
    [
        *[(0, 0, 0, 0), (1, 0, 0, 2), (0, 1, 0, 2), (0, 0, 1, 2), (5, 0, 0, 0), (0, 5, 5, 0)],
        *[(5, 5, 0, 0), (5, 0, 5, 0), (5, 5, 5, 2), (5, 1, 5, 2), (1, 5, 0, 2), (1, 5, 5, 2)],
    ],
)
def test_a_part_may_be_without_tests(
    clone: Machine, pure: int, beside: int, alone: int, status: int
) -> None:
    """pytest says with 5 that ARGS chose none; make has one status for every failure."""
    steps(clone, "test")
    script = (
        f'case "$*" in *"not kernel"*) exit {pure};; *"not side_by_side"*) exit {alone};; '
        f"*) exit {beside};; esac"
    )
    clone.add("pytest", script, folder=".venv/bin")
    assert clone.run("make", "test").returncode == status


def test_all_runs_every_part_whatever_came_of_the_others(clone: Machine) -> None:
    clone.add_logged("pytest", "exit 1", folder=".venv/bin")
    (clone.root / "bin/make").rename(clone.root / "bin/real-make")
    clone.add_logged("make", "exit 1")
    result = clone.run("real-make", "MAKE=make", "test-all")
    assert result.returncode != 0
    assert [line.split()[-1] for line in clone.log()] == [
        *("test", "test-stories", "test-thorough", "test-viewers"),
        *("test-packaging", "test-guests", "test-configs", "test-arm64"),
    ]


def test_user_runs_the_kernel_tests_through_sudo(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    clone.add_logged("sudo", '[ "$1" = -n ] || exec "$@"')
    ran = steps(clone, "test")
    assert_runs_all_parts([line for line in ran if line.startswith("pytest")])
    assert sum(line.startswith("sudo") and "pytest" in line for line in ran) == 2


def test_user_without_sudo_runs_the_rest(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    assert_runs_all_parts(steps(clone, "test"))


def test_help_names_every_verb() -> None:
    makefile = (PROJECT / "Makefile").read_text()
    verbs = {line.split()[1] for line in makefile.splitlines() if line.startswith(".PHONY:")}
    # Without what an outer make leaves in the environment, such as -w.
    environment = {"PATH": os.environ["PATH"]}
    result = subprocess.run(
        ["make", "help"], cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
    )
    named = {line.split()[0] for line in result.stdout.splitlines()[1:]}
    assert named == verbs - {"changed"}
