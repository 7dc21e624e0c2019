"""How the kernel was built and started."""

from __future__ import annotations

import re

from noisetop.checks import remedy
from noisetop.checks.audited import AuditedMachine
from noisetop.checks.result import Verdict, check, passed
from noisetop.checks.status import LATENCY, Status
from noisetop.machine.machine import quoted
from noisetop.machine.reading import CannotTellError, Reading

_NEEDED = ("CONFIG_NO_HZ_FULL", "CONFIG_RCU_NOCB_CPU", "CONFIG_CPU_ISOLATION")
_HEAVY = (
    "CONFIG_KASAN",
    "CONFIG_KCSAN",
    "CONFIG_KMSAN",
    "CONFIG_PROVE_LOCKING",
    "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "CONFIG_DEBUG_OBJECTS",
    "CONFIG_SLUB_DEBUG_ON",
)
_CONFIG = "/proc/config.gz or /boot/config-*"
_KFENCE = "/sys/module/kfence/parameters/sample_interval"
_CONSOLES = "/sys/class/tty/console/active"
_PRINTK = "/proc/sys/kernel/printk"
_VULNERABILITIES = "/sys/devices/system/cpu/vulnerabilities"
_SERIAL = re.compile(r"tty(S|AMA|USB|LP|PS|SC|MX|O|HS|UL)\d+")
_CHATTY_LEVEL = 7


@check(
    "C01",
    "kernel-options",
    question="Was this kernel built with the options for CPU isolation?",
    reads=(_CONFIG, "/sys/devices/system/cpu/nohz_full"),
    expected=", ".join(f"{name}=y" for name in _NEEDED),
    why="Without these options the tick cannot stop and RCU callbacks cannot be offloaded.",
    fix="install a low-latency or real-time kernel of the distribution",
    explains=(("timer", "*", "tick_nohz_handler"), ("timer", "*", "tick_sched_timer")),
    goals=LATENCY,
    sources="cpu-isolation.rst, SUSE Labs CPU isolation",
)
def kernel_options(machine: AuditedMachine) -> Verdict:
    """Options, or what shows that they are set."""
    listed = machine.read("/sys/devices/system/cpu/nohz_full")
    if machine.config is None:
        if listed.ok:
            cause = "The kernel can stop its tick; its other options cannot be read"
            return Verdict(Status.WARN, cause, (listed.reading,))
        reason = "neither /proc/config.gz nor /boot/config-* can be read"
        raise CannotTellError(reason, listed.reading)
    lacking = [name for name in _NEEDED if machine.config.get(name) != "y"]
    if listed.ok and _NEEDED[0] in lacking:
        raise CannotTellError("the list of kernel options is of another kernel", listed.reading)
    readings = (Reading(_CONFIG, quoted(f"{n}={machine.config.get(n, 'n')}" for n in _NEEDED)),)
    if not lacking:
        return passed("This kernel was built with the options for CPU isolation", *readings)
    what = {
        _NEEDED[0]: "stop its tick",
        _NEEDED[1]: "offload RCU callbacks",
        _NEEDED[2]: "isolate CPUs",
    }
    cause = "This kernel was built without the options to " + " or ".join(what[n] for n in lacking)
    return Verdict(machine.worse(), cause, readings)


@check(
    "C45",
    "console",
    question="Can no CPU be delayed by console output?",
    reads=("/proc/cmdline", _CONSOLES, _PRINTK),
    expected="no serial console, or only serious messages on it",
    why="A character takes 87 µs on a serial line at 115200 baud, and the printing CPU waits.",
    fix="remove console=ttyS* from the kernel command line, or sysctl -w kernel.printk='3 4 1 7'",
    caveat="Messages stay in dmesg.",
    explains=(("thread", "pr/*"), ("hardware",)),
    sources="Red Hat real-time guide",
)
def console(machine: AuditedMachine) -> Verdict:
    """Serial consoles and the level of messages."""
    active, cmdline = machine.read(_CONSOLES), machine.read("/proc/cmdline")
    names = active.text.split() or machine.cmdline.get("console", [])
    if not active.ok and not cmdline.ok:
        raise CannotTellError(f"{_CONSOLES} {active.why}", active.reading)
    serial = [name for name in names if _SERIAL.match(name)]
    printk = machine.read(_PRINTK)
    readings = (active.reading if active.ok else cmdline.reading, printk.reading)
    if not serial:
        if not active.ok:
            raise CannotTellError("which consoles are in use is hidden", *readings)
        return passed("Kernel messages do not go to a serial line", *readings)
    level = re.match(r"([0-9]{1,2})\b", printk.text)
    chatty = bool(level and int(level[1]) >= _CHATTY_LEVEL)
    quiet = remedy.sysctl(printk, "3 4 1 7") if printk.ok else None
    what = "Every kernel message" if chatty else "Serious kernel messages"
    return Verdict(
        Status.FAIL if chatty else Status.WARN,
        f"{what} can delay a CPU until a serial line ({serial[0][:16]}) has sent it",
        readings,
        remedy=quiet,
    )


@check(
    "C46",
    "audit",
    question="Is auditing of system calls off?",
    reads=("/proc/cmdline", "/proc/*/stat"),
    expected="audit=0, or no auditd running",
    why="With audit rules, each system call takes a slower path.",
    fix="audit=0 on the kernel command line",
    caveat="A security policy may require auditing.",
    explains=(("thread", "kauditd"),),
    sources="kernel-parameters.txt",
)
def audit(machine: AuditedMachine) -> Verdict:
    """audit= and its daemon."""
    machine.need("/proc/cmdline")
    value = machine.cmdline.get("audit", ["not given"])[-1]
    given = machine.parameter("audit")
    if value in ("0", "off"):
        return passed("Auditing of system calls is off", given)
    daemon = next((task for task in machine.tasks if task.comm == "auditd"), None)
    if daemon or value in ("1", "on"):
        who = f"auditd ({daemon.pid}) runs" if daemon else f"audit={value}"
        return Verdict(
            Status.WARN,
            "System calls are audited, which slows down each of them",
            (given, Reading("/proc", who)),
            remedy=remedy.boot_argument(machine, "audit=0"),
        )
    if machine.tasks_hidden:
        raise CannotTellError(machine.tasks_hidden, given)
    if not any(task.comm == "kauditd" for task in machine.tasks):
        return passed("This kernel does not audit system calls", given)
    raise CannotTellError("auditd is not running, but rules may be loaded: see auditctl -s", given)


@check(
    "C47",
    "mitigations",
    question="Are the CPU vulnerability mitigations on?",
    reads=("/proc/cmdline", f"{_VULNERABILITIES}/*"),
    expected="not disabled as a whole",
    why="They make each kernel entry slower. With them off, any "
    "program can read the memory of others.",
    fix="remove mitigations=off from the kernel command line",
    caveat="A trade-off between speed and security.",
    sources="Rigtorp's guide",
)
def mitigations(machine: AuditedMachine) -> Verdict:
    """vulnerabilities, and mitigations=off."""
    files = [machine.read(path) for path in machine.glob(_VULNERABILITIES, "*")]
    cmdline = machine.read("/proc/cmdline")
    if not files and not cmdline.ok:
        raise CannotTellError(f"{_VULNERABILITIES} is hidden", cmdline.reading)
    active = [file for file in files if file.text.startswith("Mitigation")]
    readings = tuple(file.reading for file in active[:2]) or (cmdline.reading,)
    if machine.cmdline.get("mitigations", [""])[-1] == "off":
        cause = "CPU vulnerability mitigations are off: programs can read each other's memory"
        fix = remedy.boot_argument(machine, "mitigations=auto")
        return Verdict(Status.WARN, cause, (machine.parameter("mitigations"),), remedy=fix)
    if not any(file.ok for file in files):
        raise CannotTellError(f"{_VULNERABILITIES} is hidden", cmdline.reading)
    return passed(f"{len(active)} mitigations are on, at some cost per system call", *readings)


@check(
    "C48",
    "debug-options",
    question="Was this kernel built without expensive debug options?",
    reads=(_CONFIG, _KFENCE),
    expected="none of KASAN, lockdep and the like; KFENCE without static keys",
    why="They slow down all kernel code; KFENCE with static keys interrupts every CPU 10 times a "
    "second.",
    fix="a release kernel; kfence.sample_interval=0 on the kernel command line",
    explains=(("ipi", "*", "do_sync_core"), ("thread", "kworker/*", "toggle_allocation_gate")),
    sources="lib/Kconfig.debug, mm/kfence/core.c",
)
def debug_options(machine: AuditedMachine) -> Verdict:
    """Debugging options, and KFENCE's interval."""
    if machine.config is None:
        raise CannotTellError("neither /proc/config.gz nor /boot/config-* can be read")
    heavy = [name for name in _HEAVY if machine.config.get(name) == "y"]
    if heavy:
        return Verdict(
            Status.FAIL,
            "This kernel was built with expensive debug options: " + quoted(heavy),
            (Reading(_CONFIG, f"{heavy[0]}=y"),),
        )
    interval = machine.read(_KFENCE)
    keys = machine.config.get("CONFIG_KFENCE_STATIC_KEYS") == "y"
    if keys and machine.need_number(_KFENCE) > 0:
        return Verdict(
            Status.WARN,
            f"The kernel interrupts every CPU each {interval.number()} ms for KFENCE",
            (interval.reading, Reading(_CONFIG, "CONFIG_KFENCE_STATIC_KEYS=y")),
            remedy=remedy.boot_argument(machine, "kfence.sample_interval=0"),
        )
    options = Reading(_CONFIG, f"none of {len(_HEAVY)} options set")
    return passed("This kernel was built without expensive debug options", options)
