from __future__ import annotations

from pathlib import Path

from noisetop.machine.entry_facts import entry_facts

TREE = {
    "sys/devices/system/cpu/modalias": "cpu:type:x86,ven0002fam0019mod0011:feature:,0000",
    "sys/devices/system/cpu/vulnerabilities/spectre_v2": "Mitigation: Retpolines",
    "sys/devices/system/cpu/vulnerabilities/meltdown": "Not affected",
    "sys/devices/system/cpu/cpu0/microcode/version": "0xa101148",
    "proc/sys/kernel/osrelease": "6.1.0-18-amd64",
    "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
    "sys/class/dmi/id/sys_vendor": "QEMU",
}


def tree(root: Path, **changed: str) -> Path:
    for name, text in (TREE | changed).items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return root


def test_what_a_calibration_holds_for(tmp_path: Path) -> None:
    assert entry_facts(tree(tmp_path)) == {
        "cpu": "cpu:type:x86,ven0002fam0019mod0011:feature:,0000",
        "kernel": "6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1",
        "mitigations": "meltdown: Not affected; spectre_v2: Mitigation: Retpolines",
        "microcode": "0xa101148",
        "hypervisor": "QEMU",
    }


def test_each_fact_tells_machines_apart(tmp_path: Path) -> None:
    one = entry_facts(tree(tmp_path / "one"))
    for number, name in enumerate(TREE):
        assert entry_facts(tree(tmp_path / str(number), **{name: "other"})) != one


def test_what_is_hidden_is_empty(tmp_path: Path) -> None:
    assert set(entry_facts(tmp_path).values()) == {""}
