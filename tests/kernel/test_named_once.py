"""Tasks that run again and again are named once, also where two share the place for what a CPU has
named."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from noisetop.tracing.target import Target
from noisetop.tracing.tracer import Tracer
from tests.kernel.own_cpu import OTHER, OWN

pytestmark = [pytest.mark.kernel, pytest.mark.side_by_side]

PLACES = 64
"""NOISE_NAMED_SETS of bpf/noise.h."""
ROUNDS = 1000
CPUS = {OWN, OTHER}


class Player(threading.Thread):
    """Takes turns with its partner on the watched CPU, once it is told to begin."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listens, self.speaks = os.pipe()
        self.partner: Player | None = None
        self.begins = threading.Event()
        self.start()

    @property
    def tid(self) -> int:
        """Of the running thread."""
        assert self.native_id
        return self.native_id

    def run(self) -> None:
        """Answers each byte with one."""
        self.begins.wait()
        if self.partner is None:
            return
        os.sched_setaffinity(0, {OWN})
        for _ in range(ROUNDS):
            os.read(self.listens, 1)
            os.write(self.partner.speaks, b".")

    def end(self) -> None:
        """Waits for its end."""
        self.begins.set()
        self.join()
        os.close(self.listens)
        os.close(self.speaks)


@contextlib.contextmanager
def partners() -> Iterator[tuple[Player, Player]]:
    """Two whose tids share a place."""
    players: dict[int, Player] = {}
    one = Player()
    try:
        while one.tid % PLACES not in players:
            players[one.tid % PLACES] = one
            one = Player()
        other = players[one.tid % PLACES]
        one.partner, other.partner = other, one
        yield one, other
    finally:
        for player in (*players.values(), one):
            player.end()


def test_two_that_share_a_place_are_not_named_at_each_switch() -> None:
    with partners() as both, Tracer(Target((OWN,)), housekeeping=(OTHER,)) as tracer:
        tracer.start_window()
        os.write(both[0].speaks, b".")
        for player in both:
            player.begins.set()
        for player in both:
            player.join()
        tracer.stop_window()
        records, told = tracer.read_records(), tracer.layout.task_name
    assert told
    tids = [player.tid for player in both]
    waits = [np.isin(some["tid"], tids).sum() for some in records.waits]
    assert sum(waits) > ROUNDS
    named = np.concatenate([some.view(told)["tid"] for some in records.names])
    ours = np.isin(named, tids)
    # A third one that comes to that place, as their parent or another thread, takes both theirs.
    thirds = ~ours & (named % PLACES == tids[0] % PLACES)
    assert ours.sum() <= 2 * (len(CPUS) + thirds.sum())
