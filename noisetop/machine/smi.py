"""System management interrupts, as Intel CPUs count them.

They stop every CPU of the machine, so one counter on a housekeeping CPU counts those of all. Intel
offers two: a total since boot in a register, and a PMU event from the moment it is opened.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
from pathlib import Path
from types import TracebackType
from typing import Self

from noisetop.errors import NoisetopError
from noisetop.machine.system import ROOT, read_text

_SMI_COUNT = 0x34
"""MSR_SMI_COUNT of Intel CPUs (Software Developer's Manual, volume 4)."""

MSR_PMU = Path("sys/bus/event_source/devices/msr")
"""Below the root: the PMU of model-specific registers that only count (arch/x86/events/msr.c)."""

# include/uapi/linux/perf_event.h, and the system call's number on x86_64: no other has this PMU
_SYS_PERF_EVENT_OPEN = 298
_FD_CLOEXEC = 8
_ATTR = struct.Struct("=2I5Q2IQ")
"""perf_event_attr as of PERF_ATTR_SIZE_VER0: type, size, config, period, sample type, read format,
flags, wake-up, breakpoint type, config1."""
_PINNED = 1 << 2
"""Always on the CPU or ended: a count that was not running all the time would be too small."""
_ALL_TASKS, _NO_GROUP = -1, -1
_EVENT = re.compile(r"event=0x([0-9a-f]{1,16})")


def smis_since_boot(cpu: int, root: Path = ROOT) -> int:
    """SMIs that an Intel CPU has counted since power-on; other CPUs have another meaning for it.

    Reading interrupts that CPU and no other. Raises NoisetopError where it cannot be read.
    """
    path = f"/dev/cpu/{cpu}/msr"
    try:
        raw = _read_register(root / path.lstrip("/"), _SMI_COUNT)
    except FileNotFoundError:
        raise NoisetopError(f"{path} does not exist: modprobe msr") from None
    except OSError as error:
        raise NoisetopError(f"{path} cannot be read ({error.strerror}): run as root") from None
    if len(raw) != 8:
        raise NoisetopError(f"{path} is short")
    return int.from_bytes(raw, "little")


def _read_register(device: Path, number: int) -> bytes:
    """The 8 bytes of a model-specific register, fewer at the end of the file. Raises OSError."""
    # A FIFO in the place of the device must not block.
    fd = os.open(device, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return os.pread(fd, 8, number)
    finally:
        os.close(fd)


class SmiCounter:
    """Counts on one CPU from the moment it is opened, without samples and without a timer.

    Opening and reading interrupt that CPU and no other. Raises NoisetopError where the machine does
    not offer the counter.
    """

    def __init__(self, cpu: int, root: Path = ROOT, *, event: str = "smi") -> None:
        kind = read_text(root / MSR_PMU / "type")
        config = _EVENT.fullmatch(read_text(root / MSR_PMU / "events" / event))
        known = re.fullmatch("[0-9]{1,9}", kind)
        if config is None or known is None or platform.machine() != "x86_64":
            raise NoisetopError(f"this machine has no event msr/{event}/")
        self._fd = _open(int(kind), int(config[1], 16), cpu, event)

    def read(self) -> int | None:
        """Interrupts since the counter was opened; None when the kernel gave up counting."""
        raw = os.read(self._fd, 8)
        return int.from_bytes(raw, "little") if len(raw) == 8 else None

    def close(self) -> None:
        """Ends the counting."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _open(kind: int, config: int, cpu: int, event: str) -> int:
    """File descriptor of the event on a CPU, for all tasks. Raises NoisetopError."""
    attributes = _ATTR.pack(kind, _ATTR.size, config, 0, 0, 0, _PINNED, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (_ALL_TASKS, cpu, _NO_GROUP, _FD_CLOEXEC)
    fd: int = libc.syscall(
        ctypes.c_long(_SYS_PERF_EVENT_OPEN),
        attributes,
        *(ctypes.c_long(value) for value in arguments),
    )
    if fd < 0:
        why = os.strerror(ctypes.get_errno())
        raise NoisetopError(f"msr/{event}/ cannot be counted on CPU {cpu} ({why}): run as root")
    return fd
