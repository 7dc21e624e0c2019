"""Which CPU a machine has, as far as sysfs tells."""

from __future__ import annotations

import re

from noisetop.machine.cpu_vendor import cpu_vendor
from noisetop.machine.reading import Read

_MODALIAS = "/sys/devices/system/cpu/modalias"
_MIDR = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"
_X86 = re.compile(r"cpu:type:x86,ven[0-9A-F]{4}fam([0-9A-F]{4})mod([0-9A-F]{4})")


def cpu_model(read: Read) -> str:
    """``GenuineIntel family 6 model 143``, on arm64 the main ID register; empty: not known.

    Not the name in /proc/cpuinfo: reading that interrupts other CPUs on Linux 4.14 to 5.17.
    """
    if found := _X86.match(read(_MODALIAS)):
        family, model = (int(number, 16) for number in found.groups())
        return f"{cpu_vendor(read)} family {family} model {model}".strip()
    midr = read(_MIDR)
    return f"MIDR {midr}" if midr else ""
