from __future__ import annotations

import pytest

from noisetop.machine.cpu_vendor import AMD, HYGON, INTEL, cpu_vendor

MODALIAS, CPUINFO = "/sys/devices/system/cpu/modalias", "/proc/cpuinfo"


@pytest.mark.parametrize(
    ("code", "vendor"), [("0000", INTEL), ("0002", AMD), ("0009", HYGON), ("00FF", "")]
)
def test_sysfs_tells_the_vendor_without_an_interrupt(code: str, vendor: str) -> None:
    def read(path: str) -> str:
        assert path == MODALIAS
        return f"cpu:type:x86,ven{code}fam0019mod0011:feature:,0000,0001"

    assert cpu_vendor(read) == vendor


def test_the_vendor_is_that_of_the_first_cpu_elsewhere() -> None:
    text = "processor\t: 0\nvendor_id\t: GenuineIntel\nprocessor\t: 1\nvendor_id\t: x\n"
    assert cpu_vendor({CPUINFO: text, MODALIAS: ""}.__getitem__) == INTEL


def test_a_machine_that_names_no_vendor_has_none() -> None:
    arm64 = {CPUINFO: "processor\t: 0\nCPU implementer\t: 0x41\n", MODALIAS: "cpu:type:aarch64:"}
    assert cpu_vendor(arm64.__getitem__) == ""
    assert cpu_vendor(lambda path: "") == ""
