from __future__ import annotations

from pathlib import Path

from noisetop.tracing.interrupt_vectors import vectors_not_taken


def test_a_vector_without_a_row_is_one_that_this_kernel_never_takes(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    rows = "    CPU0\nTRM: 0 Thermal event interrupts\nTHR: 0 Threshold APIC interrupts\n"
    (tmp_path / "proc/interrupts").write_text(rows)
    assert vectors_not_taken(tmp_path) == {"deferred_error_apic"}
