"""Bad input to the probes is one line, before anything starts."""

from __future__ import annotations

import os

import pytest

from noisetop.cli import run
from noisetop.errors import UsageError

CPUS = sorted(os.sched_getaffinity(0))
ALL = ",".join(map(str, CPUS))


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "spun",
        "spin -c 4000",
        "spin -c x",
        f"spin -c {ALL} --load 1",
        "spin --load -1",
        "spin -T 0",
        "spin -P y:3",
        "spin --busy 0",
        "spin --busy 50,x",
        "spin -d 0s",
        "spin --periods -1",
        "spin -o /tmp/result.txt",
        "spin -o /nonexistent/result.json",
        "switch -n 1",
        f"switch -c {ALL},4000",
        "numa --repeats 0",
        "numa --size 0",
        "calibrate -c 4000",
        "calibrate -d 0s",
        "calibrate -H x",
        "spin -- true",
    ],
)
def test_bad_input_is_one_line(arguments: str) -> None:
    with pytest.raises(UsageError) as error:
        run(["probe", *arguments.split()])
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


def test_a_threshold_under_the_resolution_is_one_line() -> None:
    with pytest.raises(UsageError, match="under what the loop can see: use -T"):
        run(["probe", "spin", "-c", str(CPUS[-1]), "-T", "1", "-d", "1s", "--no-trace"])
