"""Notices CPUs that go offline or come back while it is open.

The kernel sends uevents, which a thread waits for; it costs nothing as long as there are none. A
change without a uevent (CPUs taken offline for a suspend, dropped events) shows in the list of
online CPUs.
"""

from __future__ import annotations

import os
import re
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from noisetop.counters.offline_cpus import OfflineInterval, OfflineLog
from noisetop.machine.system import ROOT, online_cpus

_NETLINK_KOBJECT_UEVENT = 15  # include/uapi/linux/netlink.h
_FROM_KERNEL = 1  # multicast group of lib/kobject_uevent.c
_MESSAGE_BYTES = 8192
_UEVENT = re.compile(rb"(online|offline)@/devices/system/cpu/cpu([0-9]{1,5})\0")


@dataclass(slots=True)
class HotplugWatch:
    """Owns the thread that waits for the kernel's uevents."""

    watched: tuple[int, ...]
    on_change: Callable[[frozenset[int], tuple[OfflineInterval, ...]], None]
    """Called with the CPUs that are online now and all intervals so far, one call at a time."""
    root: Path = ROOT
    _online: set[int] = field(default_factory=set)
    _log: OfflineLog = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _socket: socket.socket | None = None
    _stop_fd: int = -1
    _thread: threading.Thread | None = None
    _closed: bool = False

    def open(self) -> None:
        """From now on changes are noticed. A watched CPU may be offline already."""
        self._log = OfflineLog(frozenset(self.watched))
        self._listen()  # before the first look at the list, so that nothing falls between
        self._online = set(online_cpus(self.root))
        for cpu in sorted(set(self.watched) - self._online):
            self._log.went(cpu, None)
        if self._socket is not None:
            self._stop_fd = os.eventfd(0, os.EFD_CLOEXEC)
            self._thread = threading.Thread(target=self._wait, name="hotplug", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Takes a last look; what changes later is not noticed."""
        if self._closed:
            return
        self._look()
        self._closed = True
        if self._thread is not None:
            os.eventfd_write(self._stop_fd, 1)
            self._thread.join()
            os.close(self._stop_fd)
        if self._socket is not None:
            self._socket.close()

    def intervals(self) -> tuple[OfflineInterval, ...]:
        """What was noticed up to now."""
        if not self._closed:
            self._look()
        with self._lock:
            return self._log.intervals()

    def _listen(self) -> None:
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        try:
            self._socket = socket.socket(socket.AF_NETLINK, kind, _NETLINK_KOBJECT_UEVENT)
            self._socket.bind((0, _FROM_KERNEL))
        except OSError:  # a sandbox without it: the list of online CPUs has to do
            self._socket = None

    def _wait(self) -> None:
        assert self._socket is not None
        poll = select.poll()
        for fd in (self._socket.fileno(), self._stop_fd):
            poll.register(fd, select.POLLIN)
        while all(fd != self._stop_fd for fd, _ in poll.poll()):
            self._take_messages(self._socket)

    def _take_messages(self, source: socket.socket) -> None:
        while True:
            try:
                message = source.recv(_MESSAGE_BYTES)
            except BlockingIOError:
                return
            except OSError:  # ENOBUFS: more than the buffer took
                self._look()
                continue
            if match := _UEVENT.match(message):
                self._note(int(match[2]), online=match[1] == b"online")

    def _note(self, cpu: int, *, online: bool) -> None:
        now_ns = time.monotonic_ns()
        with self._lock:
            if online == (cpu in self._online):
                return  # known from the other way
            if online:
                self._online.add(cpu)
                self._log.came(cpu, now_ns)
            else:
                self._online.discard(cpu)
                self._log.went(cpu, now_ns)
            self.on_change(frozenset(self._online), self._log.intervals())

    def _look(self) -> None:
        """Compares with the list of online CPUs."""
        listed = set(online_cpus(self.root))
        for cpu in sorted(listed ^ self._online):
            self._note(cpu, online=cpu in listed)
