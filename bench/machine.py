"""What the bench ran on, for those who read the figures."""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def cpu_model(cpuinfo: str) -> str:
    """Name of the first CPU; empty when the text has none, as on arm64."""
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match[1].strip() if match else ""


def is_guest(cpuinfo: str) -> bool:
    """Whether a hypervisor runs below (x86)."""
    match = re.search(r"^flags\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return bool(match and "hypervisor" in match[1].split())


def describe_machine() -> dict[str, object]:
    """CPU, number of CPUs, kernel, date in UTC."""
    cpuinfo = CPUINFO.read_text()
    return {
        "cpu": cpu_model(cpuinfo) or platform.machine(),
        "cpus": len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE)),
        "guest": is_guest(cpuinfo),
        "kernel": re.match(r"[\d.]*", platform.release())[0],  # type: ignore[index]
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def machine_line(machine: dict[str, object]) -> str:
    """The same in a sentence."""
    guest = ", a virtual machine" if machine["guest"] else ""
    return (
        f"{machine['cpus']} CPUs of {machine['cpu']}{guest}; Linux {machine['kernel']}; "
        f"{machine['date']}."
    )
