from __future__ import annotations

from pathlib import Path

from noisetop.machine.cgroups import cgroup2_mount, cgroup_directories, paths_by_id

UNIFIED = "cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid 0 0\n"
HYBRID = (
    "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
    "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,nosuid,cpu,cpuacct 0 0\n"
)


def test_the_mount_of_the_second_version() -> None:
    assert cgroup2_mount(UNIFIED) == "/sys/fs/cgroup"
    assert cgroup2_mount(HYBRID) == "/sys/fs/cgroup/unified"
    assert cgroup2_mount("proc /proc proc rw 0 0\nnonsense\n") == ""


def test_a_process_and_its_parents_innermost_first() -> None:
    base = "/sys/fs/cgroup"
    assert cgroup_directories("0::/a/b\n", UNIFIED, "cpu") == [f"{base}/a/b", f"{base}/a", base]


def test_the_first_version_where_it_carries_the_controller() -> None:
    memberships = "4:cpu,cpuacct:/v1\n0::/v2\n"
    mount = "/sys/fs/cgroup/cpu,cpuacct"
    assert cgroup_directories(memberships, HYBRID, "cpu") == [f"{mount}/v1", mount]
    assert cgroup_directories(memberships, HYBRID, "cpuset") == [
        "/sys/fs/cgroup/unified/v2",
        "/sys/fs/cgroup/unified",
    ]


def test_a_hierarchy_that_no_mount_names_is_looked_for_at_its_usual_place() -> None:
    assert cgroup_directories("4:cpu:/x\n", "", "cpu") == [
        "/sys/fs/cgroup/cpu/x",
        "/sys/fs/cgroup/cpu",
    ]


def test_a_path_never_leads_out_of_the_file_system() -> None:
    assert cgroup_directories("0::/../../etc\n", UNIFIED, "cpu") == [
        "/sys/fs/cgroup/etc",
        "/sys/fs/cgroup",
    ]


def test_nothing_comes_of_nothing() -> None:
    assert cgroup_directories("", "", "cpu") == []
    assert cgroup_directories("0::/a\n", "", "cpu") == []


def test_paths_by_the_numbers_of_their_folders(tmp_path: Path) -> None:
    for path in ("a/b", "a/c/d", "e"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "a/cgroup.procs").touch()
    number = {path: (tmp_path / path).stat().st_ino for path in (".", "a", "a/c/d", "e")}
    assert paths_by_id([number["a/c/d"], number["."], 0], tmp_path) == {
        number["a/c/d"]: "/a/c/d",
        number["."]: "/",
    }
    assert paths_by_id([number["e"]], tmp_path / "nowhere") == {}
