"""Files that say what is kept away from CPUs."""

from __future__ import annotations

from pathlib import Path

from noisetop.machine.isolation_settings import AT_ONCE, isolation_settings, partner


def tree(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


def test_cpusets_interrupts_and_the_machine(tmp_path: Path) -> None:
    tree(
        tmp_path,
        {
            "proc/mounts": "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0",
            "proc/irq/36/smp_affinity_list": "0-3",
            "proc/irq/default_smp_affinity": "f",
            "sys/devices/system/cpu/isolated": "",
            "sys/devices/system/cpu/nohz_full": "2-3",
            "sys/fs/cgroup/rt/cpuset.cpus": "2-3",
            "sys/fs/cgroup/rt/cpuset.cpus.partition": "isolated",
            "sys/fs/cgroup/rt/app/cpuset.cpus": "3",
            "sys/fs/cgroup/rt/app/cpuset.cpus.partition": "member",
            "sys/fs/cgroup/other/cgroup.procs": "1",
        },
    )
    assert isolation_settings(tmp_path) == {
        "/proc/irq/36/smp_affinity_list": "0-3",
        "/sys/devices/system/cpu/nohz_full": "2-3",
        "/sys/fs/cgroup/rt/cpuset.cpus": "2-3",
        "/sys/fs/cgroup/rt/cpuset.cpus.partition": "isolated",
        "/sys/fs/cgroup/rt/app/cpuset.cpus": "3",
        "/sys/fs/cgroup/rt/app/cpuset.cpus.partition": "member",
    }


def test_a_machine_without_any_of_it(tmp_path: Path) -> None:
    assert isolation_settings(tmp_path) == {}


def affinities(root: Path, cpus: str) -> dict[str, str]:
    files = {f"proc/irq/{irq}/smp_affinity_list": cpus for irq in range(2 * AT_ONCE + 1)}
    tree(root, files)
    return {f"/{name}": cpus for name in files}


def test_many_interrupts_are_read_again_in_turns(tmp_path: Path) -> None:
    before = affinities(tmp_path, "0-3")
    known = isolation_settings(tmp_path)
    assert known == before
    after, changed = affinities(tmp_path, "0-1"), []
    for turn in range(3):
        fresh = isolation_settings(tmp_path, known, turn)
        changed.append(sum(known[name] != fresh[name] for name in before))
        known = fresh
    assert changed == [AT_ONCE * 2 // 3 + 1] * 3
    assert known == after
    name = "proc/irq/999/smp_affinity_list"
    tree(tmp_path, {name: "3"})
    assert isolation_settings(tmp_path, known) == after | {f"/{name}": "3"}


def test_a_partition_is_about_the_cpus_of_its_group() -> None:
    assert partner("/a/cpuset.cpus.partition") == "/a/cpuset.cpus"
    assert partner("/proc/irq/1/smp_affinity_list") == "/proc/irq/1/smp_affinity_list"
