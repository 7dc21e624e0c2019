"""What people come with, solved in the dashboard: culprit and remedy in at most four keys.

The keys are those of README and of the hints on the screen: the causes stand there with numbers,
and a number shows one with its remedy.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.tmux import Tmux, in_tmux, unfolded
from tests.kernel.loads import PATIENCE_S
from tests.kernel.program import PROGRAM
from tests.kernel.provoked import program as python
from tests.kernel.provoked import urgent
from tests.kernel.test_stories import (
    BARRIERS,
    PORT,
    SENDER_CPU,
    of_process,
    redis,
    redis_benchmark,
    script,
    spinning,
    undisturbed,
)

pytestmark = [pytest.mark.kernel, pytest.mark.story]

MOST_KEYS = 4
WIDTH, HEIGHT = 120, 40
NUMBERED = re.compile(r"^ ([123]) . +≈?\S+ \S+/s +\S+ ?%?  (.*)$", re.MULTILINE)
"""A cause of the overview: its number, and what it says."""


class Reader:
    """Somebody at the dashboard, who counts the keys."""

    def __init__(self, tmux: Tmux) -> None:
        self.tmux = tmux
        self.keys: list[str] = []

    def press(self, key: str) -> None:
        self.keys.append(key)
        assert len(self.keys) <= MOST_KEYS, self.keys
        self.tmux.press(key)

    def until(self, *texts: str) -> str:
        """Waits until all of them are on the screen."""
        end = time.monotonic() + PATIENCE_S
        while True:
            seen = unfolded(self.tmux.screen())
            if all(text in seen for text in texts):
                return seen
            assert time.monotonic() < end, f"{texts} not after {self.keys}:\n{self.tmux.screen()}"
            time.sleep(0.1)

    def number_of(self, culprit: str) -> str:
        """Of the cause in view that names somebody."""
        end = time.monotonic() + PATIENCE_S
        while True:
            seen = self.tmux.screen()
            for number, words in NUMBERED.findall(seen):
                if culprit in words:
                    return str(number)
            assert time.monotonic() < end, f"{culprit} is not among the causes:\n{seen}"
            time.sleep(0.1)

    def solve(self, culprit: str, remedy: str) -> None:
        """From the first frame to a screen with both."""
        self.press(self.number_of(culprit))
        self.until(culprit, remedy, "undo")
        print(f"{culprit}: {' '.join(self.keys)}")


@contextmanager
def dashboard(folder: Path, *target: str) -> Iterator[Reader]:
    argv = ["taskset", "-c", str(SENDER_CPU), str(PROGRAM), *target, "-H", str(SENDER_CPU)]
    with in_tmux(folder, argv, (WIDTH, HEIGHT)) as tmux:
        yield Reader(tmux)


def test_another_process_calls_for_barriers(tmp_path: Path) -> None:
    with (
        python(SENDER_CPU, BARRIERS) as pid,
        urgent([pid]),
        undisturbed("spin:100:0") as load,
        dashboard(tmp_path, *of_process(load.pid)) as reader,
    ):
        reader.solve("barriers", f"kill -STOP {pid}")


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [("mprotect", "no mprotect in threads of the program"), ("munmap", "MALLOC_MMAP_MAX_=0 ")],
)
def test_a_thread_changes_the_memory(kind: str, remedy: str, tmp_path: Path) -> None:
    """What the sender was doing is in its stack."""
    with (
        undisturbed(f"{kind}:2000:0") as load,
        dashboard(tmp_path, *of_process(load.pid), "--stacks") as reader,
    ):
        reader.solve(kind, remedy)


def test_redis_sends_packets_to_its_own_machine(tmp_path: Path) -> None:
    with (
        redis(tmp_path) as pid,
        redis_benchmark("-p", PORT),
        dashboard(tmp_path, *of_process(pid)) as reader,
    ):
        reader.solve("redis-server", "Unix socket")


def test_a_script_starts_short_programs(tmp_path: Path) -> None:
    with (
        spinning() as load,
        script(tmp_path, "ls /usr/bin") as pid,
        dashboard(tmp_path, *of_process(load.pid)) as reader,
    ):
        reader.press(reader.number_of("cronish.sh"))
        seen = reader.until("cronish.sh", "undo")
        remedy = re.search(r"remedy (.*?) undo", seen)
        assert remedy, seen
        assert re.search(rf"\b{pid}\b", remedy[1]), seen
        print(f"cronish.sh: {' '.join(reader.keys)}")
