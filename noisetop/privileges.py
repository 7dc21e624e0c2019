"""Whether this process may trace, and what to type when it may not."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from pathlib import Path

from noisetop.errors import NoisetopError
from noisetop.system import ROOT, read_text

# include/uapi/linux/capability.h
_CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 21, 38, 39


def _effective_capabilities(root: Path) -> int:
    for line in read_text(root / "proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def may_trace(root: Path = ROOT) -> bool:
    """Whether the kernel lets this process load tracing programs."""
    capabilities = _effective_capabilities(root)
    both = (1 << _CAP_BPF) | (1 << _CAP_PERFMON)
    return bool(capabilities & (1 << _CAP_SYS_ADMIN)) or capabilities & both == both


def sudo_command() -> str:
    """The command that is running, with sudo in front; sudo has a PATH of its own."""
    program = Path(sys.argv[0]).absolute()
    as_module = program.name == "__main__.py"  # python3 -m noisetop
    words = [sys.executable, "-m", program.parent.name] if as_module else [str(program)]
    return shlex.join(["sudo", *words, *sys.argv[1:]])


def check_privileges(root: Path = ROOT) -> None:
    """Raises NoisetopError when this process may not trace."""
    if not may_trace(root):
        raise NoisetopError(f"tracing needs root, or CAP_BPF and CAP_PERFMON: {sudo_command()}")


def explain(code: int, step: str, detail: str) -> NoisetopError:
    """The error for a step of the tracer that failed with an errno."""
    reason = os.strerror(code)
    if code in (errno.EPERM, errno.EACCES) and "lockdown" in _lockdown():
        return NoisetopError(f"the kernel is locked down ({_lockdown()}): BPF cannot trace here")
    if step == "faults" and code == errno.EMFILE:
        return NoisetopError("too few open files for --faults: ulimit -n 65536, or fewer CPUs")
    if step == "faults":
        return NoisetopError(f"page faults cannot be counted here ({reason}): leave out --faults")
    if code == errno.EPERM:
        return NoisetopError(f"no permission to {step} BPF programs: {sudo_command()}")
    if code == errno.ENOMEM:
        return NoisetopError("not enough memory for the rings: try --ring-size 256")
    return NoisetopError(f"cannot {step} the BPF programs: {reason} ({detail or 'no details'})")


def _lockdown() -> str:
    """``lockdown confidentiality`` where that mode is on; else empty."""
    text = read_text(Path("/sys/kernel/security/lockdown"))
    return "lockdown confidentiality" if "[confidentiality]" in text else ""
