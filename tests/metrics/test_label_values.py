"""Labels do not tell tasks apart, whatever they are called."""

from __future__ import annotations

import pytest

from noisetop.events.interruption import Source
from noisetop.machine.cgroup_names import names_of_path
from noisetop.metrics.label_values import cgroup_value, source_value

POD = "0a1b2c3d-0000-1111-2222-333344445555"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("thread", "kworker/2:1", "vmstat_update"), "thread › kworker/* › vmstat_update"),
        (("irq", "36 virtio1-req.0"), "irq › virtio*-req.*"),
        (("thread", "job-17\x1b[31m"), "thread › job-*\\x1b[*m"),
        (("softirq", "other"), "other"),
        (("thread", "x" * 500), f"thread › {'x' * 150}…"),
    ],
)
def test_numbers_of_tasks_are_folded(path: tuple[str, ...], value: str) -> None:
    assert source_value(Source(path)) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/system.slice/redis@6379.service", "redis@6379.service"),
        ("/system.slice/run-r0a1b2c3d.scope", "run-*.scope"),
        ("/user.slice/user-1000.slice/session-12.scope", "session-*.scope"),
        (f"/system.slice/docker-{'ab' * 32}.scope", "docker abababababab"),
        (f"/kubepods/burstable/pod{POD}/{'cd' * 32}", f"pod {POD}"),
        ("/", "/"),
        ("/jobs/17", "/jobs/17"),
        ("", "unknown"),
    ],
)
def test_a_control_group_has_the_name_that_people_know(path: str, value: str) -> None:
    assert cgroup_value(names_of_path(path)) == value
