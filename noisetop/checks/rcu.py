"""RCU: the kernel's deferred freeing, which may run on any CPU."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed, skipped
from noisetop.checks.status import LATENCY, Goal, Status
from noisetop.machine.machine import cpu_words, quoted
from noisetop.machine.reading import CannotTellError, Reading
from noisetop.text.cpu_list import cpu_set, format_cpu_list

_NORMAL = "/sys/kernel/rcu_normal"
_EXPEDITED = "/sys/kernel/rcu_expedited"
_PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_PATIENT_MS = 100


def _offloaded(machine: AuditedMachine) -> frozenset[int]:
    """CPUs that the command line or the build takes RCU callbacks from."""
    if (machine.config or {}).get("CONFIG_RCU_NOCB_CPU_DEFAULT_ALL") == "y":
        return frozenset(machine.online)
    values = machine.cmdline.get("rcu_nocbs")
    if values is None:
        return frozenset()
    if values[-1] in ("", "all"):
        return frozenset(machine.online)
    return cpu_set(values[-1]) or frozenset()


@check(
    "C06",
    "rcu-offloaded",
    question="Are the RCU callbacks of these CPUs offloaded?",
    reads=("/proc/cmdline", "/sys/devices/system/cpu/nohz_full"),
    expected="rcu_nocbs= or nohz_full= covers the watched CPUs",
    why="Otherwise RCU callbacks run on these CPUs, in bursts after an interrupt.",
    fix="rcu_nocbs=LIST on the kernel command line; nohz_full= implies it",
    caveat="The callbacks then run in threads named rcuo*; keep those off these CPUs too.",
    explains=(("softirq", "RCU"), ("thread", "rcuc/*")),
    goals=LATENCY,
    sources="kernel-parameters.txt, kernel-per-CPU-kthreads.rst",
)
def rcu_offloaded(machine: AuditedMachine) -> Verdict:
    """rcu_nocbs covers N."""
    cmdline = machine.read("/proc/cmdline")
    covered = machine.nohz_full | _offloaded(machine)
    own = [cpu for cpu in machine.cpus if cpu not in covered]
    readings = (machine.parameter("rcu_nocbs"), machine.read(_NOHZ_FULL).reading)
    if not own:
        return passed("The RCU callbacks of these CPUs are offloaded", *readings)
    if not cmdline.ok:
        raise CannotTellError(f"/proc/cmdline {cmdline.why}", *readings)
    return Verdict(
        machine.worse(),
        f"RCU callbacks run on {cpu_words(own)}",
        readings,
        remedy=remedy.boot_argument(machine, f"rcu_nocbs={machine.watched}"),
        cpus=tuple(own),
    )


@check(
    "C07",
    "rcu-threads",
    question="Are the RCU callback threads (rcuo*) kept off these CPUs?",
    reads=("/proc/*/status of the threads rcuo*",),
    expected="Cpus_allowed_list without the watched CPUs",
    why="These threads run the callbacks of other CPUs and preempt programs.",
    fix="taskset -pc LIST for each of them",
    caveat="Lost at reboot.",
    explains=(("thread", "rcuo*"),),
    goals=LATENCY,
    needs_spare_cpu=True,
    sources="kernel-per-CPU-kthreads.rst",
)
def rcu_threads(machine: AuditedMachine) -> Verdict:
    """Affinity of rcuog, rcuop and rcuos."""
    if machine.tasks_hidden:
        raise CannotTellError(machine.tasks_hidden)
    threads = [t for t in machine.tasks if t.kernel and t.comm.startswith("rcuo")]
    stray = [t for t in threads if machine.hit(t.allowed or ())]
    if not threads:
        return passed("There are no RCU callback threads")
    if not stray:
        return passed(f"{len(threads)} RCU callback threads stay on other CPUs")
    running = [t for t in stray if t.last_cpu in machine.cpus]
    first = (running or stray)[0]
    allowed = format_cpu_list(first.allowed or ())
    return Verdict(
        Status.FAIL if running else Status.WARN,
        f"RCU callback threads of other CPUs {'ran' if running else 'may run'} here: "
        + quoted(t.comm for t in (running or stray)),
        (Reading(f"{first.directory}/status", f"Cpus_allowed_list: {allowed}"),),
        remedy=remedy.pin(stray, machine.keep),
        cpus=machine.hit(first.allowed or ()),
    )


@check(
    "C13",
    "rcu-normal",
    question="Are expedited RCU grace periods off?",
    reads=(_NORMAL, _EXPEDITED),
    expected="rcu_normal is 1",
    why="An expedited grace period sends an IPI to every CPU that is not idle.",
    fix="echo 1 > /sys/kernel/rcu_normal; at boot rcupdate.rcu_normal_after_boot=1",
    caveat="Some administrative operations take longer. Lost at reboot.",
    explains=(("ipi", "*", "rcu_exp_handler"),),
    goals=LATENCY,
    sources="kernel/rcu/update.c, tuned, OpenShift",
)
def rcu_normal(machine: AuditedMachine) -> Verdict:
    """Effective state of rcu_normal, which goes before rcu_expedited."""
    normal = machine.need_number(_NORMAL)
    file, expedited = machine.read(_NORMAL), machine.read(_EXPEDITED)
    readings = (file.reading, expedited.reading)
    if normal == 1:
        return passed("Expedited RCU grace periods are off", *readings)
    fix = remedy.write(file, "1")
    if (expedited.number() or 0) > 0:
        cause = "All RCU grace periods are expedited: each sends IPIs to all CPUs"
        return Verdict(Status.FAIL, cause, readings, remedy=fix)
    if machine.goal is Goal.REALTIME or machine.hit(machine.isolated | machine.nohz_full):
        cause = "Expedited RCU grace periods may send IPIs to these CPUs"
        return Verdict(Status.WARN, cause, readings, remedy=fix)
    return passed("RCU grace periods are expedited only on request", *readings)


@check(
    "C14",
    "rcu-patience",
    question="Does RCU wait before it turns the tick on for a busy CPU?",
    reads=(_PATIENCE,),
    expected=f"{_PATIENT_MS} ms or more",
    why="Otherwise a long system call makes RCU turn the tick on.",
    fix="rcutree.nohz_full_patience_delay=1000 on the kernel command line",
    caveat="Grace periods take longer.",
    explains=(("ipi", "irq_work", "*"), ("timer", "*", "tick_nohz_handler")),
    goals=LATENCY,
    sources="tuned network-latency",
)
def rcu_patience(machine: AuditedMachine) -> Verdict:
    """rcutree.nohz_full_patience_delay, in ms."""
    quiet = machine.hit(machine.nohz_full)
    if not quiet:
        return skipped("Relevant only for CPUs in nohz_full= (see C02)")
    patience_ms = machine.need_number(_PATIENCE)
    file = machine.read(_PATIENCE)
    if patience_ms >= _PATIENT_MS:
        return passed(f"RCU waits {patience_ms} ms before it turns the tick on", file.reading)
    return Verdict(
        Status.WARN,
        f"Long system calls and page faults turn the tick on for {cpu_words(quiet)}",
        (file.reading,),
        remedy=remedy.boot_argument(machine, "rcutree.nohz_full_patience_delay=1000"),
        cpus=quiet,
    )
