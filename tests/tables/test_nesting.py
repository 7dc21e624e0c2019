from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noisetop.events.interruption import INTERRUPTION
from noisetop.tables.nesting import first_inside

FRAMES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 20)))


def table(rows: list[tuple[int, int, int]]) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    made = np.zeros(len(rows), INTERRUPTION)
    for at, (cpu, start, gross) in enumerate(rows):
        made[at]["cpu"], made[at]["start_ns"], made[at]["gross_ns"] = cpu, start, gross
    return made


@given(FRAMES, FRAMES)
def test_the_first_that_began_within_on_the_same_cpu(
    outer: list[tuple[int, int, int]], inner: list[tuple[int, int, int]]
) -> None:
    found = first_inside(table(outer), table(inner)).tolist()
    for (cpu, start, gross), at in zip(outer, found, strict=True):
        within = [
            (began, place)
            for place, (of, began, _) in enumerate(inner)
            if of == cpu and start <= began < start + gross
        ]
        assert at == min(within, default=(0, -1))[1]
