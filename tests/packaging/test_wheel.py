"""The wheel records where there is no compiler, no libbpf, and a newer user space than ours."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from noisetop.machine import system
from noisetop.recording.open import open_recording
from tests.kernel.loads import workload

pytestmark = [pytest.mark.kernel, pytest.mark.packaging]

PROJECT = Path(__file__).parents[2]
CPU = max(system.online_cpus())
OTHER_CPU = min(system.online_cpus())
SUITE = "sid"
"""Debian's newest user space: glibc, Python and the linker of this week."""
MIRROR = "http://deb.debian.org/debian"
MANYLINUX = (34, 28, 27, 17)
PATIENCE_S = 300

# Both run in a mount namespace of their own, which takes what they mount with it.
HIDE_LIBRARIES = """
for library in $(ldconfig -p | sed -n 's/.*lib\\(bpf\\|elf\\)\\.so.* => //p'); do
    mount --bind /dev/null "$library"
done
exec "$@"
"""
CHANGE_ROOT = """
root=$1 shared=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --bind "$shared" "$root/mnt"
exec chroot "$root" "$@"
"""


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def succeed(*command: str | Path) -> str:
    done = call(*command)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="session", autouse=True)
def network() -> None:
    """What is installed and which user space is fetched comes from there; no fault of noisetop."""
    try:
        urllib.request.urlopen(f"{MIRROR}/dists/{SUITE}/InRelease", timeout=30).close()
    except (urllib.error.URLError, TimeoutError) as error:
        pytest.xfail(f"no network: {error}")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What ``make wheel`` builds."""
    folder = tmp_path_factory.mktemp("dist")
    succeed("make", "-C", PROJECT, "wheel", f"DIST={folder}")
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="session")
def newer_user_space() -> Path:
    """A folder with a minimal Debian of the newest suite, fetched once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noisetop"
    root = cache / f"user-space-{SUITE}"
    if not root.exists():
        if not shutil.which("debootstrap"):
            pytest.skip("no debootstrap: make test-packaging installs it")
        unfinished = root.with_suffix(".partial")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        packages = "--include=python3,python3-venv"
        done = call("debootstrap", "--variant=minbase", packages, SUITE, unfinished, MIRROR)
        if done.returncode:
            pytest.skip(f"debootstrap {SUITE}: {done.stdout.strip().splitlines()[-1:]}")
        unfinished.rename(root)
    return root


def in_namespace(script: str, *arguments: str | Path) -> tuple[str | Path, ...]:
    return ("unshare", "--mount", "sh", "-ec", script, "sh", *arguments)


def record_to(path: Path | str) -> tuple[str, ...]:
    return ("record", "-c", f"{CPU}", "-d", "300ms", "-o", f"{path}")


def timers() -> AbstractContextManager[int]:
    """A busy CPU with timers: the tick of an idle one stops, and so may that of one task alone."""
    return workload("timerfd", CPU, OTHER_CPU, 500)


def assert_recorded(path: Path) -> None:
    recording = open_recording(path)
    assert recording.damage == ""
    assert sum(len(chunk) for chunk in recording.chunks()) > 0
    assert any(source.path[0] == "timer" for source in recording.sources)


def test_it_is_for_any_python_and_brings_its_libraries(wheel: Path) -> None:
    assert re.fullmatch(
        rf"noisetop-[0-9.]+-cp311-abi3-manylinux_2_[0-9]+_{platform.machine()}\.whl", wheel.name
    )
    names = zipfile.ZipFile(wheel).namelist()
    for library in ("libbpf", "libelf"):
        assert any(name.startswith(f"noisetop.libs/{library}-") for name in names)
    sources = [name for name in names if name.endswith((".c", ".h", "noisetop.bpf.o"))]
    assert all(name.startswith("noisetop/bpf/") for name in sources), "BCC compiles these alone"


def test_it_records_without_compiler_and_libbpf(wheel: Path, tmp_path: Path) -> None:
    succeed(sys.executable, "-m", "venv", tmp_path / "bare")
    succeed(tmp_path / "bare/bin/pip", "install", "-q", wheel)
    program = ("env", "-i", f"PATH={tmp_path / 'bare/bin'}", "noisetop")
    with timers():
        succeed(*in_namespace(HIDE_LIBRARIES, *program, *record_to(tmp_path / "a.noisetop")))
    assert_recorded(tmp_path / "a.noisetop")
    built_here = Path(sys.executable).with_name("noisetop")
    refused = call(*in_namespace(HIDE_LIBRARIES, built_here, *record_to(tmp_path / "b.noisetop")))
    assert "libbpf.so" in refused.stderr, "the libraries were not hidden"


def test_it_records_in_a_newer_user_space(
    wheel: Path, newer_user_space: Path, tmp_path: Path
) -> None:
    def inside(*command: str) -> str:
        clean = ("env", "-i", "PATH=/usr/bin:/bin", *command)
        return succeed(*in_namespace(CHANGE_ROOT, newer_user_space, tmp_path, *clean))

    version = inside("python3", "-c", "import platform; print(platform.python_version())")
    tags = [f"--platform=manylinux_2_{minor}_{platform.machine()}" for minor in MANYLINUX]
    download = (sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", *tags)
    succeed(*download, f"--python-version={version.strip()}", "-d", tmp_path / "wheels", wheel)
    inside("python3", "-m", "venv", "/mnt/bare")
    pip = ("/mnt/bare/bin/pip", "install", "-q", "--no-index", "--find-links=/mnt/wheels")
    inside(*pip, "noisetop")
    with timers():
        inside("/mnt/bare/bin/noisetop", *record_to("/mnt/a.noisetop"))
    assert_recorded(tmp_path / "a.noisetop")
    assert "local_timer" in inside("/mnt/bare/bin/noisetop", "report", "/mnt/a.noisetop")
