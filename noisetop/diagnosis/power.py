"""Frequencies, idle injection and firmware."""

from __future__ import annotations

from noisetop.diagnosis.finding import Confidence
from noisetop.diagnosis.rule import calls, cause, works

RULES = (
    cause(
        "frequency-change",
        "The frequency governor runs on this CPU",
        ("thread", "sugov:*"),
        *works("sugov_work", "dbs_work_handler"),
        *calls("do_drv_write"),
        remedy="cpupower -c {cpus} frequency-set -g performance",
        undo="cpupower -c {cpus} frequency-set -g schedutil",
        confirm="cat /sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor",
        source="D47, D79; kernel/sched/cpufreq_schedutil.c",
    ),
    cause(
        "frequency-read",
        "{about} reads the frequency of this CPU from another CPU",
        *calls("do_drv_read", "cpu_read_corecnt", "cpu_read_constcnt", "aperfmperf_snapshot_khz"),
        subject=lambda share: share.trigger.task,
        remedy="stop monitoring that reads scaling_cur_freq or cpuinfo_cur_freq of CPU {cpus}",
        confirm="the sender's kernel stack has cpufreq or cppc functions",
        source="D47; drivers/cpufreq",
        fallback="The frequency of this CPU is read from another CPU",
    ),
    cause(
        "idle-injection",
        "The kernel injects idle time to cool this CPU",
        ("thread", "idle_inject/*"),
        ("thread", "kidle_inj/*"),
        remedy="better cooling, then: modprobe -r intel_powerclamp",
        undo="modprobe intel_powerclamp",
        confirm="grep . /sys/class/thermal/cooling_device*/cur_state",
        source="D102; drivers/powercap/idle_inject.c",
    ),
    cause(
        "firmware-gap",
        "Firmware stopped the CPU (system management interrupt, SMI)",
        ("hardware", "smi*"),
        remedy="in the firmware setup: no legacy USB, no power capping, maximum performance",
        undo="the former settings of the firmware",
        reboot=True,
        confirm="perf stat -C {keep} -e msr/smi/ sleep 10",
        source="D83, D84; hwlat_detector.rst",
    ),
    cause(
        "hypervisor-gap",
        "The hypervisor preempted this virtual CPU (steal)",
        ("hardware", "steal"),
        remedy="pin the virtual CPUs on the host, one to a core; ask the provider",
        undo="the former configuration of the virtual machine",
        reboot=True,
        confirm="grep cpu{cpu} /proc/stat before and after: its 8th number",
        source="D89; arch/x86/kernel/kvm.c",
    ),
    cause(
        "hardware-gap",
        "The CPU was stopped by the hypervisor or firmware, inferred",
        ("hardware",),
        remedy="on a virtual machine ask the host; else look for system management interrupts",
        undo="nothing was changed",
        confirm="perf stat -C {keep} -e msr/smi/ sleep 10; steal in /proc/stat",
        source="D83, D84, D103",
        confidence=Confidence.POSSIBLE,
    ),
)
