from __future__ import annotations

import pytest

from noisetop.machine.cgroup_names import CgroupNames, names_of_path

ID = "0123456789abcdef" * 4
UID = "11112222-3333-4444-5555-666677778888"
UID_IN_SLICE = UID.replace("-", "_")
KUBEPODS = "/kubepods.slice/kubepods-burstable.slice"
USER = "/user.slice/user-1000.slice/user@1000.service"


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/", ""),
        ("/system.slice", ""),
        ("/system.slice/redis.service", "redis.service"),
        ("/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service"),
        ("/system.slice/redis.service/worker/deep.service", "redis.service"),
        ("/init.scope", "init.scope"),
        ("/user.slice/user-1000.slice/session-3.scope", "session-3.scope"),
        (f"{USER}/app.slice/app-x.scope", "user@1000.service › app-x.scope"),
        (f"{USER}/init.scope", "user@1000.service › init.scope"),
        ("/system.slice/_cpu.service", "cpu.service"),
        ("/mine/not.slice.at.all", ""),
    ],
)
def test_the_unit_is_the_first_below_the_slices(path: str, unit: str) -> None:
    assert names_of_path(path) == CgroupNames(path, unit)


@pytest.mark.parametrize(
    ("path", "runtime", "pod"),
    [
        (f"/docker/{ID}", "docker", ""),
        (f"/docker/{ID}/init.scope", "docker", ""),
        (f"/system.slice/docker-{ID}.scope", "docker", ""),
        (f"{USER}/user.slice/docker-{ID}.scope", "docker", ""),
        (f"/machine.slice/libpod-{ID}.scope", "podman", ""),
        (f"/machine.slice/libpod-{ID}.scope/container", "podman", ""),
        (f"/libpod_parent/libpod-{ID}", "podman", ""),
        (f"{USER}/user.slice/libpod-{ID}.scope/container", "podman", ""),
        (f"/system.slice/nerdctl-{ID}.scope", "containerd", ""),
        (f"/default/{ID}", "", ""),
        (f"/kubepods/burstable/pod{UID}/{ID}", "", UID),
        (f"/kubepods/pod{UID}/crio-{ID}", "cri-o", UID),
        (
            f"{KUBEPODS}/kubepods-burstable-pod{UID_IN_SLICE}.slice/cri-containerd-{ID}.scope",
            "containerd",
            UID,
        ),
        (f"/kubepods.slice/kubepods-pod{UID_IN_SLICE}.slice/crio-{ID}.scope", "cri-o", UID),
        (
            f"/system.slice/containerd.service/kubepods-besteffort-pod{UID_IN_SLICE}.slice"
            f":cri-containerd:{ID}",
            "containerd",
            UID,
        ),
        (
            f"/system.slice/docker-{'f' * 64}.scope/kubelet.slice/kubelet-kubepods.slice"
            f"/kubelet-kubepods-pod{'ab' * 16}.slice/cri-containerd-{ID}.scope",
            "containerd",
            "ab" * 16,
        ),
    ],
)
def test_the_container_is_the_innermost_one(path: str, runtime: str, pod: str) -> None:
    names = names_of_path(path)
    assert (names.runtime, names.container_id, names.pod) == (runtime, ID, pod)


def test_a_pod_without_a_container() -> None:
    names = names_of_path(f"/kubepods/besteffort/pod{UID}")
    assert (names.container_id, names.pod, names.label) == ("", UID, f"pod {UID}")


@pytest.mark.parametrize("path", ["/lxc/web/ns", "/lxc.payload.web", "/lxc.payload/web/init.scope"])
def test_lxc_calls_its_containers_by_name(path: str) -> None:
    names = names_of_path(path)
    assert (names.runtime, names.container, names.label) == ("lxc", "web", "lxc container web")


@pytest.mark.parametrize(
    "path",
    [
        f"/machine.slice/libpod-conmon-{ID}.scope",
        "/lxc.monitor.web",
        f"/system.slice/run-{ID}.scope",
        f"/docker/{ID[1:]}",
        "/user.slice/podcast",
    ],
)
def test_what_only_looks_like_a_container_is_none(path: str) -> None:
    names = names_of_path(path)
    assert (names.runtime, names.container_id, names.pod) == ("", "", "")


def test_the_label_is_the_narrowest_name() -> None:
    assert names_of_path("/").label == ""
    assert names_of_path("/mine/deep").label == "cgroup /mine/deep"
    assert names_of_path("/system.slice/redis.service").label == "unit redis.service"
    assert names_of_path(f"/docker/{ID}").label == "docker container 0123456789ab"
    assert names_of_path(f"/default/{ID}").label == "container 0123456789ab"
    named = CgroupNames("/x", "a.scope", "containerd", ID, "nginx", UID)
    assert named.label == f"containerd container nginx 0123456789ab, pod {UID}"
