"""From a fresh clone to a run: packaging/prepare, the Makefile, .ci/run, on made-up machines."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

PROJECT = Path(__file__).parents[2]
PLAIN_TOOLS = "cat dirname env find grep mkdir mktemp paste rm sed sort stat tail tee touch tr"
NOBODY = 65534

# Answers the three questions that packaging/prepare asks of a Python.
PYTHON = """
case "$2" in
*version_info*) [ -e {root}/recent ] ;;
*Python.h*) [ -e {root}/headers ] ;;
*ensurepip*) [ -e {root}/venv ] ;;
esac
"""
LOG = 'echo "${0##*/} $*" >>{root}/log\n'


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that stands for a machine: what is on its PATH, and a log of what was run there."""

    root: Path

    def add(self, name: str, script: str = "exit 0", folder: str = "bin") -> None:
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + script.replace("{root}", str(self.root)))
        path.chmod(0o755)

    def add_logged(self, name: str, script: str = "exit 0", folder: str = "bin") -> None:
        self.add(name, LOG + script, folder)

    def mark(self, *names: str) -> None:
        for name in names:
            (self.root / name).touch()

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return {"PATH": str(self.root / "bin"), "HOME": str(self.root), **(extra or {})}

    def run(
        self, *command: str, user: int | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            env=self.environment(extra),
            user=user,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def prepare(
        self, group: str, user: int | None = None, **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return self.run("/bin/sh", "packaging/prepare", group, user=user, **extra)

    def log(self) -> list[str]:
        path = self.root / "log"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A machine of root's with Python 3.11 and nothing of what noisetop needs."""
    with tempfile.TemporaryDirectory(prefix="machine-") as folder:
        root = Path(folder)
        root.chmod(0o755)
        machine = Machine(root)
        for tool in PLAIN_TOOLS.split():
            found = shutil.which(tool)
            assert found is not None
            (root / "bin").mkdir(exist_ok=True)
            (root / "bin" / tool).symlink_to(found)
        machine.add("id", "echo 0")
        machine.add("python3", PYTHON)
        machine.mark("recent")
        script = (PROJECT / "packaging/prepare").read_text()
        script = script.replace("/usr/", f"{root}/usr/").replace("/var/", f"{root}/var/")
        (root / "packaging").mkdir()
        (root / "packaging/prepare").write_text(script.replace(":/sbin", ""))
        yield machine


def offer(machine: Machine, *absent: str) -> None:
    """Makes it a machine with apt-get, whose distribution has every package but those."""
    machine.add_logged("apt-get")
    pattern = "|".join(absent) or "-"
    machine.add(
        "apt-cache",
        f'case "$2" in {pattern}) echo "  Candidate: (none)";; *) echo "  Candidate: 1";; esac',
    )


def furnish(machine: Machine) -> None:
    """Puts everything there that building needs."""
    for tool in ("cc", "clang", "cmake", "ninja", "pkg-config", "bpftool"):
        machine.add(tool)
    machine.mark("headers", "venv")


APT_BUILD = (
    "bpftool clang cmake gcc libbpf-dev libc6-dev ninja-build pkg-config python3-dev python3-venv"
)


def test_apt_installs_what_building_lacks(machine: Machine) -> None:
    offer(machine)
    result = machine.prepare("build")
    install = f"apt-get install -y --no-install-recommends {APT_BUILD}"
    assert machine.log() == ["apt-get update -qq", install]
    assert f"noisetop: env DEBIAN_FRONTEND=noninteractive {install}\n" in result.stderr
    assert result.stdout == ""


def test_installs_only_what_is_missing(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    result = machine.prepare("build")
    assert machine.log()[-1] == "apt-get install -y --no-install-recommends clang"
    assert "to build this machine lacks: clang 14 or newer\n" in result.stderr


def test_says_and_does_nothing_when_nothing_is_missing(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    result = machine.prepare("build")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert machine.log() == []


def test_goes_on_when_the_packages_brought_what_was_missing(machine: Machine) -> None:
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    (machine.root / "bin/chmod").symlink_to(shutil.which("chmod") or "")
    machine.add_logged(
        "dnf", "echo '#!/bin/sh' >{root}/bin/clang; chmod +x {root}/bin/clang; echo done"
    )
    result = machine.prepare("build")
    assert result.returncode == 0
    assert result.stdout == ""


def test_fails_when_the_packages_did_not_help(machine: Machine) -> None:
    offer(machine)
    furnish(machine)
    machine.add("pkg-config", "exit 1")
    result = machine.prepare("build")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last == (
        "noisetop: still missing or too old after that: libbpf 1.0 or newer with its headers"
    )


def test_passes_on_that_the_installation_failed(machine: Machine) -> None:
    machine.add_logged("dnf", "exit 3")
    assert machine.prepare("build").returncode == 3


def test_ubuntu_has_bpftool_in_linux_tools(machine: Machine) -> None:
    offer(machine, "bpftool")
    furnish(machine)
    machine.add("bpftool", "exit 2")
    machine.prepare("build")
    assert machine.log()[-1] == "apt-get install -y --no-install-recommends linux-tools-generic"


@pytest.mark.parametrize("folder", ["linux-tools/6.8.0-50-generic", "linux-tools-6.8.0-50"])
def test_bpftool_of_another_kernel_will_do(machine: Machine, folder: str) -> None:
    furnish(machine)
    machine.add("bpftool", "exit 2")
    machine.add("bpftool", folder=f"usr/lib/{folder}")
    assert machine.prepare("build").returncode == 0


def test_dnf(machine: Machine) -> None:
    machine.add_logged("dnf")
    machine.prepare("build")
    assert machine.log() == [
        "dnf install -y --setopt=install_weak_deps=False bpftool clang cmake gcc glibc-devel"
        " libbpf-devel ninja-build pkgconf-pkg-config python3 python3-devel"
    ]


@pytest.mark.parametrize(("lists", "sync"), [(True, "-S"), (False, "-Syu")])
def test_pacman(machine: Machine, lists: bool, sync: str) -> None:
    machine.add_logged("pacman")
    if lists:
        (machine.root / "var/lib/pacman/sync").mkdir(parents=True)
        machine.mark("var/lib/pacman/sync/core.db")
    machine.prepare("build")
    assert machine.log() == [
        f"pacman {sync} --needed --noconfirm bpf clang cmake gcc libbpf ninja pkgconf python"
    ]


@pytest.mark.parametrize(
    ("manager", "group", "packages"),
    [
        ("apt-get", "check", "clang-format"),
        ("dnf", "check", "clang-tools-extra"),
        ("pacman", "check", "clang"),
        ("apt-get", "test", "elfutils iproute2 redis-tools stress-ng tmux"),
        ("dnf", "test", "elfutils iproute redis stress-ng tmux"),
        ("pacman", "test", "elfutils iproute2 redis stress-ng tmux"),
        ("apt-get", "viewers", "chromium"),
        ("apt-get", "packaging", "debootstrap default-jre-headless golang-go prometheus systemd"),
        ("apt-get", "guests", "kmod python3-bpfcc qemu-system-x86 stress-ng"),
        ("dnf", "guests", "kmod python3-bcc qemu-system-x86-core stress-ng"),
        ("pacman", "guests", "kmod python-bcc qemu-system-x86 stress-ng"),
    ],
)
def test_packages_of_the_other_groups(
    machine: Machine, manager: str, group: str, packages: str
) -> None:
    offer(machine)
    if manager != "apt-get":
        (machine.root / "bin/apt-get").unlink()
        machine.add_logged(manager)
    machine.prepare(group)
    assert machine.log()[-1].endswith(f" {packages}")


def test_what_only_tests_need_may_be_missing(machine: Machine) -> None:
    offer(machine, "chromium")
    result = machine.prepare("viewers")
    assert result.returncode == 0
    assert machine.log() == ["apt-get update -qq"]
    assert "noisetop: chromium is no package of this distribution\n" in result.stderr
    assert result.stderr.endswith("not there: chromium: the tests that need them are skipped\n")


def test_user_installs_through_sudo(machine: Machine) -> None:
    machine.add("id", "echo 1000")
    machine.add_logged("sudo", 'exec "$@"')
    machine.add_logged("dnf")
    result = machine.prepare("check")
    command = "dnf install -y --setopt=install_weak_deps=False clang-tools-extra"
    assert machine.log() == [f"sudo {command}", command]
    assert f"noisetop: sudo {command}\n" in result.stderr


def test_user_without_sudo_is_told_what_root_has_to_type(machine: Machine) -> None:
    machine.add("id", "echo 1000")
    offer(machine)
    result = machine.prepare("check")
    assert result.returncode == 1
    assert machine.log() == []
    assert result.stderr.splitlines()[-1].endswith(": as root, run apt-get install clang-format")


def test_unknown_distribution_gets_the_list(machine: Machine) -> None:
    furnish(machine)
    (machine.root / "bin/clang").unlink()
    (machine.root / "bin/bpftool").unlink()
    result = machine.prepare("build")
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "noisetop: no apt-get, dnf or pacman on this machine: install these, then run make again:"
        " clang 14 or newer, bpftool"
    )


def test_no_recent_python(machine: Machine) -> None:
    (machine.root / "recent").unlink()
    machine.add("python3", '[ "$1" = --version ] && echo Python 3.9.2')
    result = machine.prepare("build")
    assert result.returncode == 1
    assert result.stderr == (
        "noisetop: noisetop needs Python 3.11 or newer, and here is Python 3.9.2: install one,"
        " or make PYTHON=/path/to/python3\n"
    )


def test_takes_a_newer_python_by_its_own_name(machine: Machine) -> None:
    machine.add("python3", "exit 1")
    machine.add("python3.12", PYTHON)
    offer(machine)
    assert machine.prepare("python").stdout == "python3.12\n"
    machine.prepare("build")
    assert machine.log()[-1].endswith(" python3.12-dev python3.12-venv")


def test_python_of_the_users_choice(machine: Machine) -> None:
    machine.add("python3", PYTHON, folder="opt")
    chosen = str(machine.root / "opt/python3")
    assert machine.prepare("python", PYTHON=chosen).stdout == f"{chosen}\n"
    (machine.root / "recent").unlink()
    result = machine.prepare("python", PYTHON=chosen)
    assert result.returncode == 1
    assert result.stderr.startswith(f"noisetop: {chosen} is not Python 3.11 or newer")


def test_environment_of_someone_else(machine: Machine) -> None:
    furnish(machine)
    (machine.root / ".venv").mkdir(mode=0o555)
    result = machine.prepare("build", user=NOBODY if os.geteuid() == 0 else None)
    assert result.returncode == 1
    assert result.stderr.startswith("noisetop: .venv belongs to ")
    assert result.stderr.endswith(": sudo make clean, then run make again without sudo\n")


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
KERNEL_PARTS = [f"{OF_KERNEL} side_by_side {BESIDE}", f"{OF_KERNEL} not side_by_side"]


def test_pure_tests_run_side_by_side_and_then_those_of_the_kernel(clone: Machine) -> None:
    assert steps(clone, "test")[-5:] == [
        "pip install -q pip>=25.1",
        "pip install -q --group test --group check --group viewer --group wheel",
        PURE,
        *KERNEL_PARTS,
    ]
    parts = [PURE, *KERNEL_PARTS]
    assert steps(clone, "test", "ARGS=-k irq") == [f"{part} -k irq" for part in parts]


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
        *("test-packaging", "test-guests", "test-arm64"),
    ]


def test_user_runs_the_kernel_tests_through_sudo(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    clone.add_logged("sudo", '[ "$1" = -n ] || exec "$@"')
    assert [line for line in steps(clone, "test") if line.startswith("pytest")] == [
        PURE,
        *KERNEL_PARTS,
    ]


def test_user_without_sudo_runs_the_rest(clone: Machine) -> None:
    clone.add("id", "echo 1000")
    assert steps(clone, "test")[-3:] == [PURE, *KERNEL_PARTS]


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


MAKE = """
echo "make $*" >>{root}/log
case "$1" in
check) exit {check} ;;
test) echo "must run: ${NOISETOP_MUST_RUN:-}."; echo "{closing}"; exit {test} ;;
test-guests) echo "====== {guests} in 9.00s ======"; exit {kernels} ;;
*) echo "====== 2 passed in 9.00s ======" ;;
esac
"""
CLOSING = "=================== 3 passed, 1 skipped in 0.05s ==================="
ALWAYS = ["make check", "make test ARGS=--reruns 1", "make test-viewers"]


@pytest.fixture
def ci(machine: Machine) -> Machine:
    """A clone with .ci/run, on a machine where BPF is allowed, and nothing on record."""
    (machine.root / ".ci").mkdir()
    shutil.copy(PROJECT / ".ci/run", machine.root / ".ci/run")
    machine.add("bpftool")
    on_record(machine)
    return machine


def on_record(ci: Machine, *parts: str) -> None:
    """Has nothing changed since the recorded run of these parts of the tests."""
    cases = " ".join(f"{part}) echo nothing changed; exit 0 ;;" for part in parts)
    script = f'case "$3" in {cases} *) echo "changed: bpf"; exit 1 ;; esac'
    ci.add("python", script, folder=".venv/bin")


def run_ci(
    ci: Machine,
    check: int = 0,
    test: int = 0,
    kernels: int = 0,
    closing: str = CLOSING,
    guests: str = "5 passed",
) -> subprocess.CompletedProcess[str]:
    script = MAKE.replace("{check}", str(check)).replace("{test}", str(test))
    script = script.replace("{kernels}", str(kernels)).replace("{guests}", guests)
    ci.add("make", script.replace("{closing}", closing))
    bash = shutil.which("bash")
    assert bash is not None
    return ci.run(bash, ".ci/run")


@pytest.mark.parametrize(
    ("check", "test", "kernels"), [(0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (2, 2, 2)]
)
def test_ci_fails_when_any_part_does(ci: Machine, check: int, test: int, kernels: int) -> None:
    result = run_ci(ci, check, test, kernels)
    assert result.returncode == max(check, test, kernels)
    assert result.stdout.splitlines()[-1] == CLOSING


def test_ci_runs_everything_where_nothing_is_on_record(ci: Machine) -> None:
    result = run_ci(ci)
    rest = ("test-packaging", "test-guests", "test-thorough", "fuzz TIME=60s", "test-arm64")
    assert ci.log() == [*ALWAYS, *(f"make {part}" for part in rest)]
    assert "ci: packaging: run, changed: bpf\n" in result.stdout
    assert "ci: guests: all, changed: bpf\n" in result.stdout


def test_ci_leaves_out_what_did_not_change_and_says_so(ci: Machine) -> None:
    on_record(ci, "packaging", "guests")
    result = run_ci(ci)
    assert ci.log() == [*ALWAYS, "make test-guests ARGS=-k bullseye"]
    assert "ci: packaging: not run, nothing changed\n" in result.stdout
    assert "ci: guests: the oldest kernel alone, nothing changed\n" in result.stdout
    for part in ("hostile input in full", "fuzz", "arm64"):
        assert f"ci: {part}: not run, as with the guests\n" in result.stdout


def test_ci_runs_a_part_whose_record_cannot_be_read(ci: Machine) -> None:
    ci.add("python", "echo Traceback >&2; exit 1", folder=".venv/bin")
    result = run_ci(ci)
    assert "make test-packaging" in ci.log()
    assert "ci: guests: all, Traceback\n" in result.stdout


def test_ci_knows_a_long_run(ci: Machine) -> None:
    closing = "================== 300 passed in 83.10s (0:01:23) =================="
    assert run_ci(ci, closing=closing).stdout.splitlines()[-1] == closing


def test_ci_fails_when_no_guest_ran_a_test(ci: Machine) -> None:
    assert run_ci(ci, guests="1 passed, 4 skipped").returncode == 0
    result = run_ci(ci, guests="5 skipped")
    assert result.returncode == 1
    assert "make test-guests ran no test" in result.stderr


def test_ci_fails_without_a_closing_line(ci: Machine) -> None:
    assert run_ci(ci, closing="Killed").returncode == 1


def test_ci_insists_on_kernel_tests_where_they_can_run(ci: Machine) -> None:
    has_btf = os.access("/sys/kernel/btf/vmlinux", os.R_OK)
    expected = "viewer kernel" if has_btf else "viewer"
    assert f"must run: {expected}.\n" in run_ci(ci).stdout
    ci.add("bpftool", "exit 255")
    assert "must run: viewer.\n" in run_ci(ci).stdout
    ci.add("bpftool")
    ci.add("id", "echo 1000")
    assert "must run: viewer.\n" in run_ci(ci).stdout


def test_native_module_serves_every_python() -> None:
    spec = importlib.util.find_spec("noisetop._native")
    assert spec is not None
    assert spec.origin is not None
    assert spec.origin.endswith(".abi3.so")


def test_licences_are_there_in_full() -> None:
    apache = (PROJECT / "LICENSE").read_text()
    assert "Apache License" in apache
    assert "END OF TERMS AND CONDITIONS" in apache
    kernel_side = (PROJECT / "bpf/LICENSE").read_text()
    assert kernel_side.startswith("SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause\n")
    assert "GNU GENERAL PUBLIC LICENSE" in kernel_side
    assert "Redistributions in binary form" in kernel_side
