"""What the cost of entering the kernel depends on: a calibration holds for machines that are alike
in all of it."""

from __future__ import annotations

from pathlib import Path

from noisetop.machine.system import ROOT, read_text

_CPUS = "sys/devices/system/cpu"
_CPU = (f"{_CPUS}/modalias", f"{_CPUS}/cpu0/regs/identification/midr_el1")
"""Not /proc/cpuinfo: reading that interrupts other CPUs on Linux 4.14 to 5.17."""
_HYPERVISOR = (
    "sys/hypervisor/type",
    "sys/class/dmi/id/sys_vendor",
    "sys/class/dmi/id/product_name",
    "sys/devices/system/clocksource/clocksource0/current_clocksource",
)


def entry_facts(root: Path = ROOT) -> dict[str, str]:
    """CPU model, kernel, mitigations, microcode and hypervisor as texts; empty: not known."""
    vulnerabilities = sorted((root / _CPUS / "vulnerabilities").glob("*"))
    return {
        "cpu": _joined(root, _CPU),
        "kernel": _joined(root, ("proc/sys/kernel/osrelease", "proc/sys/kernel/version")),
        "mitigations": "; ".join(f"{one.name}: {read_text(one)}" for one in vulnerabilities),
        "microcode": read_text(root / _CPUS / "cpu0/microcode/version"),
        "hypervisor": _joined(root, _HYPERVISOR),
    }


def _joined(root: Path, names: tuple[str, ...]) -> str:
    return " ".join(text for name in names if (text := read_text(root / name)))
