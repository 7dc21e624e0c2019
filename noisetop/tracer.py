"""Runs the kernel side: what to watch, and from which CPUs. The only importer of _native."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from noisetop import _native, bcc, housekeeping, system
from noisetop.absence import Absence
from noisetop.backend import choose
from noisetop.errors import NoisetopError
from noisetop.event import Interruptions, Layout
from noisetop.hardware import HardwareWatch, Reading
from noisetop.hotplug import HotplugWatch
from noisetop.naming import Names
from noisetop.privileges import explain
from noisetop.reading import RecordReader
from noisetop.spool import absences_block, losses_by_cpu, read_books, tick_stops_by_cpu
from noisetop.summary import Losses, OwnCost
from noisetop.symbols import KALLSYMS, SymbolTable, read_kallsyms
from noisetop.tick import TickStops

RING_RECORDS = 1 << 16
"""Records per CPU: 4 MiB, 1.6 million a second between two visits of the drain thread."""
DRAIN_INTERVAL_NS = 40_000_000
_RINGS_LIMIT_BYTES = 256 << 20
_BATCH_LIMIT_BYTES = 256 << 20
_SETTLE_S = 0.05
_SAMPLE_S = 0.2
_SAMPLE_RECORDS = 50
"""Where there are fewer in that time, those of attaching count as well."""
_SOFTWARE_EVENT = "perf_event"
"""Section of the programs that only run when asked for."""
_PAIR = re.compile(r"_entry$|_exit$|(?<=_execute)_(start|end)$")
_ENTRIES = ("entry_begin", "entry_end")
_TWINS = ("_twin_1", "_twin_2")  # each makes up for the other's misses: bpf/timer.bpf.c


@dataclass(frozen=True, slots=True)
class Target:
    """What is watched: CPUs, and in PID mode only what befalls one process on them."""

    cpus: tuple[int, ...]
    pid: int = 0
    title: str = ""
    cgroup_id: int = 0
    cgroup_level: int = 0
    follow: bool = False

    @property
    def victims(self) -> str:
        """Who loses time, in the words of ``enum noise_victims``."""
        if self.cgroup_id:
            return "CGROUP"
        if self.follow:
            return "TREE"
        return "PROCESS" if self.pid else "USERS"


@dataclass(slots=True)
class _Usage:
    """What this process had used at one moment."""

    cpu_ns: int = 0
    wakeups: int = 0

    @classmethod
    def now(cls) -> _Usage:
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu_ns = round((used.ru_utime + used.ru_stime) * 1e9)
        return cls(cpu_ns, used.ru_nvcsw)


@dataclass(slots=True)
class Tracer:
    """A context manager: loads and attaches on entry, leaves nothing in the kernel on exit."""

    target: Target
    spool_fd: int = -1
    """Where the drain thread writes a recording; -1: nowhere."""
    keep_batches: bool = True
    """Whether read() is going to be called."""
    ring_records: int = RING_RECORDS
    stacks: bool = False
    """Whether to take the stack of whoever sends an interrupt."""
    faults: bool = False
    """Whether to time the page faults of the victims."""
    entries: bool = False
    """Whether to time entries into the kernel, which the kernel tells on CPUs of ``nohz_full=``."""
    house: tuple[int, ...] = ()
    """CPUs for the tool's own threads; empty: none left."""
    backend: str = "auto"
    """One of ``backend.BACKENDS``; once entered, which one it is."""
    layout: Layout = field(init=False)
    reader: RecordReader = field(init=False)
    names: Names = field(init=False)
    hardware_start: Reading = field(default_factory=dict)
    """What the machine had admitted to when the books were opened."""
    start_ns: int = 0
    end_ns: int = 0
    _session: _native.Session = field(init=False)
    _hotplug: HotplugWatch = field(init=False)
    _hardware: HardwareWatch = field(init=False)
    _hardware_end: Reading = field(default_factory=dict)
    _symbols: SymbolTable | None = None
    _before: _Usage = field(default_factory=_Usage)
    _bpf_ns_per_record: float | None = None
    _misses_before: int = 0
    _lost: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        if self.house:
            housekeeping.bind(self.house)
        self.backend = choose(self.backend)
        self.layout = Layout.from_native(_native.layout())
        self.names = Names(system.softirq_names(), system.irq_actions(), self._read_symbols)
        self.reader = RecordReader(self.layout, self.names)
        self._hardware = HardwareWatch(self.target.cpus, self.house)
        try:
            self._session = self._open_session()
            if self.backend == "bcc":
                self._compile()
            self._check_entries()
            if self.target.follow:
                self._add_tree()
            self._hardware.open()
            self._attach()
        except _native.TracerError as error:
            self._discard()
            raise explain(error.args[0], error.args[1], error.args[2]) from None
        except BaseException:
            self._discard()
            raise
        return self

    def _open_session(self) -> _native.Session:
        return _native.Session(
            cpus=self.target.cpus,
            others=tuple(c for c in system.present_cpus() if c not in self.target.cpus),
            victims=self.layout.victims[self.target.victims],
            victim_tgid=self.target.pid,
            victim_cgroup=self.target.cgroup_id,
            victim_cgroup_level=self.target.cgroup_level,
            csd_callback=self._csd_callback(),
            tick_function=self._tick_function(),
            stacks=self.stacks,
            faults=self.faults and self.backend != "bcc",
            entries=self.entries and self.backend != "bcc",
            compiled=self.backend == "bcc",
            ring_records=self._bounded_ring_records(),
            spool_fd=self.spool_fd,
            drain_cpu=self.house[0] if self.house else -1,
            drain_interval_ns=DRAIN_INTERVAL_NS,
            batch_limit=_BATCH_LIMIT_BYTES if self.keep_batches else 0,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discard()

    def _discard(self) -> None:
        self._hardware.close()
        with contextlib.suppress(AttributeError):  # failed before there was one
            self._hotplug.close()
        with contextlib.suppress(AttributeError):
            self._session.close()

    def _compile(self) -> None:
        """Has BCC make the programs and loads them; what the kernel refuses is left out."""
        unit = bcc.Unit(
            programs=_native.programs(),
            source_ids={kind.name: number for number, kind in self.layout.kinds.items()},
            per_cpu=bcc.per_cpu_symbols(KALLSYMS),
            **self._session.unit(),
        )
        sources = Path(_native.__file__).with_name("bpf")
        compiled = bcc.compile_unit(unit, sources, bcc.find_interpreter())
        self._lost = compiled.lost
        for name, code in compiled.code.items():
            self._session.load_program(name, code)

    def _check_entries(self) -> None:
        """Raises NoisetopError where entries are asked for and the kernel does not tell them."""
        loaded = {program["name"] for program in self._session.programs() if program["loaded"]}
        if self.entries and not loaded.issuperset(_ENTRIES):
            raise NoisetopError(
                "entries cannot be told here (user_exit, with BTF and Linux 5.15): "
                "leave out --entries"
            )

    def _add_tree(self) -> None:
        for pid in system.process_tree(self.target.pid):
            self._session.add_victim(pid)

    def _bounded_ring_records(self) -> int:
        """The wanted size, halved until the rings of all CPUs stay within 256 MiB."""
        records = self.ring_records
        while records * 64 * len(self.target.cpus) > _RINGS_LIMIT_BYTES and records > 1024:
            records //= 2
        return records

    def _csd_callback(self) -> int:
        """What ipi_send_cpu names for calls that csd_queue_cpu tells more about, if it does."""
        return self._read_symbols().address("generic_smp_call_function_single_interrupt")

    def _tick_function(self) -> int:
        """What the tick's timer calls. Kernels up to 6.8 have a function of the newer name too, for
        ticks without precise timers."""
        table = self._read_symbols()
        return table.address("tick_sched_timer") or table.address("tick_nohz_handler")

    def _read_symbols(self) -> SymbolTable:
        if self._symbols is None:
            self._symbols = read_kallsyms()
        return self._symbols

    def _attach(self) -> None:
        """Attaches, and samples what the programs cost: the kernel's BPF statistics cost something
        themselves, so they are off again before the books are opened."""
        stats_fd = self._enable_stats()
        try:
            self._session.attach()
            time.sleep(_SETTLE_S)  # until the interrupts of patching are over
            if stats_fd >= 0:
                self._bpf_ns_per_record = self._sample_cost()
        finally:
            if stats_fd >= 0:
                os.close(stats_fd)
        time.sleep(_SETTLE_S)

    def _sample_cost(self) -> float | None:
        """What the programs take for each record; None where nothing happens."""
        ns, records = self._run_time_and_records()
        time.sleep(_SAMPLE_S)
        all_ns, all_records = self._run_time_and_records()
        if all_records - records >= _SAMPLE_RECORDS:
            return (all_ns - ns) / (all_records - records)
        return all_ns / all_records if all_records else None

    def _run_time_and_records(self) -> tuple[int, int]:
        run_ns = sum(program["run_time_ns"] for program in self._session.programs())
        return run_ns, self._session.counters()["records"]

    def _enable_stats(self) -> int:
        try:
            return self._session.enable_stats()
        except _native.TracerError:  # needs CAP_SYS_ADMIN; without it the cost stays unknown
            return -1

    def open_books(self) -> None:
        """What begins from now on counts; a recording learns the moment."""
        self._before = _Usage.now()
        self.start_ns = self._session.open_books()
        self._misses_before = self._recursion_misses()
        self._hotplug = HotplugWatch(self.target.cpus, self._cpus_changed)
        self._hotplug.open()
        self.hardware_start = self._hardware.read()

    def close_books(self) -> None:
        """Nothing that ends later counts; what ended before is delivered by the next read()."""
        self._hotplug.close()
        self._hardware_end = self._hardware.read()
        self.end_ns = self._session.close_books()

    def _cpus_changed(self, online: frozenset[int], absences: tuple[Absence, ...]) -> None:
        """The kernel lets threads of a CPU that goes run anywhere: ours are sent back to where they
        keep house. A recording learns it at once, as it may be cut short."""
        if house := self.house_now(online):
            housekeeping.bind(house)
        if self.spool_fd >= 0:
            self._session.append(absences_block(self.layout, absences))

    def house_now(self, online: Iterable[int]) -> tuple[int, ...]:
        """The CPUs that keep house now; none when the last of them is offline."""
        return tuple(cpu for cpu in self.house if cpu in online)

    def absences(self, start_ns: int, end_ns: int) -> tuple[Absence, ...]:
        """CPUs that were offline for a part of a period since the books were opened."""
        return self._hotplug.absences(start_ns, end_ns)

    def read_hardware(self) -> Reading:
        """What the machine has admitted to so far, or when the books were closed."""
        return self._hardware_end if self.end_ns else self._hardware.read()

    def read(self) -> Interruptions:
        """What was traced since the last call; all of it once the books are closed."""
        complete_ns = time.monotonic_ns()
        records = np.frombuffer(self._session.read(), self.layout.event)
        return self.reader.read(records, last=bool(self.end_ns), complete_ns=complete_ns)

    @property
    def spool_errno(self) -> int:
        """Why the recording cannot go on; 0: it can."""
        return self._session.counters()["spool_errno"]

    @property
    def event_count(self) -> int:
        """Records delivered so far."""
        counters = self._session.counters()
        return max(counters["batched"], counters["spooled"])

    def losses(self) -> Losses:
        """What was lost since the books were opened."""
        rows = read_books(self._session.books(), self.layout)
        counters = self._session.counters()
        return Losses(
            by_cpu={
                cpu: counts
                for cpu, counts in losses_by_cpu(rows, self.layout).items()
                if cpu in self.target.cpus or any(counts.values())
            },
            unread=counters["lost_batch"],
            unwritten=counters["lost_spool"],
            recursion_misses=self._recursion_misses() - self._misses_before,
        )

    def tick_stops(self) -> dict[int, TickStops]:
        """Attempts to stop the tick since the books were opened, by watched CPU."""
        rows = read_books(self._session.books(), self.layout)
        stops = tick_stops_by_cpu(rows, self.layout)
        return {cpu: stops[cpu] for cpu in self.target.cpus}

    def _recursion_misses(self) -> int:
        return sum(
            program["recursion_misses"]
            for program in self._session.programs()
            if not program["name"].endswith(_TWINS)
        )

    def kernel_stacks(self) -> dict[int, tuple[str, ...]]:
        """Stacks of triggers by their ids, innermost function first."""
        name = self.reader.namer.function_name
        stacks = self._session.stacks()
        return {key: tuple(map(name, addresses)) for key, addresses in stacks.items()}

    def missing(self) -> tuple[str, ...]:
        """What this kernel has no tracepoints for, by their names without what tells the two of a
        pair apart, and what it refused to load, with the reason;
        and what the backend cannot carry."""
        reasons: dict[str, str] = {}
        for program in self._session.programs():
            asked_for = program["tracepoint"] == _SOFTWARE_EVENT or program["name"] in _ENTRIES
            if not program["loaded"] and not asked_for:
                name = _PAIR.sub("", program["tracepoint"])
                refusal = f" ({program['name']} was refused: {program['refusal']})"
                reasons[name] = refusal if program["refusal"] else reasons.get(name, "")
        return (*(name + reason for name, reason in reasons.items()), *self._lost)

    def own_cost(self) -> OwnCost:
        """What the tool used since the books were opened."""
        now = _Usage.now()
        return OwnCost(
            cpu_ns=now.cpu_ns - self._before.cpu_ns,
            wakeups=now.wakeups - self._before.wakeups,
            bpf_ns_per_record=self._bpf_ns_per_record,
            records=self.event_count,
            housekeeping=system.format_cpu_list(self.house_now(system.online_cpus())),
        )
