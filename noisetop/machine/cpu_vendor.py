"""Who made the CPUs of this machine."""

from __future__ import annotations

import re

from noisetop.machine.reading import Read

INTEL = "GenuineIntel"
AMD, HYGON = "AuthenticAMD", "HygonGenuine"
CENTAUR, ZHAOXIN = "CentaurHauls", "Shanghai"

_CODES = {0: INTEL, 2: AMD, 5: CENTAUR, 9: HYGON, 10: ZHAOXIN}
"""X86_VENDOR_* of arch/x86/include/asm/processor.h, with what /proc/cpuinfo calls them."""


def cpu_vendor(read: Read) -> str:
    """``vendor_id`` of the first CPU; empty where nothing names one, as on arm64.

    From sysfs where that has it: reading /proc/cpuinfo interrupts other CPUs on Linux 4.14 to 5.17,
    which ask them for their frequency.
    """
    modalias = re.match(r"cpu:type:x86,ven([0-9A-F]{4})", read("/sys/devices/system/cpu/modalias"))
    if modalias:
        return _CODES.get(int(modalias[1], 16), "")
    named = re.search(r"(?m)^vendor_id\s*:\s*(\S+)", read("/proc/cpuinfo"))
    return named[1] if named else ""
