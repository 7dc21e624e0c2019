"""The configurations that the harness builds, and what noisetop names as missing in each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.guests.catalogue import Kernel

FROZEN = ("trixie",)
NEWEST = ("sid",)
IPIS = ("call_function", "call_function_single", "reschedule")
"""Interrupts that one CPU sends another."""


@dataclass(frozen=True, slots=True, eq=False)
class Configuration(Kernel):
    """A kernel that is built from the source of a suite: base.config with other options."""

    options: Mapping[str, str] = field(default_factory=dict)
    """Without CONFIG_; ``n`` is off."""
    cpus: int = 2

    def fragment(self) -> str:
        """The options as a kernel's configuration has them."""
        return "".join(f"CONFIG_{name}={value}\n" for name, value in self.options.items())


CONFIGURATIONS = (
    Configuration(
        "no-bandwidth", FROZEN,
        options={"CFS_BANDWIDTH": "n", "NUMA": "n", "MODULES": "n"},
    ),
    Configuration(
        "no-cgroups", FROZEN,
        options={"CGROUPS": "n", "HZ_PERIODIC": "y", "PREEMPT_NONE": "y"},
        lacks=("tick_stop",),
    ),
    Configuration(
        "few-symbols", FROZEN,
        options={"KALLSYMS_ALL": "n", "IRQ_TIME_ACCOUNTING": "y", "PREEMPT": "y"},
    ),
    Configuration("lazy", NEWEST, options={"PREEMPT_LAZY": "y"}),
    Configuration(
        "one-cpu", FROZEN,
        options={"SMP": "n"}, cpus=1,
        lacks=("csd_function", "csd_queue_cpu", "tick_stop", *IPIS),
    ),
)  # fmt: skip
"""Debian's kernels have none of these but PREEMPT_LAZY, and that beside PREEMPT_DYNAMIC."""
