"""TLB shootdowns: address translations that another CPU has this one forget."""

from __future__ import annotations

from noisetop.diagnosis.evidence import Evidence
from noisetop.diagnosis.finding import Confidence, Finding
from noisetop.diagnosis.program_advice import KEEP_MAPPINGS, keep_freed_memory, move_process
from noisetop.diagnosis.rule import (
    ISOLATE,
    MOVE,
    MOVE_BACK,
    Match,
    Texts,
    by_sender,
    calls,
    cause,
    grouped,
    rule,
)
from noisetop.events.origin import Origin

_FLUSH = calls("flush_tlb_func")
_SYNC = calls("tlb_remove_table_smp_sync")
_KEEP = "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1 {command}"
_REUSE = f"where it calls the kernel itself: {KEEP_MAPPINGS}"
_STRACE = "strace -fc -p {pid} counts its calls"
_NEVER = "echo never > /sys/kernel/mm/transparent_hugepage/enabled"
_MADVISE = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
_COLLAPSED = "grep thp_collapse_alloc /proc/vmstat before and after"

_FOREIGN = Match(_FLUSH, origin=(Origin.OTHERS,))
_OF_ITS_USERS = Match(
    _FLUSH,
    stack=("migrate_*", "compact_*", "try_to_migrate*", "try_to_unmap*", "shrink_*", "reclaim_*"),
)
_COLLAPSING = (Match((("thread", "khugepaged"),)), Match(_SYNC, sender=("khugepaged",)))


@rule(
    "foreign-flush",
    "{about} ran on this CPU before, so changes of its memory cause TLB shootdowns here",
    seen_as=f"{_FOREIGN.words}: a process with memory of its own",
    remedy=MOVE,
    undo=MOVE_BACK,
    otherwise=ISOLATE,
    act=move_process,
    effect="the next shootdown takes the CPU off its list",
    confirm="ps -eLo tid,psr,comm | grep -Fw {e}",
    source="D41, D42; arch/x86/mm/tlb.c, mm_cpumask()",
    rank=(-3,),
    confidence=Confidence.CERTAIN,
)
def foreign_flush(evidence: Evidence, texts: Texts) -> list[Finding]:
    """Of other processes; not where the kernel takes pages from all that use them."""
    shared = {id(share) for share in _OF_ITS_USERS.claimed(evidence.shares)}
    mine = [share for share in _FOREIGN.claimed(evidence.shares) if id(share) not in shared]
    return grouped("foreign-flush", mine, evidence, by_sender, texts)


@rule(
    "huge-page-collapse",
    "khugepaged collapses pages into huge pages and sends IPIs to all CPUs",
    seen_as="; ".join(match.words for match in _COLLAPSING),
    remedy=_NEVER,
    undo=_MADVISE,
    effect="programs that benefit from huge pages get slower",
    confirm=_COLLAPSED,
    source="D36; mm/khugepaged.c",
    rank=_COLLAPSING[1].rank,
    confidence=Confidence.CERTAIN,
)
def huge_page_collapse(evidence: Evidence, texts: Texts) -> list[Finding]:
    """The thread, and what it asks of other CPUs."""
    mine = [share for match in _COLLAPSING for share in match.claimed(evidence.shares)]
    return grouped("huge-page-collapse", mine, evidence, None, texts)


RULES = (
    cause(
        "heap-trim",
        "{about} trims its heap (brk), which causes a TLB shootdown on this CPU",
        *_FLUSH,
        stack=("*_sys_brk",),
        subject=by_sender,
        remedy="MALLOC_TRIM_THRESHOLD_=-1 {command}",
        undo="start it without",
        effect="glibc then keeps the top of its heap",
        act=keep_freed_memory,
        confirm="strace -f -e trace=brk -p {pid}",
        source="D41; mm/mmap.c, mallopt(3)",
    ),
    cause(
        "unmap",
        "{about} unmaps memory (munmap) on another CPU, which causes a TLB shootdown on this CPU",
        *_FLUSH,
        stack=("*_munmap", "__vm_munmap", "unmap_region", "do_vmi_munmap"),
        subject=by_sender,
        remedy=_KEEP,
        undo="start it without them",
        effect="glibc then keeps freed memory and does not unmap it",
        otherwise=_REUSE,
        act=keep_freed_memory,
        confirm=_STRACE,
        source="D41; arch/x86/mm/tlb.c",
        fallback="Another CPU unmaps memory (munmap), which causes a TLB shootdown on this CPU",
    ),
    cause(
        "protect",
        "{about} changes memory protection (mprotect), which causes a TLB shootdown on this CPU",
        *_FLUSH,
        stack=("*_mprotect*", "do_mprotect_pkey", "change_protection*"),
        subject=by_sender,
        remedy="no mprotect in threads of the program during the run (garbage collectors, JIT)",
        undo="the former settings of the program",
        confirm=_STRACE,
        source="D41; arch/x86/mm/tlb.c",
    ),
    cause(
        "madvise",
        "{about} releases memory (madvise), which causes a TLB shootdown on this CPU",
        *_FLUSH,
        stack=("*_madvise", "do_madvise*", "madvise_*", "zap_page_range*"),
        subject=by_sender,
        remedy="MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 or the like for its allocator",
        undo="the former settings of the program",
        confirm=_STRACE,
        source="D41; arch/x86/mm/tlb.c",
    ),
    cause(
        "fork",
        "{about} starts processes (fork), which causes a TLB shootdown on this CPU",
        *_FLUSH,
        stack=("copy_process", "kernel_clone", "dup_mm*", "copy_page_range", "do_wp_page"),
        subject=by_sender,
        remedy="start helpers before the run, or with posix_spawn and vfork",
        undo="start them as before",
        confirm=_STRACE,
        source="D42; kernel/fork.c",
    ),
    cause(
        "compaction",
        "Memory compaction in the background moves pages of a running program",
        *_FLUSH,
        stack=("kcompactd*", "compact_node*", "proactive_compact*"),
        remedy="sysctl -w vm.compaction_proactiveness=0",
        undo="sysctl -w vm.compaction_proactiveness=20",
        otherwise="no writes to /proc/sys/vm/compact_memory during the run",
        confirm="grep compact_daemon_wake /proc/vmstat before and after",
        source="D38; mm/compaction.c",
    ),
    cause(
        "compaction-for-huge-page",
        "{about} waits for a huge page, and memory is compacted for it",
        *_FLUSH,
        stack=("do_huge_pmd_*",),
        subject=by_sender,
        remedy="echo never > /sys/kernel/mm/transparent_hugepage/defrag",
        undo="echo madvise > /sys/kernel/mm/transparent_hugepage/defrag",
        effect="a page fault that finds no huge page takes a small one",
        confirm="grep compact_stall /proc/vmstat before and after",
        source="D38, D92; mm/huge_memory.c",
    ),
    cause(
        "compaction-on-demand",
        "{about} asks for large pieces of memory, and memory is compacted for it",
        *_FLUSH,
        stack=("__alloc_pages_direct_compact", "try_to_compact_pages", "compact_zone*"),
        subject=by_sender,
        remedy="sysctl -w vm.min_free_kbytes=262144",
        undo="sysctl -w vm.min_free_kbytes= with the former number",
        otherwise="use less memory",
        confirm="grep compact_stall /proc/vmstat before and after",
        source="D38; mm/page_alloc.c",
    ),
    cause(
        "numa-migration",
        "Automatic NUMA balancing moves pages of a running program to another node",
        *_FLUSH,
        stack=("migrate_misplaced*", "do_numa_page"),
        remedy="sysctl -w kernel.numa_balancing=0",
        undo="sysctl -w kernel.numa_balancing=1",
        otherwise="numactl --membind keeps its memory where it runs",
        confirm="grep numa_pages_migrated /proc/vmstat before and after",
        source="D37; mm/migrate.c",
    ),
    cause(
        "page-migration",
        "{about} moves pages of a running program",
        *_FLUSH,
        stack=("migrate_pages*", "try_to_migrate*"),
        subject=by_sender,
        remedy="no migratepages, mbind, cpuset changes and memory hotplug during the run",
        undo="nothing was changed",
        confirm="grep pgmigrate_success /proc/vmstat before and after; the sender's kernel stack",
        source="D38; mm/migrate.c",
        fallback="Pages of a running program are moved",
    ),
    cause(
        "numa-scan",
        "Automatic NUMA balancing unmaps pages to find their users",
        *_FLUSH,
        stack=("task_numa_work", "change_prot_numa"),
        remedy="sysctl -w kernel.numa_balancing=0",
        undo="sysctl -w kernel.numa_balancing=1",
        confirm="grep numa_pte_updates /proc/vmstat before and after",
        source="D37; kernel/sched/fair.c",
    ),
    cause(
        "page-tables-freed",
        "{about} frees page tables, which sends IPIs to all CPUs",
        *_SYNC,
        subject=by_sender,
        remedy=_KEEP,
        undo="start it without them",
        otherwise=_REUSE,
        act=keep_freed_memory,
        confirm=_STRACE,
        source="symbol index; mm/mmu_gather.c",
        fallback="Page tables are freed, which sends IPIs to all CPUs",
        confidence=Confidence.LIKELY,
    ),
    cause(
        "huge-page-flush",
        "Collapsing pages into huge pages causes a TLB shootdown on this CPU",
        *_FLUSH,
        sender=("khugepaged",),
        remedy=_NEVER,
        undo=_MADVISE,
        confirm=_COLLAPSED,
        source="D36; mm/khugepaged.c",
    ),
    cause(
        "reclaim-flush",
        "Memory is low: reclaim (kswapd) causes a TLB shootdown on this CPU",
        *_FLUSH,
        sender=("kswapd*",),
        remedy="sysctl -w vm.min_free_kbytes=262144",
        otherwise="use less memory",
        undo="sysctl -w vm.min_free_kbytes= with the former number",
        confirm="grep pgscan /proc/vmstat before and after; free -m",
        source="D38, D42; mm/vmscan.c",
    ),
    cause(
        "compaction-flush",
        "Memory compaction (kcompactd) causes a TLB shootdown on this CPU",
        *_FLUSH,
        sender=("kcompactd*",),
        remedy="sysctl -w vm.compaction_proactiveness=0",
        undo="sysctl -w vm.compaction_proactiveness=20",
        otherwise="fewer huge pages: it also works for those who ask for large pieces of memory",
        confirm="grep compact_daemon_wake /proc/vmstat before and after",
        source="D38; mm/compaction.c",
    ),
    cause(
        "access-monitor-flush",
        "Memory access monitoring (DAMON) causes a TLB shootdown on this CPU",
        *_FLUSH,
        sender=("kdamond*",),
        remedy="echo N > /sys/module/damon_reclaim/parameters/enabled",
        otherwise="echo off > /sys/kernel/mm/damon/admin/kdamonds/0/state",
        undo="echo Y > /sys/module/damon_reclaim/parameters/enabled",
        confirm="pgrep -a kdamond",
        source="admin-guide/mm/damon",
    ),
    cause(
        "same-page-flush",
        "Same-page merging (KSM) causes a TLB shootdown on this CPU",
        *_FLUSH,
        sender=("ksmd",),
        remedy="echo 0 > /sys/kernel/mm/ksm/run",
        undo="echo 1 > /sys/kernel/mm/ksm/run",
        confirm="cat /sys/kernel/mm/ksm/run is 1",
        source="D35, D42; mm/ksm.c",
    ),
    cause(
        "translation-flush",
        "{about} changes mappings, which causes a TLB shootdown on this CPU",
        *_FLUSH,
        subject=by_sender,
        remedy="no changes of mappings during the run: mmap, munmap, mremap, mprotect, fork",
        undo="nothing was changed",
        confirm=_STRACE,
        source="D41, D42; arch/x86/mm/tlb.c",
        fallback="Mappings that this CPU uses changed, which causes a TLB shootdown on this CPU",
        confidence=Confidence.LIKELY,
    ),
    cause(
        "kernel-memory-flush",
        "A change of kernel mappings causes a TLB shootdown on every CPU ({about})",
        *calls("do_flush_tlb_all", "do_kernel_range_flush", "__cpa_flush*", "do_tlbi*"),
        subject=by_sender,
        remedy="no loading of modules, filters and BPF programs, no containers during the run",
        undo="nothing was changed",
        confirm="the sender's kernel stack: vmap, module, bpf_int_jit_compile, ioremap",
        source="D43; arch/x86/mm/tlb.c",
    ),
)
