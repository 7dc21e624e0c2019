from __future__ import annotations

import json

import pytest

from noisetop.events.task_directory import MOST_PROCESSES, Details, TaskDirectory
from noisetop.events.task_names import TaskInfo
from noisetop.machine.cgroup_names import CgroupNames
from noisetop.machine.task_details import ProcessDetails

UNIT = "/system.slice/redis.service"
REDIS = ProcessDetails("redis-server", "redis-server *:6379", 1, UNIT)
DETAILS = Details({10: REDIS}, {UNIT: CgroupNames(UNIT, "redis.service")}, {77: UNIT})


def directory() -> TaskDirectory:
    return TaskDirectory(
        {1: "systemd", 10: "redis-server", 11: "io_thd_1", 20: "redis-cli", 30: "kworker/1:0"},
        {
            10: TaskInfo(10, 1, False, 77),
            11: TaskInfo(10, 1, False, 77),
            20: TaskInfo(20, 10, False, 77),
            30: TaskInfo(30, 2, True, 0),
        },
        DETAILS,
    )


@pytest.mark.parametrize(
    ("tid", "text"),
    [
        (10, "redis-server 10 (unit redis.service)"),
        (11, "io_thd_1 11 (PID 10 redis-server, unit redis.service)"),
        (20, "redis-cli 20 (unit redis.service)"),
        (30, "kworker/1:0 30"),
        (1, "systemd 1"),
        (99, "99"),
    ],
)
def test_a_task_is_described_by_what_it_belongs_to(tid: int, text: str) -> None:
    assert directory().describe(tid) == text


def test_a_task_that_was_gone_before_it_was_read_has_its_group_and_parent_all_the_same() -> None:
    one = directory()
    assert (one.command(20), one.cgroup(20).unit) == ("", "redis.service")
    assert one.describe_process(one.parent(20)) == "redis-server (PID 10, unit redis.service)"


def test_json_of_a_thread() -> None:
    assert directory().as_dict(11) == {
        "pid": 10,
        "command": "redis-server *:6379",
        "unit": "redis.service",
        "container": "",
        "container_id": "",
        "pod": "",
        "parent": {"pid": 1, "name": "systemd"},
    }
    unknown = TaskDirectory().as_dict(11)
    assert (unknown["pid"], unknown["command"], unknown["parent"]) == (0, "", None)


def test_details_can_be_read_back() -> None:
    read = Details()
    read.add(json.loads(json.dumps(DETAILS.to_file())))
    assert read == DETAILS


def test_details_grow_and_forget_those_that_are_gone() -> None:
    read = Details()
    read.add(DETAILS.to_file())
    renamed = Details({10: ProcessDetails("valkey", "valkey", 1, UNIT)})
    read.add(renamed.to_file())
    assert read.processes[10].name == "valkey"
    read.add({"gone_processes": [10, 11]})
    assert not read.processes
    assert read.paths == {77: UNIT}


def test_the_number_of_processes_is_bounded() -> None:
    read = Details()
    for first in (0, MOST_PROCESSES):
        read.add(Details(dict.fromkeys(range(first, first + MOST_PROCESSES), REDIS)).to_file())
    assert list(read.processes) == list(range(MOST_PROCESSES, 2 * MOST_PROCESSES))


@pytest.mark.parametrize(
    "content",
    [{"processes": {"x": {}}}, {"processes": {"1": {}}}, {"processes": [1]}, {"cgroups": {"/": 1}}],
)
def test_what_we_did_not_write_is_refused(content: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
        Details().add(content)
