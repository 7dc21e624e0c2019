"""Remedies for a machine as it is: what they name, and what puts back what was read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from noisetop.diagnosis import diagnose
from noisetop.diagnosis.evidence import Share
from noisetop.diagnosis.finding import Finding
from noisetop.events.origin import Origin
from noisetop.events.waits import TaskWait
from tests.checks.trees import KTHREAD, Content, Directory, machine, task
from tests.diagnosis.cases import share
from tests.diagnosis.test_rules import evidence
from tests.recordings import HOSTILE

HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
STEERING = "/sys/class/net/eth0/queues/rx-0/rps_cpus"
IRQ = share("irq", "36 foo")
APP = share("thread", "app")


def advised(
    root: Path, changes: dict[str, Content], *shares: Share, pid: int | None = None
) -> Finding:
    """The first finding on a machine with these files."""
    known = replace(evidence(*shares), machine=machine(root, changes, pid=pid))
    return diagnose(known).findings[0]


@pytest.mark.parametrize(
    ("one", "path", "held", "remedy", "undo"),
    [
        (
            share("timer", "local_timer", "watchdog_timer_fn"),
            "/proc/sys/kernel/watchdog_cpumask",
            "0-3",
            "echo 0-1 > /proc/sys/kernel/watchdog_cpumask",
            "echo 0-3 > /proc/sys/kernel/watchdog_cpumask",
        ),
        (
            share("thread", "khugepaged"),
            HUGE_PAGES,
            "[always] madvise never",
            f"echo never > {HUGE_PAGES}",
            f"echo always > {HUGE_PAGES}",
        ),
        (
            share("thread", "pr/2"),
            "/proc/sys/kernel/printk",
            "7\t4\t1\t7",
            "sysctl -w kernel.printk='1 4 1 7'",
            "sysctl -w kernel.printk='7 4 1 7'",
        ),
        (
            share("thread", "kworker/2:1", "vmstat_update"),
            "/proc/sys/vm/stat_interval",
            "7",
            "sysctl -w vm.stat_interval=120",
            "sysctl -w vm.stat_interval=7",
        ),
        (
            share("thread", "kworker/u8:1", "flush_to_ldisc"),
            "/sys/devices/virtual/workqueue/cpumask",
            "f",
            "echo 3 > /sys/devices/virtual/workqueue/cpumask",
            "echo f > /sys/devices/virtual/workqueue/cpumask",
        ),
        (
            IRQ,
            "/proc/irq/36/smp_affinity_list",
            "2",
            "echo 0-1 > /proc/irq/36/smp_affinity_list",
            "echo 2 > /proc/irq/36/smp_affinity_list",
        ),
        (
            share("ipi", "call_function_single", "rps_trigger_softirq"),
            STEERING,
            "6",
            f"echo 2 > {STEERING}",
            f"echo 6 > {STEERING}",
        ),
    ],
)
def test_the_undo_puts_back_what_was_read(
    one: Share, path: str, held: str, remedy: str, undo: str, tmp_path: Path
) -> None:
    found = advised(tmp_path, {path: held + "\n"}, one)
    assert (found.remedy, found.undo) == (remedy, undo)
    assert found.shell
    assert path in [reading.path for reading in found.readings]


@pytest.mark.parametrize("held", [HOSTILE, "x" * 1000, "a\nb", "$(reboot)"])
def test_no_old_value_can_become_a_command(held: str, tmp_path: Path) -> None:
    path = "/proc/irq/36/smp_affinity_list"
    found = advised(tmp_path, {path: held}, IRQ)
    assert found.undo == f"# write back by hand what {path} held" or found.undo.startswith(
        "echo '$(reboot)' > "
    )


def test_where_nothing_can_be_read_it_stays_general(tmp_path: Path) -> None:
    for one in (IRQ, APP, share("thread", "throttled"), share("softirq", "NET_RX")):
        found = advised(tmp_path, {"/proc/irq/36/smp_affinity_list": None}, one)
        assert not found.shell
        assert found.readings == ()
        assert found.remedy == diagnose(evidence(one)).findings[0].remedy


def test_a_managed_interrupt_takes_a_reboot(tmp_path: Path) -> None:
    changes: dict[str, Content] = {
        "/proc/irq/36/effective_affinity_list": "2",
        "/proc/cmdline": "quiet",
    }
    found = advised(tmp_path, changes, share("irq", "36 virtio1-req.0"))
    assert "isolcpus=managed_irq,domain,2-3" in found.remedy
    assert found.reboot
    assert found.readings[0].value == "2"


def test_threads_go_back_to_the_cpus_that_each_had(tmp_path: Path) -> None:
    changes = task(50, "app", "0-3") | task(51, "app", "2", pid=50) | task(52, "app", "0-1")
    found = advised(tmp_path, changes | task(53, "other", "0-3"), APP)
    assert found.remedy == "for t in 50 51; do taskset -pc 0-1 $t; done"
    assert found.undo == "taskset -pc 0-3 50; taskset -pc 2 51"
    assert [one.path for one in found.readings] == [
        "/proc/50/task/50/status",
        "/proc/50/task/51/status",
    ]


def test_what_is_measured_stays_where_it_is(tmp_path: Path) -> None:
    changes = task(50, "app", "2") | task(60, "app", "2")
    assert advised(tmp_path, changes, APP, pid=50).remedy == "taskset -pc 0-1 60"
    barrier = share("ipi", "call_function_single", "ipi_mb", sender="app")
    inside = advised(tmp_path / "a", task(50, "app", "2"), barrier, pid=50)
    assert inside.remedy.startswith("avoid membarrier")
    outside = advised(
        tmp_path / "b", task(50, "app", "0-1") | task(51, "helper", "2", pid=50), barrier
    )
    assert outside.remedy == "taskset -pc 0-1 51"


def test_what_keeps_the_tick_on_is_moved(tmp_path: Path) -> None:
    tick = share("timer", "local_timer", "tick_nohz_handler", period_ns=4_000_000, net_ns=10**9)
    known = replace(evidence(tick, APP), nohz_full=frozenset({2}))
    seen = machine(tmp_path, task(50, "app", "0-3"))
    found = diagnose(replace(known, machine=seen)).findings[0]
    assert (found.rule, found.remedy) == ("tick-for-two-programs", "taskset -pc 0-1 50")


def test_who_sends_to_all_that_registered_is_paused(tmp_path: Path) -> None:
    barrier = share("ipi", "call_function", "ipi_mb", sender="app", origin=Origin.OTHERS)
    here = task(4700, "app", "0-3") | task(4711, "barrier", "0-3", pid=4700)
    found = advised(tmp_path / "a", here, barrier)
    assert (found.remedy, found.undo) == ("kill -STOP 4700", "kill -CONT 4700")
    assert found.shell
    assert "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED" in found.otherwise
    for changes, pid in ((task(4700, "app", "0-3"), None), (here, 4700)):
        gone = advised(tmp_path / f"b{pid}", changes, barrier, pid=pid)
        assert "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED" in gone.remedy
        assert not gone.shell


GLIBC = "7f00-7f01 r-xp 0 00:00 1 /usr/lib/x86_64-linux-gnu/libc.so.6\n"
JEMALLOC = "7f02-7f03 r-xp 0 00:00 2 /usr/lib/libjemalloc.so.2\n"
KEEPS = "MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=-1"


@pytest.mark.parametrize(
    ("maps", "environment", "remedy"),
    [
        (GLIBC, "HOME=/root", f"{KEEPS} ./app -n '; reboot'"),
        (
            GLIBC + JEMALLOC,
            "",
            "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 ./app -n '; reboot'",
        ),
        ("7f00-7f01 r-xp 0 00:00 1 /opt/go/app\n", "", "keep the mapping and use it again"),
        (GLIBC, KEEPS.replace(" ", "\0"), "keep the mapping and use it again"),
    ],
)
def test_the_allocator_that_the_program_has_is_told(
    maps: str, environment: str, remedy: str, tmp_path: Path
) -> None:
    """Where it has none that is known, or is told so already, the program calls munmap itself."""
    flush = share("ipi", "call_function", "flush_tlb_func", sender="app", stack=("__vm_munmap",))
    files: dict[str, Content] = {
        "/proc/4711/maps": maps,
        "/proc/4711/cmdline": "./app\0-n\0; reboot\0",
        "/proc/4711/environ": environment,
    }
    found = advised(tmp_path, task(4711, "app", "2") | files, flush, pid=4711)
    assert found.remedy.startswith(remedy)
    assert not found.shell


def test_systemd_is_told_only_where_it_is(tmp_path: Path) -> None:
    cron = share("thread", "cron")
    running = task(50, "cron", "0-3")
    without = advised(tmp_path / "a", running, cron)
    assert (without.remedy, without.otherwise) == ("taskset -pc 0-1 50", "")
    gone = advised(tmp_path / "b", {}, cron)
    assert "systemd" not in gone.remedy + gone.otherwise + gone.confirm
    with_it = advised(tmp_path / "c", running | {"/run/systemd/system": Directory()}, cron)
    assert with_it.remedy == "taskset -pc 0-1 50"
    assert "/etc/systemd/system.conf" in with_it.otherwise


def test_what_is_set_already_is_no_remedy(tmp_path: Path) -> None:
    compaction = share("thread", "kcompactd0")
    setting = "/proc/sys/vm/compaction_proactiveness"
    found = advised(tmp_path / "a", {setting: "20"}, compaction)
    assert found.remedy == "sysctl -w vm.compaction_proactiveness=0"
    found = advised(tmp_path / "b", {setting: "0"}, compaction)
    assert found.remedy == "for t in $(pgrep kcompactd); do taskset -pc 0-1 $t; done"
    assert [(one.path, one.value) for one in found.readings] == [(setting, "0")]


def test_normal_tasks_take_no_more_time_from_realtime_ones(tmp_path: Path) -> None:
    scheduler, runtime = "/sys/kernel/debug/sched", "/proc/sys/kernel/sched_rt_runtime_us"
    slices = replace(share("thread", "app"), urgent=True, max_ns=5_000_000)
    server = f"{scheduler}/fair_server/cpu2/runtime"
    found = advised(tmp_path / "a", {server: "50000000", runtime: "950000"}, slices)
    assert found.remedy == f"echo 0 > {server}"
    assert found.undo == f"echo 50000000 > {server}"
    before: dict[str, Content] = {server: None, f"{scheduler}/features": "x", runtime: "950000"}
    found = advised(tmp_path / "b", before, slices)
    assert found.remedy == "sysctl -w kernel.sched_rt_runtime_us=-1"
    hidden = advised(tmp_path / "c", {f"{scheduler}/": None}, slices)
    assert not hidden.shell


def test_threads_of_the_kernel(tmp_path: Path) -> None:
    found = advised(tmp_path, task(70, "kswapd0", "0-3", flags=KTHREAD), share("thread", "kswapd0"))
    assert found.remedy == "taskset -pc 0-1 70"


@pytest.mark.parametrize(
    ("name", "held", "lifted"),
    [("cpu.max", "2000 10000", "max"), ("cpu.cfs_quota_us", "2000", "-1")],
)
def test_the_group_with_the_quota_is_found(
    name: str, held: str, lifted: str, tmp_path: Path
) -> None:
    old = name == "cpu.cfs_quota_us"
    group = "/sys/fs/cgroup/cpu/box" if old else "/sys/fs/cgroup/box"
    mount = (
        "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0"
        if old
        else ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0")
    )
    changes: dict[str, Content] = {
        "/proc/mounts": mount,
        "/proc/50/cgroup": "3:cpu:/box\n" if old else "0::/box\n",
        f"{group}/{name}": held,
    }
    waits = {50: TaskWait({"throttled": 3}, {"throttled": 9_000}, 5_000)}
    known = replace(evidence(waits=waits), machine=machine(tmp_path, changes))
    (found,) = diagnose(known).findings
    assert found.remedy == f"echo {lifted} > {group}/{name}"
    assert held in found.undo
