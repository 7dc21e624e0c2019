"""The kernel side from within: the BPF object, its drain thread, and the active probes.

Times are in ns of CLOCK_MONOTONIC, ticks are those of the CPU's counter (TSC, cntvct). Returned
buffers are copies that belong to the caller. Structs are those of ``bpf/noise.h``; ``layout()``
says where their fields are.
"""

from collections.abc import Sequence
from mmap import mmap
from typing import Any

class TracerError(Exception):
    """A step of a session failed. ``args``: errno, name of the step, what libbpf said (may be "").

    Steps: btf, open, load, map, attach, faults, thread, follow, stats.
    """

class Session:
    """A loaded BPF object and the thread that drains its rings.

    Calls: load_program() for each program where ``compiled``, attach(), start_window(),
    stop_window(), close(). Every method but close() and enable_stats() raises ValueError on a
    closed session. The methods may be called from different threads, but none beside close().
    """

    def __init__(
        self,
        cpus: Sequence[int],
        others: Sequence[int],
        victims: int,
        victim_tgid: int,
        victim_cgroup: int,
        victim_cgroup_level: int,
        csd_callback: int,
        tick_function: int,
        queued_wakeup: int,
        left_out: Sequence[str],
        stacks: bool,
        faults: bool,
        entries: bool,
        compiled: bool,
        ring_records: int,
        spool_fd: int,
        drain_cpu: int,
        drain_interval_ns: int,
        batch_limit: int,
    ) -> None:
        """Opens and loads the object, and starts the drain thread; nothing is attached yet.

        cpus: numbers of the watched CPUs, at least one. others: CPUs from which triggers come.
        victims: a value of ``enum noise_victims``; victim_tgid: pid of the process, or where all
        users' are victims of the kernel thread that is one as well, 0: none; victim_cgroup: inode
        number of a control group; victim_cgroup_level: its depth, 0 for the root.
        csd_callback, tick_function, queued_wakeup: addresses of kernel functions, 0: not known.
        left_out: names of programs that are not loaded.
        stacks: record the kernel stack of whoever sends an interrupt. faults, entries: trace page
        faults, entries into the kernel. compiled: the programs come from load_program(), not from
        the object.
        ring_records: records in the ring of a watched CPU, 64 bytes each, a power of two.
        spool_fd: descriptor of the recording, which stays the caller's and must outlive the
        session; -1: none. drain_cpu: CPU of the drain thread; -1: any of its creator's.
        drain_interval_ns: time between two passes over the rings. batch_limit: bytes kept for
        read(), later events are lost; 0: keep none.

        Raises TracerError, and ValueError for a CPU beyond the limit or a wrong ring size.
        """

    def attach(self) -> None:
        """Attaches all programs; what this kernel lacks is left out. Raises TracerError."""

    def start_window(self) -> int:
        """Starts the measurement window and returns when, in ns. Earlier events do not count."""

    def stop_window(self) -> int:
        """Ends the window and returns when, in ns. Events that end later do not count; those before
        are in the next read(). Ends the drain thread. A second call returns the same."""

    def read(self) -> memoryview:
        """``struct noise_event[]`` since the last call, after a pass over the rings. Those of one
        ring come in the order in which they ended. Empty where ``batch_limit`` is 0. Read-only, no
        copy: memory that the session uses again when nothing looks at it any more."""

    def news(self) -> bytes:
        """``struct noise_event[]`` that went to the recording since the last call, in the order in
        which they came: names of tasks, and of all others those that are the first to name a
        function, a work function or a user stack. Some may come again. Empty without a recording.
        """

    def announce_news(self, eventfd: int, interval_s: float, /) -> None:
        """From now on the drain thread writes to the eventfd after a pass over the rings where
        there are news, at most once in ``interval_s`` seconds. -1: no longer."""

    def open_records(self, until_ns: int, /) -> tuple[bytes, bytes]:
        """``struct noise_event[]``, two of them. Threads that delay a victim, waits and sleep that
        have begun, as if they ended at a moment in ns that is past, or, where that is 0, when each
        CPU was looked at. And the interrupts that those threads are in. Raises TracerError."""

    def cpu_counters(self) -> bytes:
        """``struct noise_cpu_counters[]``: one per CPU, the watched ones first. Counts since the
        window started, up to now or to its end."""

    def counters(self) -> dict[str, int]:
        """Counts of the drain thread since the session was opened.

        records: written into all rings. batched, spooled: events handed on to read() and to the
        recording. lost_batch, lost_spool: events dropped on the way there. noise_ns: of the events
        handed on to the recording, net times of those that took time of somebody. spool_errno:
        first error of the recording, 0: none.
        """

    def programs(self) -> list[dict[str, Any]]:
        """The programs of the object, in its order.

        name, tracepoint: str; tracepoint is the section where there is no tracepoint. loaded: bool.
        wanted: bool, whether the session was asked for it. refusal: why it was refused, "": it was
        not. run_count, run_time_ns: int, of all CPUs, only counted while enable_stats() is on.
        recursion_misses: int, hits that the kernel dropped.
        """

    def stacks(self) -> dict[int, list[int]]:
        """Kernel stacks so far: addresses by the id that triggers carry, innermost first, at most
        ``NOISE_STACK_DEPTH`` of them."""

    def user_stack(self, id: int) -> list[int]:
        """Addresses of a user stack by the id that triggers carry, innermost first; empty: there
        is none."""

    def write_head(self, head: bytes, /) -> None:
        """Begins the recording, before its window. An error of the file is in
        ``counters()["spool_errno"]``, and nothing more is written then."""

    def append(self, kind: int, payload: bytes, /) -> None:
        """Writes a block to the recording, between those of the drain thread, with its number and
        its checksums. kind: a value of ``enum noise_block_kind``; payload: a multiple of 8 bytes,
        else ValueError. Errors of the file as in write_head()."""

    def translation_unit(self) -> dict[str, Any]:
        """What programs compiled for this session have to know.

        knobs: values of constants by name, or (offset in the constants, bytes of an element) of
        arrays. maps: descriptors by name; constants: the descriptor of the map that holds the
        constants. The descriptors belong to the session and are valid until close().
        """

    def load_program(self, name: str, code: bytes, /) -> None:
        """Loads BPF instructions, 8 bytes each, as the program of this name. What the verifier
        refuses is listed by programs(). Raises TracerError, also where ``compiled`` is false."""

    def add_victim(self, number: int, /) -> None:
        """Adds a process to the victims, where these are ``NOISE_VICTIMS_TREE`` or ``_PROCESSES``,
        or a thread, where they are ``_THREADS``. Raises TracerError where there is no room."""

    def enable_stats(self) -> int:
        """Has the kernel measure the run time of all BPF programs of the machine, until the
        returned descriptor, which is the caller's, is closed. Raises TracerError."""

    def close(self) -> None:
        """Detaches and unloads everything. May be called again."""

def layout() -> dict[str, Any]:
    """The description of the shared records, from the BTF of the embedded object.

    version, block_magic: int. structs: by name, {size, members}; size is in bytes, and a member is
    (name, offset, kind, struct, size, count): offset and size in bytes, ``count`` elements of
    ``size``, and kind is "unsigned", "bytes" (text) or "struct" (``struct`` names its type).
    enums: by name, the values by name. sources: bytes, ``struct noise_source[]``.
    Raises OSError where libbpf cannot parse the object.
    """

def host_tasks() -> list[tuple[int, int, int]]:
    """Of each task of this PID namespace: its number here, the kernel's own number, and the level
    of its control group (v2) below the kernel's root. Raises OSError where the kernel has no BTF,
    or no permission is given."""

def programs() -> dict[str, str]:
    """The section of each program of the embedded object, by its name. Raises OSError."""

SPIN_HEAD_BYTES: int
"""Bytes of a spinning thread's memory before the room for gaps."""
SPIN_GAP_BYTES: int
"""Bytes of each gap in that room."""

SpinThread = tuple[mmap, int, bool, str, int, int, int, int, int]
"""memory, cpu, fenced, name, policy, nice, priority, runtime_ns, period_ns.

memory: shared, zeroed, with room for at least one gap. cpu: where the thread spins, -1: anywhere.
fenced: whether each reading of the counter waits for the instructions before it. name: of the
thread, at most 15 bytes. policy: SCHED_*, below 0 leaves the scheduling as it is; nice, priority
and the two times belong to the policies that take them.
"""

DISTURB_TIMER: int
DISTURB_SLEEP: int
DISTURB_TIMEOUT: int
DISTURB_CALL: int
DISTURB_WAKE: int
DISTURB_FAULT: int
"""How a spinning thread is disturbed: ``enum disturb`` in noisetop/native/probe/disturb.h."""

def spin_start(
    threads: Sequence[SpinThread],
    group: int,
    kinds: int,
    sender_cpu: int,
    send_ns: int,
    timer_ns: int,
    /,
) -> int:
    """Forks a process that spins as noisetop/native/probe/spin.h describes, and returns its pid.

    group: the process group that it joins, 0: a new one. kinds: how the first thread, which must be
    bound, is disturbed between slices of its loop, a set of DISTURB_*; sender_cpu: where the calls
    and wake-ups among them come from, one or the other every send_ns; timer_ns: when, in a slice,
    the timer expires at the earliest. The process is the caller's to wait for;
    it dies with the thread that started it. Errors within it are in spin_state(). Raises OSError,
    and ValueError for no thread, too little memory or a CPU beyond the limit.
    """

def spin_set(
    memory: mmap, begin: int, end: int, threshold: int, longer: int, busy: int, sleep_ns: int, /
) -> None:
    """Starts the loop of one thread. All times but ``sleep_ns`` are in ticks.

    begin, end: moments on the counter. threshold: shortest distance of two readings that is a gap.
    longer: the last quarter of the room is kept for gaps of at least this length. busy: spin so
    long, then sleep ``sleep_ns``, or be disturbed; 0: never pause. Raises ValueError for too little
    memory.
    """

def spin_stop(memory: mmap, /) -> None:
    """Ends the loop of one thread at once. Raises ValueError for too little memory."""

def spin_state(memory: mmap, /) -> dict[str, Any]:
    """What a thread reports; counts and times are final in state "done".

    state: "starting", "ready", "spinning", "done" or "failed". error, step: errno and the step that
    failed. tid. threshold_ticks. loop_ticks: what one loop takes. resolution_ticks: what every
    reading is a multiple of. began, ended: clock_pair() around the loop. first_ticks, last_ticks:
    first and last reading. active_ticks: without the sleeps. loops, sleeps, gap_count: counts.
    unstored_count, unstored_ticks: gaps that found no room. voluntary_switches,
    involuntary_switches, minor_faults, major_faults, cpu_ns, run_delay_ns: of the thread, during
    the loop. Raises ValueError for too little memory.
    """

def spin_gaps(memory: mmap, /) -> bytes:
    """The stored gaps: pairs of 64-bit readings, start and end in ticks, in the order of time. Only
    whole in state "done". Raises ValueError for too little memory."""

def clock_pair(tries: int, /) -> tuple[int, int, int]:
    """One moment on both clocks: ticks before, ns, ticks after; the closest of so many tries, at
    least one. Raises ValueError for none."""

def numa_measure(cpu: int, node: int, array_bytes: int, repeats: int, /) -> dict[str, Any]:
    """Times of memory on a node, seen from a CPU, on a thread of its own, without the GIL.

    node: -1 leaves it to the kernel. array_bytes: of each of three arrays, rounded down to pages,
    at least one page. repeats: 1 to 1000. Returns array_bytes: int; copy, scale, add, triad:
    list[int], ns of each pass over the arrays; access: list[float], ns of one dependent load.
    Raises OSError (errno, what was wrong: CPU, memory, node or thread), and ValueError for an
    argument out of range.
    """

def permitted_capabilities() -> int:
    """Capabilities that the calling thread may use, a bit for each by its number in
    linux/capability.h. Raises OSError."""

def set_capabilities(effective: int, permitted: int, /) -> None:
    """Sets those of the calling thread; none is inherited by programs that it runs. Raises OSError
    where it does not have one of them."""
