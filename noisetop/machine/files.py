"""Files of /proc and /sys below a root, each read once, whatever they hold.

Contents are not trusted to have any size or form: what cannot be understood makes the check that
asked for it a skip.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from noisetop.machine.reading import CannotTellError, Reading
from noisetop.machine.system import ROOT
from noisetop.text.cpu_list import MAX_CPUS, cpu_set

LARGEST_FILE = 16 << 20
_AT_ONCE = 1 << 16
"""Bytes; most files are smaller, and a larger buffer would be mapped anew for each of them."""
_MOST_NAMES = 65536
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class FileText:
    """A file as read: its stripped text, or in ``why`` the reason why there is none."""

    path: str
    text: str
    why: str = ""
    missing: bool = False

    @property
    def ok(self) -> bool:
        """Whether it could be read."""
        return not self.why

    @property
    def reading(self) -> Reading:
        """For the evidence of a verdict; long contents are cut."""
        return Reading(self.path, f"({self.why})" if self.why else shortened(self.text))

    def number(self) -> int | None:
        """The file's only word as an integer, or None."""
        return int(self.text) if re.fullmatch(r"-?[0-9]{1,18}", self.text) else None

    def cpus(self) -> frozenset[int] | None:
        """A list like ``2-3,6``; empty for an empty file and for the kernel's ``(null)``."""
        return cpu_set(self.text) if self.ok else None

    def mask(self) -> frozenset[int] | None:
        """A hexadecimal mask like ``00000000,0000000c``."""
        digits = self.text.replace(",", "")
        if not re.fullmatch(rf"[0-9a-fA-F]{{1,{MAX_CPUS // 4}}}", digits):
            return None
        bits = int(digits, 16)
        return frozenset(cpu for cpu in range(bits.bit_length()) if bits >> cpu & 1)


def shortened(text: str, most: int = _SHOWN) -> str:
    """Contents on one line of bounded length."""
    value = " ".join(text[: 4 * most].split())
    cut = len(value) > most or len(text) > 4 * most
    return (value[:most] + " ..." if cut else value) or "(empty)"


def hex_mask(cpus: Iterable[int]) -> str:
    """CPUs as the kernel's mask files take them, in groups of 32 bits."""
    bits = sum(1 << cpu for cpu in set(cpus))
    groups = [f"{bits & 0xFFFFFFFF:08x}"]
    while bits := bits >> 32:
        groups.insert(0, f"{bits & 0xFFFFFFFF:08x}")
    groups[0] = groups[0].lstrip("0") or "0"
    return ",".join(groups)


class Files:
    """A tree with /proc and /sys in it."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self._prefix = str(root).rstrip("/")
        self._read_so_far: dict[str, FileText] = {}

    def read(self, path: str) -> FileText:
        """A file by its absolute name; read on the first call only."""
        if path not in self._read_so_far:
            self._read_so_far[path] = self.read_again(path)
        return self._read_so_far[path]

    def text(self, path: str) -> str:
        """What a file holds, stripped; empty where it cannot be read."""
        return self.read(path).text

    def read_again(self, path: str) -> FileText:
        """A file as it is now."""
        try:
            raw = self.read_bytes(path)
        except (FileNotFoundError, NotADirectoryError):
            reason = "not visible in this container" if self.container else "does not exist"
            return FileText(path, "", reason, missing=True)
        except PermissionError:
            return FileText(path, "", self._denied())
        except IsADirectoryError:
            return FileText(path, "", "is a directory")
        except (OSError, ValueError) as error:
            return FileText(path, "", f"cannot be read: {getattr(error, 'strerror', error)}")
        return FileText(path, raw.decode(errors="replace").strip("\0").strip())

    def read_bytes(self, path: str, size: int = LARGEST_FILE) -> bytes:
        """Contents up to a size that no file of /proc and /sys needs. Raises OSError."""
        fd = self.open(path)
        parts = []
        try:
            while size > 0 and (part := os.read(fd, min(size, _AT_ONCE))):
                parts.append(part)
                size -= len(part)
        finally:
            os.close(fd)
        return b"".join(parts)

    def open(self, path: str) -> int:
        """A descriptor to read from, for the caller to close. Raises OSError."""
        # A FIFO in the place of a file must not block.
        return os.open(self._named(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def stat(self, path: str) -> os.stat_result:
        """What the file system says of a file. Raises OSError."""
        return self._at(path).stat()

    def _named(self, path: str) -> str:
        return f"{self._prefix}/{path.lstrip('/')}"  # a Path takes longer than the system call

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _denied(self) -> str:
        if os.geteuid() != 0:
            return "needs root"
        return "kernel lockdown forbids it" if self.lockdown else "not even root may read it"

    def exists(self, path: str) -> bool:
        """Whether there is such a file or directory, as far as can be seen."""
        try:
            # By the capabilities that act: access(2) alone takes those of another user away.
            return os.access(self._named(path), os.F_OK, effective_ids=True)
        except ValueError:
            return False

    def names(self, directory: str) -> list[str]:
        """What a directory holds, sorted; empty when it cannot be listed or has gone."""
        try:
            with os.scandir(self._named(directory)) as entries:
                return sorted(entry.name for entry in entries)[:_MOST_NAMES]
        except (OSError, ValueError):
            return []

    def forbids_listing(self, directory: str) -> bool:
        """Whether a directory is there but does not show what it holds."""
        try:
            next(self._at(directory).iterdir(), None)
        except PermissionError:
            return True
        except (OSError, ValueError):
            return False
        return False

    def glob(self, directory: str, pattern: str) -> list[str]:
        """Absolute names below a directory. What vanishes meanwhile is left out."""
        return list(self._matches(directory.rstrip("/"), pattern.split("/")))

    def _matches(self, directory: str, steps: list[str]) -> Iterator[str]:
        step, *rest = steps
        wild = any(sign in step for sign in "*?[")
        found = [name for name in self.names(directory) if fnmatchcase(name, step)]
        for name in found if wild else [step]:
            path = f"{directory}/{name}"
            if rest:
                yield from self._matches(path, rest)
            elif wild or self.exists(path):
                yield path

    def link(self, path: str) -> str:
        """Where a symbolic link points; empty when that cannot be read."""
        try:
            return str(self._at(path).readlink())
        except (OSError, ValueError):
            return ""

    def need(self, path: str) -> FileText:
        """A file that must be readable. Raises CannotTellError."""
        file = self.read(path)
        if not file.ok:
            raise CannotTellError(f"{path} {file.why}", file.reading)
        return file

    def need_number(self, path: str) -> int:
        """An integer. Raises CannotTellError."""
        number = self.need(path).number()
        if number is None:
            raise CannotTellError(f"{path} holds no number", self.read(path).reading)
        return number

    def need_cpus(self, path: str) -> frozenset[int]:
        """A CPU list. Raises CannotTellError."""
        cpus = self.need(path).cpus()
        if cpus is None:
            raise CannotTellError(f"{path} holds no CPU list", self.read(path).reading)
        return cpus

    def need_mask(self, path: str) -> frozenset[int]:
        """A hexadecimal CPU mask. Raises CannotTellError."""
        cpus = self.need(path).mask()
        if cpus is None:
            raise CannotTellError(f"{path} holds no CPU mask", self.read(path).reading)
        return cpus

    @cached_property
    def container(self) -> str:
        """How it shows that this is a container, where much is hidden; empty when it is none."""
        # A machine booted from a container's image has its marks, too, but a disk of its own.
        whole = self.kernel_threads_visible and self._root_is_disk
        for path in ("/.dockerenv", "/run/.containerenv", "/run/systemd/container"):
            if self.exists(path) and not whole:
                return f"{path} exists"
        if self.kernel_threads_visible or self.hides_processes:
            return ""
        return "/proc/2 is not the kernel's kthreadd"

    @cached_property
    def _root_is_disk(self) -> bool:
        try:
            mounts = self.read_bytes("/proc/mounts").decode(errors="replace")
        except OSError:
            return False
        return bool(re.search(r"(?m)^/dev/(?!mapper/docker)\S+ / ", mounts))

    @cached_property
    def hides_processes(self) -> bool:
        """Whether /proc shows users only their own processes."""
        try:
            return b"hidepid=" in self.read_bytes("/proc/mounts")
        except OSError:
            return False

    @cached_property
    def kernel_threads_visible(self) -> bool:
        """Whether this is the first PID namespace, where 2 is the parent of all kernel threads."""
        try:
            return self.read_bytes("/proc/2/comm", size=64).strip() == b"kthreadd"
        except OSError:
            return False

    @cached_property
    def lockdown(self) -> bool:
        """Whether the kernel keeps parts of itself even from root."""
        try:
            return b"[none]" not in self.read_bytes("/sys/kernel/security/lockdown", size=256)
        except OSError:
            return False
