"""Runs the kernel side: what to watch, and from which CPUs. The only importer of _native."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from noisetop import _native
from noisetop.counters.calibration import NONE, Calibration
from noisetop.counters.cpu_counters import counts_by_cpu, read_cpu_counters
from noisetop.counters.isolation_changes import ISOLATION, Changes
from noisetop.counters.left_out import LeftOut
from noisetop.counters.offline_cpus import OFFLINE, OfflineInterval
from noisetop.counters.other_listeners import NOBODY, OtherListeners, sharing
from noisetop.counters.period import CountersWatch, PeriodCounters
from noisetop.errors import NoisetopError
from noisetop.events.decoder import RecordReader
from noisetop.events.interruption import Interruptions
from noisetop.events.layout import Events, Layout
from noisetop.events.records import Pieces, split_in_blocks
from noisetop.events.source_names import Names
from noisetop.events.symbols import KALLSYMS, SymbolTable, read_kallsyms
from noisetop.events.task_directory import TaskDirectory
from noisetop.events.trigger import UserStacks
from noisetop.events.victim_time import ANY_TASK
from noisetop.machine import affinity, system
from noisetop.machine.files import Files
from noisetop.machine.proc_interrupts import softirq_names
from noisetop.machine.program_runs import mean_since, runs_of
from noisetop.machine.tracepoint_users import tracepoint_users
from noisetop.recording.raw_file import figures_block
from noisetop.tables.rows import joined
from noisetop.tracing import bcc
from noisetop.tracing.backend import choose
from noisetop.tracing.cpu_hotplug import HotplugWatch
from noisetop.tracing.host_numbers import HostNumbers
from noisetop.tracing.interrupt_vectors import vectors_not_taken
from noisetop.tracing.isolation_watch import IsolationWatch
from noisetop.tracing.names_writer import INTERVAL_S, NamesWriter
from noisetop.tracing.privileges import explain
from noisetop.tracing.process_watch import ProcessWatch
from noisetop.tracing.program_sets import COMPLETE, ProgramSet
from noisetop.tracing.target import Target
from noisetop.tracing.user_stacks import UserStackWatch

RING_RECORDS = 1 << 16
"""Records per CPU: 4 MiB, 1.6 million a second between two visits of the drain thread."""
DRAIN_INTERVAL_NS = 40_000_000
_RINGS_LIMIT_BYTES = 256 << 20
BATCH_BYTES = 256 << 20
_SETTLE_S = 0.01
_LIVE_PATIENCE_S = 2
_STACKS_INTERVAL_S = 0.05
"""What a user stack means is known only while its process lives."""
_SAMPLE_S = 0.2
_SAMPLE_RECORDS = 50
"""Where there are fewer in that time, those of attaching count as well."""
_SAMPLE_RUNS = 50
"""Of another listener's programs: with fewer, what they take is not told."""
_PAIR = re.compile(r"_entry$|_exit$|(?<=_execute)_(start|end)$")
_ENTRIES = ("entry_begin", "entry_end")
_NO_NAMES = "names of kernel functions (need CAP_SYSLOG)"
_TWINS = ("_twin_1", "_twin_2")  # they count what both miss: bpf/timer.bpf.c


def program_names() -> tuple[str, ...]:
    """Of all programs that there are, whatever this kernel takes. Raises OSError."""
    return tuple(_native.programs())


@dataclass(slots=True)
class Tracer:
    """A context manager: loads and attaches on entry, leaves nothing in the kernel on exit."""

    target: Target
    spool_fd: int = -1
    """Where the drain thread writes a recording; -1: nowhere."""
    keep_batches: bool = True
    """Whether read() is going to be called."""
    ring_records: int = RING_RECORDS
    batch_bytes: int = BATCH_BYTES
    """Records that wait for read(), at most; what comes then is lost, and counted."""
    stacks: bool = False
    """Whether to take the stacks of whoever sends an interrupt or arms a timer, and of victims that
    lose their CPU for long."""
    faults: bool = False
    """Whether to time the page faults of the victims."""
    entries: bool = False
    """Whether to time entries into the kernel, which the kernel tells on CPUs of ``nohz_full=``."""
    programs: ProgramSet = COMPLETE
    """What is attached."""
    housekeeping: tuple[int, ...] = ()
    """CPUs for the tool's own threads; empty: none left."""
    backend: str = field(default_factory=choose)
    """``libbpf`` or ``bcc``, as choose() says."""
    layout: Layout = field(init=False)
    reader: RecordReader = field(init=False)
    names: Names = field(init=False)
    bpf_ns_per_record: float | None = None
    """Run time of all programs for each record, sampled before the window; None: not measured."""
    symbols: SymbolTable | None = None
    """Names of kernel functions; None: they are read when needed."""
    samples_cost: bool = True
    """Whether to find out what its programs cost, which takes 0.3 s."""
    calibration: Calibration = NONE
    """What entries cost on this machine; known before the window starts."""
    counters: CountersWatch = field(default_factory=CountersWatch)
    """Side figures; read from the start of the window to its end."""
    host_numbers: HostNumbers = field(init=False)
    """What the kernel calls the tasks of our PID namespace."""
    processes: ProcessWatch = field(default_factory=ProcessWatch)
    """Told the names by read(), or while a recording is written by who does that: both know the
    same."""
    user_stacks: UserStackWatch | None = None
    """With ``stacks``: told like ``processes``."""
    other_listeners: OtherListeners = NOBODY
    """Who else listened to the same tracepoints when the programs were attached."""
    on_records: Callable[[Pieces, int], None] | None = None
    """Called by read() with the records as the kernel side wrote them, and with the moment up to
    which nothing is missing. Meanwhile read() delivers what read_records() returns as well."""
    before_stop: Callable[[], None] | None = None
    """Called by stop_window() while the window still goes on."""
    start_ns: int = 0
    end_ns: int = 0
    _session: _native.Session = field(init=False)
    _hotplug: HotplugWatch = field(init=False)
    _isolation: IsolationWatch = field(init=False)
    _names_writer: NamesWriter | None = None
    complete_ns: int = 0
    """Up to when the last read() was complete."""
    _ahead: list[Events] = field(default_factory=list)
    """Read by read_records(), not by read() yet."""
    _opened: tuple[Events, Events] = field(init=False)
    """What went on when read() began, where settle() was to come next."""
    _lost: tuple[str, ...] = ()
    _not_taken: frozenset[str] = frozenset()

    def __enter__(self) -> Self:
        if self.housekeeping:
            affinity.bind(self.housekeeping)
        self.layout = Layout.from_native(_native.layout())
        self.names = Names(
            softirq_names(),
            system.irq_actions(),
            self._read_symbols,
            self.left_out.reduced,
        )
        self.host_numbers = HostNumbers(has_btf=self.backend != "bcc")
        self.reader = RecordReader(self.layout, self.names, own_pid=self.own_pid)
        self._not_taken = vectors_not_taken()
        try:
            self._session = self._open_session()
            if self.stacks:
                self.user_stacks = UserStackWatch(self._session.user_stack)
            if self.backend == "bcc":
                self._compile()
            self._spare()
            self._check_entries()
            self._add_victims()
            self.other_listeners = self._find_listeners()
            self.counters.open(self)
            self._attach()
        except _native.TracerError as error:
            self._discard()
            raise explain(error.args[0], error.args[1], error.args[2]) from None
        except BaseException:
            self._discard()
            raise
        return self

    def _open_session(self) -> _native.Session:
        process = self.target.pid or self.target.given_victim
        return _native.Session(
            cpus=self.target.cpus,
            others=tuple(c for c in system.present_cpus() if c not in self.target.cpus),
            victims=self.layout.victims[self.target.victims],
            victim_tgid=self.host_numbers.task(process) if process else 0,
            victim_cgroup=self.target.cgroup_id,
            victim_cgroup_level=self._cgroup_level(),
            csd_callback=self._csd_callback(),
            tick_function=self._tick_function(),
            queued_wakeup=self._read_symbols().address("sched_ttwu_pending"),
            left_out=self.programs.programs,
            stacks=self.stacks,
            faults=self.faults and self.backend != "bcc",
            entries=self.entries and self.backend != "bcc",
            compiled=self.backend == "bcc",
            ring_records=self._bounded_ring_records(),
            spool_fd=self.spool_fd,
            drain_cpu=self.housekeeping[0] if self.housekeeping else -1,
            drain_interval_ns=DRAIN_INTERVAL_NS,
            batch_limit=self.batch_bytes if self.keep_batches else 0,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._discard()

    def _discard(self) -> None:
        self.counters.close()
        if self.user_stacks is not None:
            self.user_stacks.close()
        with contextlib.suppress(AttributeError):  # failed before there was one
            self._isolation.close()
        with contextlib.suppress(AttributeError):
            self._hotplug.close()
        if self._names_writer is not None:
            self._names_writer.close()
        with contextlib.suppress(AttributeError):
            self._session.close()

    def _compile(self) -> None:
        """Has BCC make the programs and loads them; what the kernel refuses is left out."""
        unit = bcc.TranslationUnit(
            programs=self._programs(),
            source_ids={kind.name: number for number, kind in self.layout.kinds.items()},
            per_cpu=bcc.per_cpu_symbols(KALLSYMS),
            **self._session.translation_unit(),
        )
        sources = Path(_native.__file__).with_name("bpf")
        compiled = bcc.compile_programs(unit, sources, bcc.find_interpreter())
        self._lost = compiled.lost
        for name, code in compiled.code.items():
            self._session.load_program(name, code)

    def _programs(self) -> dict[str, str]:
        """The section of each program that is not left out, by its name."""
        left_out, programs = self.programs.programs, _native.programs().items()
        return {name: where for name, where in programs if name not in left_out}

    def _spare(self) -> None:
        """What is left out is less where this kernel tells as much with fewer programs."""
        spared = {program["name"] for program in self._session.programs() if program["spared"]}
        self.programs = self.programs.sparing(spared)

    def _check_entries(self) -> None:
        """Raises NoisetopError where entries are asked for and the kernel does not tell them."""
        loaded = {program["name"] for program in self._session.programs() if program["loaded"]}
        if self.entries and not loaded.issuperset(_ENTRIES):
            raise NoisetopError(
                "entries cannot be told here (user_exit, with BTF and Linux 5.15): "
                "leave out --entries"
            )

    def _add_victims(self) -> None:
        """Those that the kernel side looks up; a single process it compares with."""
        target = self.target
        numbers = target.tids or target.pids
        if target.follow:
            numbers = tuple(one for pid in target.processes for one in system.process_tree(pid))
        for number in numbers:
            self._session.add_victim(self.host_numbers.task(number))

    def _find_listeners(self) -> OtherListeners:
        """Reads /proc and tracefs once, from where this thread is bound to."""
        mine = {one["tracepoint"] for one in self._session.programs() if one["loaded"]}
        users, hidden = tracepoint_users(os.getpid(), Files())
        return sharing(users, hidden, mine)

    def _cgroup_level(self) -> int:
        target = self.target
        return self.host_numbers.cgroup_level(target.cgroup_level) if target.cgroup_id else 0

    @property
    def left_out(self) -> LeftOut:
        """What is not traced because the user asked for less."""
        return self.programs.left_out

    @property
    def own_pid(self) -> int:
        """This process, as the kernel numbers it; 0 where the kernel does not tell."""
        try:
            return self.host_numbers.task(os.getpid())
        except NoisetopError:  # in a container: only a target needs the number
            return 0

    @property
    def given_victim(self) -> str:
        """The process that the user says is the victim of the watched CPUs, as the kernel numbers
        it; empty: none. Raises NoisetopError when it is gone."""
        given = self.target.given_victim
        return str(self.host_numbers.task(given)) if given else ""

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
        if self.symbols is None:
            self.symbols = read_kallsyms()
        return self.symbols

    def _attach(self) -> None:
        """Attaches, and samples what the programs cost: the kernel's BPF statistics cost something
        themselves, so they are off again before the window starts."""
        if not self.samples_cost:
            self._session.attach()
            return
        stats_fd = self._enable_stats()
        try:
            self._session.attach()
            time.sleep(_SETTLE_S)  # until the interrupts of patching are over
            if stats_fd >= 0:
                others = runs_of(self.other_listeners.pids, Files())
                self.bpf_ns_per_record = self._sample_cost()
                since = mean_since(others, _SAMPLE_RUNS, Files())
                self.other_listeners = replace(self.other_listeners, run_ns=since)
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

    @contextlib.contextmanager
    def statistics(self) -> Iterator[None]:
        """Has the kernel count what program_runs() tells, during the block. That makes each run of
        every BPF program dearer. Raises NoisetopError where it may not be asked for that."""
        try:
            stats_fd = self._session.enable_stats()
        except _native.TracerError as error:
            raise explain(error.args[0], error.args[1], error.args[2]) from None
        try:
            yield
        finally:
            os.close(stats_fd)

    def program_runs(self) -> dict[str, tuple[int, int]]:
        """Of each program that is loaded, by name: how often it ran on all CPUs, and for how many
        ns, while there were statistics()."""
        return {
            program["name"]: (program["run_count"], program["run_time_ns"])
            for program in self._session.programs()
            if program["loaded"]
        }

    def _enable_stats(self) -> int:
        try:
            return self._session.enable_stats()
        except _native.TracerError:  # needs CAP_SYS_ADMIN; without it the cost stays unknown
            return -1

    def start_window(self, write_names: Callable[[], None] | None = None) -> None:
        """What begins from now on counts; a recording learns the moment, and as it grows the names
        that ``write_names`` adds."""
        self._isolation = IsolationWatch(frozenset(self.target.cpus), self._isolation_changed)
        self._isolation.open()
        self.start_ns = self._session.start_window()
        self.reader.restart(self.start_ns, follows=self.target.victims != ANY_TASK)
        self._hotplug = HotplugWatch(self.target.cpus, self._cpus_changed)
        self._hotplug.open()
        self.counters.start()
        if write_names is not None:
            interval_s = _STACKS_INTERVAL_S if self.stacks else INTERVAL_S
            self._names_writer = NamesWriter(write_names, self._session.announce_news, interval_s)
            self._names_writer.start()

    def stop_window(self) -> None:
        """Nothing that ends later counts; what ended before is delivered by the next read()."""
        if self.before_stop is not None:
            self.before_stop()
        self._hotplug.close()
        self._isolation.close()
        if self._names_writer is not None:
            self._names_writer.close()
        self.counters.about_to_stop()
        self.end_ns = self._session.stop_window()
        self.counters.stop()
        if self._names_writer is not None:
            self._names_writer.write_last()

    def _cpus_changed(self, online: frozenset[int], intervals: tuple[OfflineInterval, ...]) -> None:
        """The kernel lets threads of a CPU that goes offline run anywhere: ours are bound again to
        the housekeeping CPUs. A recording gets the intervals at once, as it may be cut short."""
        if housekeeping := self.housekeeping_now(online):
            affinity.bind(housekeeping)
        if self.spool_fd >= 0:
            self._session.append(*figures_block(self.layout, OFFLINE, intervals))

    def _isolation_changed(self, changes: Changes) -> None:
        if self.spool_fd >= 0:
            self._session.append(*figures_block(self.layout, ISOLATION, changes))

    def housekeeping_now(self, online: Iterable[int]) -> tuple[int, ...]:
        """The housekeeping CPUs among some; empty when none of them is left."""
        return tuple(cpu for cpu in self.housekeeping if cpu in online)

    def housekeeping_online(self) -> tuple[int, ...]:
        """The housekeeping CPUs that are online now."""
        return self.housekeeping_now(system.online_cpus())

    def offline_intervals(self) -> tuple[OfflineInterval, ...]:
        """When CPUs were offline since the window started."""
        return self._hotplug.intervals()

    def isolation_changes(self) -> Changes:
        """What changed of the isolation of watched CPUs since the window started."""
        return self._isolation.changes()

    def window_counters(self) -> PeriodCounters:
        """The side figures since the window started, up to now or to its end."""
        watch = self.counters
        end_ns = self.end_ns or time.monotonic_ns()
        return watch.between(watch.at_start, watch.read(), self.start_ns, end_ns)

    @property
    def cpus(self) -> tuple[int, ...]:
        """The watched CPUs."""
        return self.target.cpus

    def read(self, *, settles: bool = False) -> Interruptions:
        """What was traced since the last call; all of it once the window has ended. ``settles``:
        settle() comes next, unless it has ended."""
        self.complete_ns = complete_ns = time.monotonic_ns()
        if settles and not self.end_ns:
            # Before the rings are read: what ends meanwhile would be in neither.
            opened, above = self._session.open_records(0)
            event = self.layout.event
            self._opened = np.frombuffer(opened, event), np.frombuffer(above, event)
        fresh = np.frombuffer(self._session.read(), self.layout.event)
        records = joined([*self._ahead, fresh])
        self._ahead.clear()
        if self.on_records is not None:
            self.on_records(split_in_blocks(self.layout, fresh), complete_ns)
        batch = self.reader.take(records, last=bool(self.end_ns), complete_ns=complete_ns)
        table = self.reader.join_triggers(batch, settles=settles)
        if self.layout.task_name is not None and self._names_writer is None:
            names = batch.names.view(self.layout.task_name)
            self.processes.note(names)
            self.processes.news()
            if self.user_stacks is not None:
                self.user_stacks.note(names, batch.triggers.view(self.layout.trigger))
        return table

    def read_records(self) -> Pieces:
        """What was traced since the last call, as the kernel side wrote it, for who decodes it
        later; in the place of read()."""
        records = np.frombuffer(self._session.read(), self.layout.event)
        kinds = split_in_blocks(self.layout, records)
        if self.on_records is not None:
            self._ahead.append(records)
            return kinds
        if self.layout.task_name is not None:
            none = np.empty(0, self.layout.event)
            names = joined([none, *kinds.names]).view(self.layout.task_name)
            self.processes.note(names)
            self.processes.news()
            if self.user_stacks is not None:
                triggers = joined([none, *kinds.triggers])
                self.user_stacks.note(names, triggers.view(self.layout.trigger))
        return kinds

    def open_records(self) -> tuple[int, Events]:
        """A moment (CLOCK_MONOTONIC, ns), and records of what goes on then, as if it ended."""
        now_ns = time.monotonic_ns()
        opened, _ = self._session.open_records(now_ns)
        return now_ns, np.frombuffer(opened, self.layout.event)

    @property
    def directory(self) -> TaskDirectory:
        """Who the tasks are that read() has met so far; grows."""
        return TaskDirectory(
            self.reader.tasks, self.reader.task_names.infos, self.processes.details
        )

    def settle(self) -> tuple[int, Interruptions, Interruptions]:
        """After a read() that was told so: up to when that was complete, the threads that went on
        then, and rows for what nothing accounts for."""
        return self.complete_ns, *self.reader.settle(*self._opened, self.complete_ns)

    def write_head(self, head: bytes) -> None:
        """Begins the recording. Raises OSError when the file takes no more."""
        self._session.write_head(head)
        self._check_spool()

    def append(self, kind: int, payload: bytes) -> None:
        """Writes a block to the recording, between those of the drain thread: all or nothing.

        Raises OSError when the file takes no more.
        """
        self._session.append(kind, payload)
        self._check_spool()

    def news(self) -> Iterable[Events]:
        """Of the events that went to the recording since the last call those that name something
        for the first time."""
        if news := self._session.news():
            yield np.frombuffer(news, self.layout.event)

    def _check_spool(self) -> None:
        if self.spool_errno:
            raise OSError(self.spool_errno, os.strerror(self.spool_errno))

    @property
    def spool_errno(self) -> int:
        """Why the recording cannot go on; 0: it can."""
        return self._session.counters()["spool_errno"]

    @property
    def noise_ns(self) -> int:
        """Noise on all watched CPUs so far, without what is unattributed; of a recording only."""
        return self._session.counters()["noise_ns"]

    @property
    def event_count(self) -> int:
        """Records delivered so far."""
        counters = self._session.counters()
        return max(counters["batched"], counters["spooled"])

    def cpu_counters(self, field: str, enum: str) -> dict[int, dict[str, int]]:
        """Counts of the kernel side since the window started: noisetop.counters.section."""
        rows = read_cpu_counters(self._session.cpu_counters(), self.layout)
        return counts_by_cpu(rows, self.layout, field, enum)

    def totals(self) -> Mapping[str, int]:
        """Totals of the drain thread, as the native session counts them."""
        return self._session.counters()

    def recursion_misses(self) -> int:
        """Hits that the kernel skipped since the programs were attached."""
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

    def stacks_so_far(self) -> tuple[dict[int, tuple[str, ...]], UserStacks]:
        """Those of the kernel, and those of programs, for a view that does not wait for long."""
        of_programs = self.user_stacks.named(_LIVE_PATIENCE_S) if self.user_stacks else {}
        return self.kernel_stacks(), of_programs

    def unavailable(self) -> tuple[str, ...]:
        """What this kernel has no tracepoints for, by their names without what tells the two of a
        pair apart, and what it refused to load, with the reason; what the backend cannot carry;
        and names that it hides."""
        reasons: dict[str, str] = {}
        for program in self._session.programs():
            name = _PAIR.sub("", program["tracepoint"])
            if program["wanted"] and not (program["loaded"] or name in self._not_taken):
                refusal = f" ({program['name']} was refused: {program['refusal']})"
                reasons[name] = refusal if program["refusal"] else reasons.get(name, "")
        hidden = () if self._read_symbols() else (_NO_NAMES,)
        return (*(name + reason for name, reason in reasons.items()), *self._lost, *hidden)
