"""The program loader: libbpf with the kernel's BTF, or BCC with kernel headers."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.machine.system import ROOT
from noisetop.tracing import bcc

BACKENDS = ("auto", "libbpf", "bcc")
# By package manager: how to install, the package of BCC and that of the headers.
_PACKAGES = {
    "apt-get": ("apt install", "python3-bpfcc", "linux-headers-{release}"),
    "dnf": ("dnf install", "python3-bcc", "kernel-devel-{release}"),
    "pacman": ("pacman -S", "python-bcc", "linux-headers"),
}


def has_btf(root: Path = ROOT) -> bool:
    """Whether the running kernel describes its types."""
    return (root / "sys/kernel/btf/vmlinux").exists()


def choose(wanted: str = "auto", root: Path = ROOT) -> str:
    """``libbpf`` or ``bcc``. Raises NoisetopError with what to install where neither can be."""
    if wanted == "libbpf" or (wanted == "auto" and has_btf(root)):
        if not has_btf(root):
            raise NoisetopError("this kernel has no BTF for --backend libbpf: try --backend bcc")
        return "libbpf"
    why = "--backend bcc" if wanted == "bcc" else "this kernel has no BTF, and BCC"
    lacking = _lacking(root)
    if lacking:
        raise NoisetopError(f"{why} {lacking}")
    return "bcc"


def _lacking(root: Path) -> str:
    """What BCC lacks and how to install it; empty: nothing."""
    release = os.uname().release
    manager = next((name for name in _PACKAGES if shutil.which(name)), "apt-get")
    install, package, headers = _PACKAGES[manager]
    words, packages = [], []
    if not bcc.find_interpreter():
        words.append("its Python module")
        packages.append(package)
    if not bcc.has_headers(root, release):
        words.append("the kernel's headers")
        packages.append(headers.format(release=release))
    return f"needs {' and '.join(words)}: {install} {' '.join(packages)}" if words else ""
