"""/proc/interrupts as rows of counts."""

from __future__ import annotations

from pathlib import Path

PROC_INTERRUPTS = Path("/proc/interrupts")


def parse_interrupts(text: str, cpu: int) -> dict[str, int]:
    """Count of each row on one CPU; device interrupts are named ``36 virtio1-req.0``.

    Rows that are not kept per CPU (ERR, MIS) are left out. Raises KeyError for an unknown CPU.
    """
    header, *lines = text.splitlines()
    columns = header.split()
    wanted = f"CPU{cpu}"
    if wanted not in columns:
        raise KeyError(wanted)
    place = columns.index(wanted)
    counts = {}
    for line in lines:
        label, _, rest = line.partition(":")
        fields = rest.split()
        if len(fields) < len(columns) or not all(f.isdigit() for f in fields[: len(columns)]):
            continue
        label = label.strip()
        name = f"{label} {fields[-1]}" if label.isdigit() else label
        counts[name] = int(fields[place])
    return counts


def read_interrupts(cpu: int) -> dict[str, int]:
    """Counts of one CPU now."""
    return parse_interrupts(PROC_INTERRUPTS.read_text(), cpu)


def added(before: dict[str, int], after: dict[str, int]) -> dict[str, int]:
    """What came in between, row by row."""
    return {name: count - before.get(name, 0) for name, count in after.items()}


def is_device(row: str) -> bool:
    """Whether a row is a device's interrupt, which belongs to whoever uses the device."""
    return row[:1].isdigit()
