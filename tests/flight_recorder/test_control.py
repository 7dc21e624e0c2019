from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from noisetop.errors import UsageError
from noisetop.flight_recorder.control import ControlFifo


def test_lines_come_whole_and_are_acknowledged(tmp_path: Path) -> None:
    ctl, ack = tmp_path / "ctl", tmp_path / "ack"
    os.mkfifo(ctl)
    os.mkfifo(ack)
    with ControlFifo.parse(f"fifo:{ctl},{ack}") as control:
        assert list(control.lines()) == []
        writer = os.open(ctl, os.O_WRONLY)
        reader = os.open(ack, os.O_RDONLY | os.O_NONBLOCK)
        os.write(writer, b"snapshot\nmark the start\0\nsto")
        assert list(control.lines()) == ["snapshot", "mark the start"]
        os.write(writer, b"p\n")
        os.close(writer)  # a writer that goes does not end it
        assert list(control.lines()) == ["stop"]
        assert list(control.lines()) == []
        control.acknowledge()
        assert os.read(reader, 64) == b"ack\n"
        for _ in range(1 << 15):
            control.acknowledge()  # nobody needs to read it
        os.close(reader)


def test_who_waits_to_write_is_heard(tmp_path: Path) -> None:
    """The check comes long before the first look: it takes nothing from a writer that waits."""
    ctl = tmp_path / "ctl"
    os.mkfifo(ctl)
    writer = threading.Thread(target=ctl.write_text, args=("snapshot\nstop\n",))
    control = ControlFifo.parse(f"fifo:{ctl}")
    writer.start()
    for _ in range(1000):
        control.check()
    with control:
        writer.join()
        assert list(control.lines()) == ["snapshot", "stop"]


@pytest.mark.parametrize("text", ["ctl", "fifo:", "fifo:a,b,c", "fifo:a,"])
def test_what_is_no_fifo_says_what_to_type(text: str) -> None:
    with pytest.raises(UsageError, match="mkfifo"):
        ControlFifo.parse(text)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "missing"):
        with (
            pytest.raises(UsageError, match="mkfifo"),
            ControlFifo.parse(f"fifo:{tmp_path / name}"),
        ):
            pass
