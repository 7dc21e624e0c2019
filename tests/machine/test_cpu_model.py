from __future__ import annotations

import pytest

from noisetop.machine.cpu_model import cpu_model

MODALIAS = "/sys/devices/system/cpu/modalias"
MIDR = "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1"


@pytest.mark.parametrize(
    ("files", "model"),
    [
        (
            {MODALIAS: "cpu:type:x86,ven0000fam0006mod008F:feature:,0000,0001"},
            "GenuineIntel family 6 model 143",
        ),
        (
            {MODALIAS: "cpu:type:x86,ven0002fam0019mod0011:feature:"},
            "AuthenticAMD family 25 model 17",
        ),
        ({MIDR: "0x00000000410fd0c0"}, "MIDR 0x00000000410fd0c0"),
        ({MODALIAS: "cpu:type:x86,ven"}, ""),
        ({}, ""),
    ],
)
def test_model_comes_from_sysfs(files: dict[str, str], model: str) -> None:
    assert cpu_model(lambda path: files.get(path, "")) == model
