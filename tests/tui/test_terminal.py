"""However the dashboard ends, the terminal is as it was before and the process is gone."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest

from tests.tui import terminal_child

# Python 3.12 and later warn where other threads may hold a lock; the child asks for none of theirs.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

ROOT = Path(__file__).parents[2]
RESTORED = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?7h")
DRAWN = b"36 disk"
LIMIT_S = 30


class Forked(ForkProcess):
    """As far as these tests go, like subprocess.Popen."""

    def __init__(self, target: Callable[..., None], args: tuple[object, ...]) -> None:
        super().__init__(target=target, args=args)
        self.start()

    def send_signal(self, number: int) -> None:
        assert self.pid
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self, timeout: float | None = None) -> int | None:
        self.join(timeout)
        return self.exitcode

    @property
    def returncode(self) -> int | None:
        return self.exitcode


class Terminal:
    """A pseudo-terminal with the dashboard on it."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.master, self.slave = os.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.log = tmp_path / "log"
        self.seen = b""
        self.child: Forked | subprocess.Popen[bytes] | None = None
        self._monkeypatch = monkeypatch

    def start(self, case: str, stdin: int | None = None, stderr: int | None = None) -> Forked:
        """In a process that has imported the program already: that takes most of a start."""
        streams = [self.slave if one is None else one for one in (stdin, None, stderr)]
        self.child = Forked(self._run, (case, streams, {**os.environ, "TERM": "xterm-256color"}))
        return self.child

    def _run(self, case: str, streams: list[int], environment: dict[str, str]) -> None:
        self._monkeypatch.undo()
        terminal_child.become_program(streams, environment)
        os._exit(terminal_child.main(case, str(self.log)))

    def execute(
        self,
        case: str,
        **environment: str,
    ) -> subprocess.Popen[bytes]:
        """As a shell does."""
        self.child = subprocess.Popen(
            [sys.executable, "-m", "tests.tui.terminal_child", case, str(self.log)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )
        return self.child

    def read_until(self, *texts: bytes) -> None:
        end = time.monotonic() + LIMIT_S
        while not all(text in self.seen for text in texts):
            left = end - time.monotonic()
            assert left > 0, self.seen[-500:]
            if select.select([self.master], [], [], left)[0]:
                self.seen += os.read(self.master, 65536)

    def hang_up(self) -> None:
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def close(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()
        for fd in (self.master, self.slave):
            if fd >= 0:
                os.close(fd)

    def outcome(self, status: int) -> str:
        assert self.child
        assert self.child.wait(LIMIT_S) == status
        return self.log.read_text().splitlines()[0]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path, monkeypatch)
    yield terminal
    terminal.close()


def assert_sane(terminal: Terminal) -> None:
    terminal.read_until(*RESTORED)
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert b"Traceback" not in terminal.seen


@pytest.mark.parametrize("key", [b"q", b"\x03"])
def test_quit(terminal: Terminal, key: bytes) -> None:
    terminal.execute("")
    terminal.read_until(DRAWN)
    os.write(terminal.master, key)
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_end_it_cleanly(terminal: Terminal, number: signal.Signals) -> None:
    child = terminal.start("")
    terminal.read_until(DRAWN)
    child.send_signal(number)
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)
    assert "SIG_DFL" in terminal.log.read_text()  # the handlers are those of before


def test_a_signal_before_there_was_a_view_ends_it(terminal: Terminal) -> None:
    terminal.start("interrupted")
    assert terminal.outcome(0) == "returned"
    assert termios.tcgetattr(terminal.slave) == terminal.before


def test_signals_that_follow_at_once_mean_the_same(terminal: Terminal) -> None:
    child = terminal.start("caught")
    terminal.read_until(DRAWN)
    while child.poll() is None:
        child.send_signal(signal.SIGTERM)
        if select.select([terminal.master], [], [], 0.001)[0]:
            terminal.seen += os.read(terminal.master, 65536)
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)


def test_a_terminal_that_takes_no_output_is_restored_by_a_later_signal(terminal: Terminal) -> None:
    child = terminal.start("")
    terminal.read_until(DRAWN)
    termios.tcflow(terminal.slave, termios.TCOOFF)
    end = time.monotonic() + LIMIT_S
    while child.poll() is None:
        assert time.monotonic() < end
        child.send_signal(signal.SIGTERM)
        time.sleep(0.1)
    assert child.returncode == -signal.SIGTERM
    assert termios.tcgetattr(terminal.slave) == terminal.before


@pytest.mark.parametrize("case", ["", "no hangup signal"])
def test_a_closed_terminal_ends_it(terminal: Terminal, case: str) -> None:
    terminal.start(case)
    terminal.read_until(DRAWN)
    terminal.hang_up()
    assert terminal.outcome(0) == "returned"


def test_an_encoding_without_its_lines_will_do(terminal: Terminal) -> None:
    terminal.execute("", PYTHONIOENCODING="ascii")
    terminal.read_until(DRAWN)
    os.write(terminal.master, b"q")
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)
    assert terminal.seen.isascii()


def test_an_error_of_the_feed_comes_after_the_terminal_is_restored(terminal: Terminal) -> None:
    terminal.start("feed error")
    assert terminal.outcome(1) == "the kernel took the program away"
    assert_sane(terminal)


def test_an_exception_leaves_a_sane_terminal_and_one_line(terminal: Terminal) -> None:
    terminal.start("exception")
    assert terminal.outcome(1) == "the dashboard failed: ZeroDivisionError: no such figure"
    assert_sane(terminal)


def test_keys_come_from_the_terminal_when_stdin_is_none(terminal: Terminal) -> None:
    with Path(os.devnull).open("rb") as nothing:
        terminal.start("", stdin=nothing.fileno())
        terminal.read_until(DRAWN)
        os.write(terminal.master, b"q")
        assert terminal.outcome(0) == "returned"
    assert_sane(terminal)


def test_it_is_drawn_on_stdout(terminal: Terminal, tmp_path: Path) -> None:
    with (tmp_path / "messages").open("wb") as messages:
        terminal.start("", stderr=messages.fileno())
        terminal.read_until(DRAWN)
        os.write(terminal.master, b"q")
        assert terminal.outcome(0) == "returned"
    assert_sane(terminal)
    assert (tmp_path / "messages").read_bytes() == b""


def test_no_terminal_at_all_is_told_in_one_line(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-m", "tests.tui.terminal_child", "", str(tmp_path / "log")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        cwd=ROOT,
        timeout=LIMIT_S,
        check=False,
    )
    assert child.returncode == 1
    assert "there is no terminal to read keys from" in (tmp_path / "log").read_text()


def test_it_comes_back_after_it_was_suspended(terminal: Terminal) -> None:
    child = terminal.start("")
    terminal.read_until(DRAWN)
    child.send_signal(signal.SIGTSTP)
    assert child.pid
    assert os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    assert_sane(terminal)
    terminal.seen = b""
    child.send_signal(signal.SIGCONT)
    terminal.read_until(b"\x1b[?1049h", DRAWN)
    os.write(terminal.master, b"q")
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)


def test_it_can_be_suspended_while_it_writes(terminal: Terminal) -> None:
    """Textual alone waits for itself then, and for ever."""
    child = terminal.start("suspended in a write")
    assert child.pid
    assert os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    child.send_signal(signal.SIGCONT)
    terminal.read_until(DRAWN)
    os.write(terminal.master, b"q")
    assert terminal.outcome(0) == "returned"
    assert_sane(terminal)


def test_the_mouse_is_asked_for_and_obeyed(terminal: Terminal) -> None:
    terminal.start("")
    terminal.read_until(DRAWN, b"\x1b[?1006h")
    # Sources are sorted by path after a click on that title, the line after its table's title.
    for y in range(1, 10):
        for action in (b"M", b"m"):
            os.write(terminal.master, b"\x1b[<0;3;%d%s" % (y, action))
    terminal.read_until(b"by Source")
    os.write(terminal.master, b"q")
    assert terminal.outcome(0) == "returned"
