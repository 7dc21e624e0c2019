"""The kernels that the harness boots, and what is known to be missing in each."""

from __future__ import annotations

from dataclasses import dataclass

SENDERS = ("csd_function", "csd_queue_cpu", "ipi_send_cpu", "ipi_send_cpumask")
"""Tracepoints of function calls, since 6.5, and of who sends interrupts, since 6.4."""
UNSAFE = ("softirq_raise", "tick_stop")
"""Kept from kernels whose RCU would call the programs without end: noisetop/native/rcu.c."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of a distribution, by the package that depends on its newest version."""

    name: str
    suites: tuple[str, ...]
    """Where to look for the package; the newest version of all of them is taken."""
    package: str = "linux-image-amd64"
    lacks: tuple[str, ...] = ()
    """What noisetop names as missing on it: all of it, and nothing else."""
    realtime: bool = False
    stops_ticks: bool = True
    """On ``nohz_full`` CPUs: built with NO_HZ_FULL."""


KERNELS = (
    Kernel("bullseye", ("bullseye",), lacks=(*SENDERS, "tasklet"), stops_ticks=False),
    Kernel("bookworm", ("bookworm",), lacks=(*SENDERS, *UNSAFE)),
    Kernel("trixie", ("trixie",)),
    Kernel("trixie-rt", ("trixie",), package="linux-image-rt-amd64", realtime=True),
    Kernel("newest", ("sid", "experimental")),
)

ISOLATED = "2-3"
ISOLATION = (
    f"isolcpus=managed_irq,domain,{ISOLATED}",
    f"nohz_full={ISOLATED}",
    f"rcu_nocbs={ISOLATED}",
)
"""What the harness adds to the kernel's command line."""

EMULATION = ("tsc=reliable",)
"""Old kernels take the emulated counters for unsynchronised, and the other clocks are slow."""
