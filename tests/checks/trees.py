"""Trees of /proc and /sys, and the machines that checks see in them."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from noisetop.checks import AuditedMachine, CheckResult, Goal, Status, find, run_checks
from noisetop.machine.kernel_counters import Window, read_counters
from noisetop.machine.spin import Spin

CPU = "/sys/devices/system/cpu"
KTHREAD, BOUND = 0x00200000, 0x04000000
GOOD_CONFIG = "CONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n"
GOOD_CMDLINE = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 tsc=reliable audit=0"
QUIET = (Spin(2, 10**9), Spin(3, 10**9))


class Directory:
    """In the place of a file."""


class Link(NamedTuple):
    """A symbolic link."""

    target: str


class Repeated(NamedTuple):
    """A long text with a short name, so that a test can say what it tried."""

    text: str
    times: int


Content = str | bytes | Directory | Link | Repeated | None
Changes = Mapping[str, Content]


def task(
    tid: int,
    comm: str,
    allowed: str,
    *,
    pid: int | None = None,
    cpu: int = 0,
    flags: int = 0,
    policy: int = 0,
    switches: int = 5,
    faults: int = 0,
    status: str = "",
) -> dict[str, Content]:
    """Files of one thread."""
    fields = ["0"] * 50
    fields[0], fields[6], fields[9], fields[36], fields[38] = (
        "S",
        str(flags),
        str(faults),
        str(cpu),
        str(policy),
    )
    group = pid or tid
    stat = f"{tid} ({comm}) {' '.join(fields)}\n"
    text = (
        f"Name:\t{comm}\nCpus_allowed_list:\t{allowed}\nvoluntary_ctxt_switches:\t{switches}\n"
        f"nonvoluntary_ctxt_switches:\t0\n{status}"
    )
    files: dict[str, Content] = {}
    for base in {f"/proc/{group}", f"/proc/{group}/task/{tid}"}:
        if base.endswith(f"/{tid}"):
            files |= {f"{base}/stat": stat, f"{base}/status": text, f"{base}/comm": f"{comm}\n"}
    return files


def irq(number: int, name: str, cpus: str, asked: str = "") -> dict[str, Content]:
    """Files of one interrupt line."""
    return {
        f"/proc/irq/{number}/effective_affinity_list": f"{cpus}\n",
        f"/proc/irq/{number}/smp_affinity_list": f"{asked or cpus}\n",
        f"/sys/kernel/irq/{number}/actions": f"{name}\n",
    }


def interrupts(rows: Mapping[str, str], cpus: int = 4) -> str:
    """/proc/interrupts with the given counts."""
    head = "   ".join(f"CPU{cpu}" for cpu in range(cpus))
    return f"     {head}\n" + "".join(f" {label}: {row}  text\n" for label, row in rows.items())


def stat(steal: int = 0, user: Mapping[int, int] | None = None, idle: int = 1000) -> str:
    """/proc/stat of four CPUs."""
    spent = user or {}
    rows = [f"cpu{c} {spent.get(c, 0)} 0 0 {idle} 0 0 0 {steal} 0 0\n" for c in range(4)]
    return "cpu  0 0 0 0 0 0 0 0 0 0\n" + "".join(rows)


def _cpu_files(cpu: int) -> dict[str, Content]:
    base = f"{CPU}/cpu{cpu}"
    return {
        f"{base}/topology/thread_siblings_list": f"{cpu}\n",
        f"{base}/topology/physical_package_id": "0\n",
        f"{base}/cpufreq/scaling_governor": "performance\n",
        f"{base}/cpufreq/scaling_driver": "acpi-cpufreq\n",
        f"{base}/cpufreq/scaling_min_freq": "1000000\n",
        f"{base}/cpufreq/scaling_max_freq": "3000000\n",
        f"{base}/thermal_throttle/core_throttle_count": "7\n",
        f"{base}/cpuidle/state0/latency": "0\n",
        f"{base}/cpuidle/state0/disable": "0\n",
        f"{base}/cpuidle/state1/latency": "100\n",
        f"{base}/cpuidle/state1/disable": "1\n",
        f"{base}/power/pm_qos_resume_latency_us": "0\n",
        f"/sys/devices/system/machinecheck/machinecheck{cpu}/check_interval": "0\n",
        f"/sys/devices/system/machinecheck/machinecheck{cpu}/ignore_ce": "0\n",
        f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime": "0\n",
        f"/dev/cpu/{cpu}/msr": b"\0" * 0x34 + (500).to_bytes(8, "little"),
    }


def _proc_files() -> dict[str, Content]:
    return {
        "/proc/cmdline": f"{GOOD_CMDLINE}\n",
        "/proc/config.gz": gzip.compress(GOOD_CONFIG.encode()),
        "/proc/cpuinfo": "vendor_id : GenuineIntel\nflags : fpu tsc constant_tsc nonstop_tsc\n",
        "/proc/interrupts": interrupts({"36": "900 0 0 0", "LOC": "9 9 9 9", "NMI": "0 0 0 0"}),
        "/proc/irq/default_smp_affinity": "3\n",
        "/proc/mounts": "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        "/proc/stat": stat(),
        "/proc/swaps": "Filename\tType\tSize\tUsed\tPriority\n",
        "/proc/vmstat": "pswpin 0\npswpout 0\n",
        "/proc/sys/kernel/nmi_watchdog": "0\n",
        "/proc/sys/kernel/numa_balancing": "0\n",
        "/proc/sys/kernel/osrelease": "6.99.0-test\n",
        "/proc/sys/kernel/printk": "4 4 1 7\n",
        "/proc/sys/kernel/randomize_va_space": "2\n",
        "/proc/sys/kernel/sched_rt_runtime_us": "-1\n",
        "/proc/sys/kernel/soft_watchdog": "1\n",
        "/proc/sys/kernel/timer_migration": "1\n",
        "/proc/sys/kernel/watchdog": "1\n",
        "/proc/sys/kernel/watchdog_cpumask": "0-1\n",
        "/proc/sys/net/core/rps_default_mask": "0\n",
        "/proc/sys/net/core/rps_sock_flow_entries": "0\n",
        "/proc/sys/vm/compaction_proactiveness": "0\n",
        "/proc/sys/vm/stat_interval": "120\n",
    }


def _sys_files() -> dict[str, Content]:
    return {
        f"{CPU}/online": "0-3\n",
        f"{CPU}/isolated": "2-3\n",
        f"{CPU}/nohz_full": "2-3\n",
        f"{CPU}/smt/active": "1\n",
        f"{CPU}/intel_pstate/no_turbo": "1\n",
        f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n",
        "/sys/block/sda/queue/rq_affinity": "0\n",
        "/sys/class/net/eth0/device/msi_irqs/36": "msix\n",
        "/sys/class/net/eth0/queues/rx-0/rps_cpus": "3\n",
        "/sys/class/net/eth0/queues/rx-0/rps_flow_cnt": "0\n",
        "/sys/class/power_supply/AC/online": "1\n",
        "/sys/class/power_supply/AC/type": "Mains\n",
        "/sys/class/tty/console/active": "tty0\n",
        "/sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet\n",
        "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        "/sys/devices/system/node/node0/cpulist": "0-3\n",
        "/sys/devices/virtual/workqueue/cpumask": "3\n",
        "/sys/devices/virtual/workqueue/writeback/cpumask": "f\n",
        "/sys/fs/cgroup/cgroup.controllers": "cpuset cpu memory\n",
        "/sys/fs/cgroup/cpuset.cpus.isolated": "2-3\n",
        "/sys/fs/cgroup/fast/cpuset.cpus": "2-3\n",
        "/sys/fs/cgroup/fast/cpuset.cpus.effective": "2-3\n",
        "/sys/fs/cgroup/fast/cpuset.cpus.partition": "isolated\n",
        "/sys/fs/cgroup/fast/cpu.max": "max 100000\n",
        "/sys/kernel/mm/ksm/pages_sharing": "0\n",
        "/sys/kernel/mm/ksm/run": "0\n",
        "/sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never\n",
        "/sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
        "/sys/kernel/rcu_expedited": "0\n",
        "/sys/kernel/rcu_normal": "1\n",
        "/sys/kernel/tracing/current_tracer": "nop\n",
        "/sys/kernel/tracing/events/enable": "0\n",
        "/sys/module/rcutree/parameters/nohz_full_patience_delay": "1000\n",
    }


def good_files() -> dict[str, Content]:
    """A bare-metal machine of four CPUs with 2 and 3 well isolated, for the program 500."""
    files = _proc_files() | _sys_files()
    for cpu in range(4):
        files |= _cpu_files(cpu)
        files |= task(20 + cpu, f"ksoftirqd/{cpu}", str(cpu), flags=KTHREAD | BOUND, cpu=cpu)
    files |= task(1, "systemd", "0-1") | task(2, "kthreadd", "0-1", flags=KTHREAD)
    files |= task(30, "rcuog/2", "0-1", flags=KTHREAD) | task(31, "kswapd0", "0-1", flags=KTHREAD)
    files |= task(500, "trader", "2", cpu=2, policy=1, status="VmLck:\t900 kB\nVmRSS:\t900 kB\n")
    files |= {"/proc/500/cgroup": "0::/fast\n", "/proc/500/limits": "Max locked memory unlimited\n"}
    return files | irq(36, "eth0-rx", "0", "0-1")


def write_tree(root: Path, files: Changes) -> None:
    """Creates, replaces and removes what is named."""
    made: set[Path] = set()
    for name, content in files.items():
        path = root / name.lstrip("/")
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        if isinstance(content, Directory):
            path.unlink(missing_ok=True)
            path.mkdir(exist_ok=True)
        elif isinstance(content, Link):
            path.unlink(missing_ok=True)
            path.symlink_to(content.target)
        elif isinstance(content, Repeated):
            path.write_text(content.text * content.times)
        elif isinstance(content, str | bytes):
            path.write_bytes(content.encode() if isinstance(content, str) else content)


def remove(files: dict[str, Content], removed: Changes) -> dict[str, Content]:
    """The files without those given as None; a name that ends in / takes all below with it."""
    gone = [name for name, content in removed.items() if content is None]
    return {
        name: content
        for name, content in files.items()
        if not any(name == g or (g.endswith("/") and name.startswith(g)) for g in gone)
    }


def machine(
    root: Path,
    changes: Changes | None = None,
    later: Changes | None = None,
    *,
    cpus: tuple[int, ...] = (2, 3),
    goal: Goal = Goal.REALTIME,
    pid: int | None = None,
    spins: tuple[Spin, ...] = QUIET,
) -> AuditedMachine:
    """A good machine with changes; ``later`` are those that happen within a window of 2 s."""
    wanted = dict(changes or {})
    kept = {name: content for name, content in wanted.items() if content is not None}
    write_tree(root, remove(good_files(), wanted) | kept)
    seen = AuditedMachine(root, cpus=cpus, goal=goal, pid=pid, spins=spins)
    before = read_counters(seen, seen.counter_scope)
    write_tree(root, later or {})
    after = replace(read_counters(seen, seen.counter_scope), at_ns=before.at_ns + 2_000_000_000)
    seen.window = Window(before, after)
    return seen


_NOTHING: Changes = MappingProxyType({})


class Case(NamedTuple):
    """One check on a changed machine, and what it must say."""

    check: str
    status: Status
    says: str
    changes: Changes = _NOTHING
    later: Changes = _NOTHING
    cpus: tuple[int, ...] = (2, 3)
    goal: Goal = Goal.REALTIME
    pid: int | None = None
    spins: tuple[Spin, ...] = QUIET
    command: str = ""
    """Part of the remedy's command; with it, there must be an undo."""
    undo: str = ""

    def result(self, root: Path) -> CheckResult:
        """What the check finds."""
        seen = machine(
            root,
            self.changes,
            self.later,
            cpus=self.cpus,
            goal=self.goal,
            pid=self.pid,
            spins=self.spins,
        )
        return run_checks(seen, [find(self.check)])[0]

    def verify(self, root: Path) -> CheckResult:
        """Asserts what is expected."""
        result = self.result(root)
        shown = (result.status, result.verdict.cause, result.verdict.remedy)
        assert result.status is self.status, shown
        assert self.says in result.verdict.cause, shown
        fix = result.verdict.remedy
        if self.command:
            assert fix is not None, shown
            assert self.command in fix.command, shown
            assert fix.undo, shown
            assert self.undo in fix.undo, shown
        return result


PASS, WARN, FAIL, SKIP = Status.PASS, Status.WARN, Status.FAIL, Status.SKIP
BENCHMARK, THROUGHPUT = Goal.BENCHMARK, Goal.THROUGHPUT
