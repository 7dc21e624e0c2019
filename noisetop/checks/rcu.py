"""RCU: the kernel's deferred freeing, which may run on any CPU."""

from __future__ import annotations

from noisetop.checks import remedy
from noisetop.checks.files import cpu_set
from noisetop.checks.machine import Machine, cpu_words, quoted
from noisetop.checks.result import (
    LATENCY,
    CannotTellError,
    Goal,
    Reading,
    Status,
    Verdict,
    check,
    passed,
    skipped,
)
from noisetop.system import format_cpu_list

_NORMAL = "/sys/kernel/rcu_normal"
_EXPEDITED = "/sys/kernel/rcu_expedited"
_PATIENCE = "/sys/module/rcutree/parameters/nohz_full_patience_delay"
_NOHZ_FULL = "/sys/devices/system/cpu/nohz_full"
_PATIENT_MS = 100


def _offloaded(machine: Machine) -> frozenset[int]:
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
    question="Does deferred freeing of kernel memory run elsewhere?",
    reads=("/proc/cmdline", "/sys/devices/system/cpu/nohz_full"),
    expected="rcu_nocbs= or nohz_full= covers the watched CPUs",
    why="Otherwise the kernel frees memory on these CPUs, in bursts after an interrupt.",
    fix="rcu_nocbs=LIST on the kernel command line; nohz_full= implies it",
    caveat="The work moves to threads named rcuo*, which must be kept off these CPUs too.",
    explains=(("softirq", "RCU"), ("thread", "rcuc/*")),
    goals=LATENCY,
    sources="kernel-parameters.txt, kernel-per-CPU-kthreads.rst",
)
def rcu_offloaded(machine: Machine) -> Verdict:
    """rcu_nocbs covers N."""
    cmdline = machine.read("/proc/cmdline")
    covered = machine.nohz_full | _offloaded(machine)
    own = [cpu for cpu in machine.cpus if cpu not in covered]
    readings = (machine.parameter("rcu_nocbs"), machine.read(_NOHZ_FULL).reading)
    if not own:
        return passed("Deferred freeing of kernel memory runs elsewhere", *readings)
    if not cmdline.ok:
        raise CannotTellError(f"/proc/cmdline {cmdline.why}", *readings)
    return Verdict(
        machine.worse(),
        f"The kernel frees its memory on {cpu_words(own)} itself, in bursts",
        readings,
        remedy=remedy.boot_argument(machine, f"rcu_nocbs={machine.watched}"),
        cpus=tuple(own),
    )


@check(
    "C07",
    "rcu-threads",
    question="Are the threads that do the deferred freeing kept off these CPUs?",
    reads=("/proc/*/status of the threads rcuo*",),
    expected="Cpus_allowed_list without the watched CPUs",
    why="These threads take the work of other CPUs; where they run, they preempt programs.",
    fix="taskset -pc LIST for each of them",
    caveat="Lost at reboot.",
    explains=(("thread", "rcuo*"),),
    goals=LATENCY,
    needs_spare_cpu=True,
    sources="kernel-per-CPU-kthreads.rst",
)
def rcu_threads(machine: Machine) -> Verdict:
    """Affinity of rcuog, rcuop and rcuos."""
    if machine.tasks_hidden:
        raise CannotTellError(machine.tasks_hidden)
    threads = [t for t in machine.tasks if t.kernel and t.comm.startswith("rcuo")]
    stray = [t for t in threads if machine.hit(t.allowed or ())]
    if not threads:
        return passed("No thread of the kernel frees memory for other CPUs")
    if not stray:
        return passed(f"{len(threads)} threads for deferred freeing stay on other CPUs")
    running = [t for t in stray if t.last_cpu in machine.cpus]
    first = (running or stray)[0]
    allowed = format_cpu_list(first.allowed or ())
    return Verdict(
        Status.FAIL if running else Status.WARN,
        f"Threads that free kernel memory for other CPUs {'ran' if running else 'may run'} here: "
        + quoted(t.comm for t in (running or stray)),
        (Reading(f"{first.directory}/status", f"Cpus_allowed_list: {allowed}"),),
        remedy=remedy.pin(stray, machine.keep),
        cpus=machine.hit(first.allowed or ()),
    )


@check(
    "C13",
    "rcu-normal",
    question="Does the kernel wait patiently instead of poking every CPU?",
    reads=(_NORMAL, _EXPEDITED),
    expected="rcu_normal is 1",
    why="In a hurry the kernel interrupts every CPU to learn that it has let go of old memory.",
    fix="echo 1 > /sys/kernel/rcu_normal; at boot rcupdate.rcu_normal_after_boot=1",
    caveat="Some administrative operations take longer. Lost at reboot.",
    explains=(("ipi", "*", "rcu_exp_handler"),),
    goals=LATENCY,
    sources="kernel/rcu/update.c, tuned, OpenShift",
)
def rcu_normal(machine: Machine) -> Verdict:
    """Effective state of rcu_normal, which goes before rcu_expedited."""
    normal = machine.need_number(_NORMAL)
    file, expedited = machine.read(_NORMAL), machine.read(_EXPEDITED)
    readings = (file.reading, expedited.reading)
    if normal == 1:
        return passed("The kernel waits patiently instead of poking every CPU", *readings)
    fix = remedy.write(file, "1")
    if (expedited.number() or 0) > 0:
        cause = "The kernel pokes every CPU each time it waits for old memory to be let go"
        return Verdict(Status.FAIL, cause, readings, remedy=fix)
    if machine.goal is Goal.REALTIME or machine.hit(machine.isolated | machine.nohz_full):
        cause = "The kernel may poke every CPU when it is in a hurry to free memory"
        return Verdict(Status.WARN, cause, readings, remedy=fix)
    return passed("The kernel pokes CPUs only when it is in a hurry", *readings)


@check(
    "C14",
    "rcu-patience",
    question="Does the kernel let busy CPUs work before it asks them for a sign?",
    reads=(_PATIENCE,),
    expected=f"{_PATIENT_MS} ms or more",
    why="Without patience, long work in the kernel makes it start the tick on a quiet CPU.",
    fix="rcutree.nohz_full_patience_delay=1000 on the kernel command line",
    caveat="Memory is freed later.",
    explains=(("ipi", "irq_work", "*"), ("timer", "*", "tick_nohz_handler")),
    goals=LATENCY,
    sources="tuned network-latency",
)
def rcu_patience(machine: Machine) -> Verdict:
    """rcutree.nohz_full_patience_delay, in ms."""
    quiet = machine.hit(machine.nohz_full)
    if not quiet:
        return skipped("Matters only on CPUs whose tick may stop (see C02)")
    patience_ms = machine.need_number(_PATIENCE)
    file = machine.read(_PATIENCE)
    if patience_ms >= _PATIENT_MS:
        return passed(f"The kernel waits {patience_ms} ms before it disturbs", file.reading)
    return Verdict(
        Status.WARN,
        f"Long system calls and page faults bring the tick back on {cpu_words(quiet)}",
        (file.reading,),
        remedy=remedy.boot_argument(machine, "rcutree.nohz_full_patience_delay=1000"),
        cpus=quiet,
    )
