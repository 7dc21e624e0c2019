"""Functions that one CPU makes another one run, and wake-ups across CPUs."""

from __future__ import annotations

from noisetop.diagnosis.advice import lift_quota
from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.program_advice import move_process, pause_sender
from noisetop.diagnosis.rule import Match, Texts, by_sender, by_step, calls, cause, grouped, rule
from noisetop.events.origin import Origin

_STACK = "the sender's kernel stack in the recording"

_BARRIERS = calls("ipi_mb", "ipi_sync_core", "ipi_rseq", "ipi_sync_rq_state")
_OF_OTHERS = Match(calls("ipi_mb"), origin=(Origin.OTHERS,))
_GLOBAL = Match(calls("ipi_mb"), stack=("membarrier_global_expedited",))
_PRIVATE = Match(calls("ipi_mb"), stack=("membarrier_private_expedited",))
_UNREGISTERED = "start your program without MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"


@rule(
    "membarrier-global",
    "{about} calls membarrier for all programs that registered for it, and yours did",
    seen_as=f"{_GLOBAL.words}; or {_OF_OTHERS.words}: a private one reaches its own process only",
    remedy=_UNREGISTERED,
    undo="start it as before",
    otherwise=_UNREGISTERED,
    act=pause_sender,
    effect="who is not registered for global expedited barriers is not interrupted by them",
    confirm="strace -f -e trace=membarrier on both programs: who registers, and who calls",
    source="D45; kernel/sched/membarrier.c, membarrier_global_expedited()",
    rank=(-3,),
    confidence=Confidence.CERTAIN,
)
def membarrier_global(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The two kinds have the same function run. The sender's stack tells them apart, or that it
    belongs to another process."""
    private = {id(share) for share in _PRIVATE.claimed(evidence.shares)}
    foreign = [one for one in _OF_OTHERS.claimed(evidence.shares) if id(one) not in private]
    mine = {id(share): share for share in (*_GLOBAL.claimed(evidence.shares), *foreign)}
    return grouped("membarrier-global", mine.values(), evidence, by_sender, texts)


RULES = (
    cause(
        "membarrier",
        "{about} calls membarrier, which sends an IPI to each CPU that runs its threads",
        *_BARRIERS,
        subject=by_sender,
        remedy="avoid membarrier: see the settings of its runtime (garbage collector, JIT)",
        undo="the former settings",
        effect="only CPUs that run threads of this process are interrupted",
        act=move_process,
        confirm="strace -f -e trace=membarrier -p {pid}",
        source="D45; kernel/sched/membarrier.c",
        fallback="A program calls membarrier, which sends an IPI to each CPU that runs its threads",
    ),
    cause(
        "wake-up-call",
        "{about} wakes tasks on this CPU from another CPU",
        *calls("sched_ttwu_pending"),
        subject=by_sender,
        remedy="keep the woken task off this CPU: taskset -pc {keep} {pid}",
        undo="taskset -pc with the former CPUs",
        confirm="trace sched:sched_waking to see which task is woken",
        source="D51; kernel/sched/core.c",
        fallback="Tasks on this CPU are woken from another CPU",
    ),
    cause(
        "reschedule",
        "{about} sends this CPU a reschedule IPI",
        ("ipi", "reschedule"),
        subject=by_sender,
        remedy="keep all but one program off this CPU: isolcpus=domain,{cpus} or a cpuset",
        undo="remove isolcpus=, or give the cpuset its former CPUs",
        confirm="trace sched:sched_waking with target_cpu={cpu}",
        source="D51, D104; kernel/sched/core.c",
        fallback="Another CPU sends this one a reschedule IPI",
    ),
    cause(
        "bandwidth-unthrottle",
        "A throttled cgroup is unthrottled: its CPU quota was exhausted",
        *calls("__cfsb_csd_unthrottle"),
        remedy="echo max > /sys/fs/cgroup/GROUP/cpu.max for the group with the quota",
        undo="echo the former two numbers into the same cpu.max",
        act=lift_quota,
        confirm="grep nr_throttled /sys/fs/cgroup/*/cpu.stat",
        source="D03; kernel/sched/fair.c",
    ),
    cause(
        "process-feature",
        "{about} changed a feature of its process on all its CPUs",
        *calls("flush_ldt", "enable_lam_func", "cr4_update_pce", "load_new_mm_cr3"),
        subject=by_sender,
        remedy="do it before the run",
        undo="nothing was changed",
        confirm=_STACK,
        source="symbol index",
        fallback="A program changed a feature of its process on all its CPUs",
    ),
    cause(
        "remote-call",
        "Another CPU sent a function call IPI to run {about}",
        ("ipi", "*", "*"),
        subject=by_step(-1),
        remedy="stop or move the sender named below",
        confirm="grep -w {function} /proc/kallsyms",
        source="symbol index",
        confidence=Confidence.LIKELY,
    ),
    cause(
        "call-alone",
        "A function call IPI arrived whose function had already run",
        ("ipi", "call_function*"),
        whole=True,
        remedy="see the findings about function call IPIs",
        undo="nothing was changed",
        confirm=_STACK,
        source="kernel/smp.c: one interrupt may serve several calls",
        confidence=Confidence.LIKELY,
    ),
    cause(
        "self-interrupt",
        "{about} queued irq_work: the CPU sends itself an IPI",
        ("ipi", "irq_work"),
        subject=by_sender,
        remedy="stop profilers, tracers and kernel messages on this CPU",
        confirm=_STACK,
        source="symbol index, irq_work functions",
        confidence=Confidence.POSSIBLE,
        fallback="This CPU sends itself an IPI for irq_work",
    ),
    cause(
        "platform-interrupt",
        "The platform interrupts this CPU for the kernel's own use",
        ("ipi", "x86_platform_ipi"),
        remedy="ask the vendor of the platform or hypervisor",
        undo="nothing was changed",
        confirm="grep PLT /proc/interrupts",
        source="arch/x86/kernel/irq.c",
    ),
)
