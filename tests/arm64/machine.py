"""An arm64 machine out of Debian's archive: what to build against, and what to boot in QEMU."""

from __future__ import annotations

import compileall
import contextlib
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
COMPILER = "aarch64-linux-gnu-gcc"
EMULATOR = "qemu-system-aarch64"
PACKAGES = (
    *("python3", "libpython3.11-dev", "libbpf-dev", "libelf-dev", "libc6-dev"),
    *("linux-image-arm64", "iproute2", "procps", "stress-ng"),
)
PYTHON = "3.11"
MANYLINUX = (34, 28, 27, 17)
# A guest that is emulated is slow, and everything that it has is in its memory.
MEMORY_MIB = 2560
UNUSED = ("boot", "debootstrap", "proc", "sys", "dev", "var", "srv", "opt")
UNUSED_BELOW_USR = ("include", "lib/modules", "lib/udev", "share/doc", "share/locale", "share/man")

INIT = """\
#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/root PYTHONPATH=/opt/py PYTHONDONTWRITEBYTECODE=1
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mount -t tmpfs run /run
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
cd /srv
sh /task
echo "task ended: $?"
echo o >/proc/sysrq-trigger
sleep 60
"""


def run(*command: str | Path, **environment: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def check_tools() -> None:
    """Skips the test where something is missing that make test-arm64 does not find either."""
    missing = [tool for tool in ("debootstrap", COMPILER, EMULATOR) if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("debootstrap takes root")
    try:
        urllib.request.urlopen(f"{MIRROR}/dists/{SUITE}/InRelease", timeout=30).close()
    except (urllib.error.URLError, TimeoutError) as error:
        pytest.skip(f"no network: {error}")


def root_file_system() -> Path:
    """A folder with Debian's arm64 packages, unpacked and not configured; fetched once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noisetop"
    root = cache / f"arm64-{SUITE}"
    if root.exists():
        return root
    unfinished = root.with_suffix(".partial")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    options = ("--arch=arm64", "--foreign", "--variant=minbase", f"--include={','.join(PACKAGES)}")
    run("debootstrap", *options, SUITE, unfinished, MIRROR)
    # Its second stage would run on an arm64 machine; unpacking is enough for us.
    unpack = 'for deb; do dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink; done'
    packages = sorted((unfinished / "var/cache/apt/archives").glob("*.deb"))
    assert packages
    run("sh", "-ec", f'cd "$1"; shift; {unpack}', "sh", unfinished, *packages)
    shutil.rmtree(unfinished / "var/cache/apt")
    unfinished.rename(root)
    return root


def build_wheel(root: Path, folder: Path) -> Path:
    """The arm64 wheel, cross-compiled against the root file system."""
    defines = {
        "CMAKE_TOOLCHAIN_FILE": PROJECT / "packaging/arm64.cmake",
        "Python_INCLUDE_DIR": root / f"usr/include/python{PYTHON}",
    }
    settings = [f"-Ccmake.define.{name}={value}" for name, value in defines.items()]
    pip = ("-m", "pip", "wheel", "-q", "--no-deps", f"-Cbuild-dir={folder}/build")
    environment = {"ARM64_ROOT": str(root), "_PYTHON_HOST_PLATFORM": "linux-aarch64"}
    run(sys.executable, *pip, *settings, "-w", folder, PROJECT, **environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


@dataclass(frozen=True, slots=True)
class Guest:
    """A machine whose root file system is in its initial memory."""

    kernel: Path
    files: Path
    """What it finds below its root."""

    def boot(self, script: str, archive: Path, *, cpus: int, patience_s: int) -> str:
        """Runs a shell script in it; what it said on its console. It must come to its end."""
        (self.files / "task").write_text(script)
        pack = 'cd "$1"; find . | cpio -o -H newc --quiet >"$2"'
        run("sh", "-ec", pack, "sh", self.files, archive)
        machine = ("-M", "virt,gic-version=3", "-cpu", "cortex-a57", "-nic", "none", "-nographic")
        size = ("-smp", f"{cpus}", "-m", f"{MEMORY_MIB}", "-accel", "tcg,thread=multi")
        said = ("-append", "console=ttyAMA0 quiet rdinit=/init panic=-1", "-no-reboot")
        command = (EMULATOR, *machine, *size, *said, "-kernel", self.kernel, "-initrd", archive)
        with archive.with_suffix(".console").open("w+") as console:
            # Out of time, what it said so far tells more.
            with contextlib.suppress(subprocess.TimeoutExpired):
                subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=subprocess.STDOUT,
                    check=False,
                    timeout=patience_s,
                )
            console.seek(0)
            told = console.read().replace("\r", "")
        archive.unlink()
        assert "task ended: " in told, told[-4000:]
        return told


def guest(root: Path, wheel: Path, folder: Path) -> Guest:
    """A copy of the root file system with noisetop, its dependencies and its tests."""
    excluded = [f"--exclude=./{name}" for name in UNUSED]
    excluded += [f"--exclude=./usr/{name}" for name in UNUSED_BELOW_USR]
    excluded += ["--exclude=*.a", "--exclude=./usr/lib/linux-image-*"]
    files = folder / "files"
    files.mkdir()
    copy = 'from=$1 to=$2; shift 2; tar -C "$from" -c "$@" . | tar -C "$to" -x'
    run("sh", "-ec", copy, "sh", root, files, *excluded)
    for name in ("proc", "sys", "dev", "srv", "opt/py"):
        (files / name).mkdir(parents=True, exist_ok=True)
    _install(wheel, files / "opt/py")
    compile_workload = (COMPILER, f"--sysroot={root}", "-O2", "-pthread")
    run(*compile_workload, "-o", files / "opt/workload", PROJECT / "tests/kernel/workload.c")
    shutil.copytree(PROJECT / "tests", files / "srv/tests", ignore=shutil.ignore_patterns("__py*"))
    shutil.copy(PROJECT / "pyproject.toml", files / "srv")
    (files / "init").write_text(INIT)
    (files / "init").chmod(0o755)
    (kernel,) = (root / "boot").glob("vmlinuz-*")
    return Guest(kernel, files)


def _install(wheel: Path, folder: Path) -> None:
    tags = [f"--platform=manylinux_2_{minor}_aarch64" for minor in MANYLINUX]
    foreign = (f"--python-version={PYTHON}", "--only-binary=:all:", *tags)
    needed: Sequence[str] = ("numpy>=1.26", "textual>=6,<9", "pytest", "pytest-asyncio")
    run(sys.executable, "-m", "pip", "install", "-q", "--target", folder, *foreign, *needed)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    if sys.version_info[:2] == tuple(map(int, PYTHON.split("."))):
        compileall.compile_dir(folder, quiet=2)  # else the guest does it, slowly and in vain
