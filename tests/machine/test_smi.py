from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.errors import NoisetopError
from noisetop.machine.smi import MSR_PMU, SmiCounter, smis_since_boot


def pmu(root: Path, kind: str, event: str) -> Path:
    (root / MSR_PMU / "events").mkdir(parents=True)
    (root / MSR_PMU / "type").write_text(f"{kind}\n")
    (root / MSR_PMU / "events/smi").write_text(f"{event}\n")
    return root


def test_a_machine_without_the_event_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoisetopError, match="this machine has no event msr/smi/"):
        SmiCounter(0, tmp_path)


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("", "event=0x04"),
        ("12", ""),
        ("12", "event=4"),
        ("x", "event=0x4"),
        ("9" * 20, "event=0x4"),
    ],
)
def test_a_description_that_makes_no_sense_is_no_offer(
    tmp_path: Path, kind: str, event: str
) -> None:
    with pytest.raises(NoisetopError, match="this machine has no event msr/smi/"):
        SmiCounter(0, pmu(tmp_path, kind, event))


def test_another_architecture_has_no_such_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(NoisetopError, match="this machine has no event msr/smi/"):
        SmiCounter(0, pmu(tmp_path, "12", "event=0x04"))


def test_a_counter_that_the_kernel_refuses_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    with pytest.raises(NoisetopError, match=r"msr/smi/ cannot be counted on CPU 0 \(.+\): run as"):
        SmiCounter(0, pmu(tmp_path, "999999999", "event=0x04"))


def register(root: Path, content: bytes) -> Path:
    (root / "dev/cpu/1").mkdir(parents=True)
    (root / "dev/cpu/1/msr").write_bytes(content)
    return root


def test_the_total_is_read_from_its_register(tmp_path: Path) -> None:
    content = b"\0" * 0x34 + (500).to_bytes(8, "little") + b"\xff"
    assert smis_since_boot(1, register(tmp_path, content)) == 500


def test_a_total_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(NoisetopError, match="/dev/cpu/1/msr does not exist: modprobe msr"):
        smis_since_boot(1, tmp_path)
    with pytest.raises(NoisetopError, match="/dev/cpu/1/msr is short"):
        smis_since_boot(1, register(tmp_path, b"1"))
