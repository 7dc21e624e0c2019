from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from noisetop.machine.container_names import named
from noisetop.machine.files import Files

ID = "0123456789abcdef" * 4
TASKS = "run/containerd/io.containerd.runtime.v2.task"


def _write(root: Path, path: str, content: object) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content))


def _name(root: Path, path: str) -> tuple[str, str]:
    names = named(path, Files(root))
    return names.runtime, names.container


def test_docker(tmp_path: Path) -> None:
    _write(tmp_path, f"var/lib/docker/containers/{ID}/config.v2.json", {"Name": "/web"})
    assert _name(tmp_path, f"/system.slice/docker-{ID}.scope") == ("docker", "web")


def test_containerd_in_any_namespace(tmp_path: Path) -> None:
    annotations = {"io.kubernetes.cri.container-name": "nginx"}
    _write(tmp_path, f"{TASKS}/k8s.io/{ID}/config.json", {"annotations": annotations})
    (tmp_path / TASKS / "default").mkdir()
    assert _name(tmp_path, f"/x.slice/cri-containerd-{ID}.scope") == ("containerd", "nginx")


def test_podman_of_root_and_of_a_user(tmp_path: Path) -> None:
    listed = [{"id": "f" * 64, "names": ["other"]}, {"id": ID, "names": ["db", "alias"]}]
    store = "containers/storage/overlay-containers/containers.json"
    _write(tmp_path, f"var/lib/{store}", listed[:1])
    _write(tmp_path, f"home/me/.local/share/{store}", listed)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nme:x:1000:1::/home/me:\n")
    user = "/user.slice/user-1000.slice/user@1000.service/user.slice"
    assert _name(tmp_path, f"{user}/libpod-{ID}.scope/container") == ("podman", "db")
    assert _name(tmp_path, f"/machine.slice/libpod-{ID}.scope") == ("podman", "")


def test_crio_names_the_container_rather_than_its_store(tmp_path: Path) -> None:
    store = "var/lib/containers/storage/overlay-containers"
    _write(tmp_path, f"{store}/containers.json", [{"id": ID, "names": ["k8s_nginx_pod_0"]}])
    annotations = {"io.kubernetes.container.name": "nginx"}
    _write(tmp_path, f"{store}/{ID}/userdata/config.json", {"annotations": annotations})
    assert _name(tmp_path, f"/kubepods/pod/crio-{ID}") == ("cri-o", "nginx")


def test_the_file_tells_the_runtime_where_the_path_does_not(tmp_path: Path) -> None:
    _write(tmp_path, f"var/lib/docker/containers/{ID}/config.v2.json", {"Name": "/k8s_web_0"})
    assert _name(tmp_path, f"/kubepods/besteffort/podx/{ID}") == ("docker", "k8s_web_0")


def test_without_a_file_there_is_no_name(tmp_path: Path) -> None:
    assert _name(tmp_path, f"/docker/{ID}") == ("docker", "")
    assert _name(tmp_path, "/system.slice/redis.service") == ("", "")


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000, b"[1]", b'{"Name": 7}', b"null"])
def test_files_that_make_no_sense_are_passed_over(tmp_path: Path, content: bytes) -> None:
    for path in (
        f"var/lib/docker/containers/{ID}/config.v2.json",
        f"{TASKS}/k8s.io/{ID}/config.json",
        "var/lib/containers/storage/overlay-containers/containers.json",
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
    assert _name(tmp_path, f"/default/{ID}") == ("", "")


def test_a_fifo_in_the_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    folder = tmp_path / f"var/lib/docker/containers/{ID}"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "config.v2.json")
    assert _name(tmp_path, f"/docker/{ID}") == ("docker", "")
