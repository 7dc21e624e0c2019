"""Whether this process may trace, and what to type when it may not."""

from __future__ import annotations

import errno
import os
import shlex
import site
import sys
import sysconfig
from pathlib import Path

import noisetop
from noisetop.errors import NoisetopError
from noisetop.machine.namespaces import is_first
from noisetop.machine.system import ROOT, read_text
from noisetop.machine.tasks import effective_capabilities

# include/uapi/linux/capability.h
_CAP_SYS_ADMIN, _CAP_PERFMON, _CAP_BPF = 21, 38, 39


def may_trace(root: Path = ROOT) -> bool:
    """Whether the kernel lets this process load tracing programs."""
    capabilities = effective_capabilities(read_text(root / "proc/self/status"))
    both = (1 << _CAP_BPF) | (1 << _CAP_PERFMON)
    return bool(capabilities & (1 << _CAP_SYS_ADMIN)) or capabilities & both == both


def sudo_command() -> str:
    """The command that is running, with sudo in front, quoted for a shell.

    It works from any folder and imports nothing from the current one: sudo has a PATH of its own,
    and root must not run what lies about.
    """
    return shlex.join(["sudo", *_environment(), *_program(), *sys.argv[1:]])


def _program() -> list[str]:
    """The installed program by its absolute path; the module where there is none."""
    called = Path(sys.argv[0]).absolute()
    beside = Path(sysconfig.get_path("scripts"), "noisetop")
    # python -m noisetop is called __main__.py
    for path in (called, beside) if called.name != "__main__.py" else (beside,):
        if path.is_file() and os.access(path, os.X_OK):
            return [str(path)]
    return [sys.executable, "-P", "-m", "noisetop"]


def _environment() -> list[str]:
    """Root does not see what pip install --user installed unless it is told where."""
    user_site = site.getusersitepackages()
    if not Path(noisetop.__path__[0]).is_relative_to(user_site):
        return []
    return ["env", f"PYTHONPATH={user_site}"]


def check_privileges(root: Path = ROOT) -> None:
    """Raises NoisetopError when this process may not trace."""
    if not may_trace(root):
        raise NoisetopError(f"tracing needs root, or CAP_BPF and CAP_PERFMON: {sudo_command()}")


def hidden_names_notice(root: Path = ROOT) -> str:
    """What to tell where /proc/kallsyms has no addresses: kernel/ksyms_common.c."""
    told = "the kernel hides the names of its functions, so addresses stand for them: "
    if read_text(root / "proc/sys/kernel/kptr_restrict") == "2":
        return told + "sysctl -w kernel.kptr_restrict=1"
    return told + "run noisetop as root, or with CAP_SYSLOG as well"


def explain(code: int, step: str, detail: str) -> NoisetopError:
    """The error for a step of the tracer that failed with an errno."""
    reason = os.strerror(code)
    if code in (errno.EPERM, errno.EACCES) and "lockdown" in _lockdown():
        return NoisetopError(f"the kernel is locked down ({_lockdown()}): BPF cannot trace here")
    if step == "faults" and code == errno.EMFILE:
        return NoisetopError("too few open files for --faults: ulimit -n 65536, or fewer CPUs")
    if code == errno.EMFILE:
        return NoisetopError("too few open files: ulimit -n 65536")
    if step == "faults":
        return NoisetopError(f"page faults cannot be counted here ({reason}): leave out --faults")
    if code == errno.EPERM and not is_first("user"):
        return NoisetopError("a user namespace may not load BPF programs: run noisetop on the host")
    if code == errno.EPERM and step == "stats":
        return NoisetopError("statistics of BPF programs need CAP_SYS_ADMIN")
    if code == errno.EPERM:
        return NoisetopError(f"no permission to {step} BPF programs: {sudo_command()}")
    if code == errno.ENOMEM:
        return NoisetopError("not enough memory for the rings: try --ring-size 256")
    return NoisetopError(f"cannot {step} the BPF programs: {reason} ({detail or 'no details'})")


def _lockdown() -> str:
    """``lockdown confidentiality`` where that mode is on; else empty."""
    text = read_text(Path("/sys/kernel/security/lockdown"))
    return "lockdown confidentiality" if "[confidentiality]" in text else ""
