"""Names of containers, from the files in which their runtimes keep them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from noisetop.machine.cgroup_names import CgroupNames, names_of_path
from noisetop.machine.files import Files

_LARGEST_FILE = 4 << 20
_LONGEST_NAME = 128
_ID = re.compile(r"[0-9a-f]{64}")
_USER = re.compile(r"/user-([0-9]{1,10})\.slice/")
_ANNOTATIONS = ("io.kubernetes.cri.container-name", "io.kubernetes.container.name", "nerdctl/name")
_TASKS = "/run/containerd/io.containerd.runtime.v2.task"
_STORAGE = "/var/lib/containers/storage"
_USER_STORAGE = ".local/share/containers/storage"


def named(path: str, files: Files) -> CgroupNames:
    """The names of a control group, with that of its container where a runtime's file has it."""
    names = names_of_path(path)
    if not _ID.fullmatch(names.container_id):
        return names
    for runtime, read in _READERS.items():
        if names.runtime in ("", runtime) and (name := read(names, files)):
            return replace(names, runtime=runtime, container=name[:_LONGEST_NAME])
    return names


def _docker(names: CgroupNames, files: Files) -> str:
    config = _object(files, f"/var/lib/docker/containers/{names.container_id}/config.v2.json")
    return _text(config.get("Name")).removeprefix("/")


def _containerd(names: CgroupNames, files: Files) -> str:
    for namespace in files.names(_TASKS):
        config = _object(files, f"{_TASKS}/{namespace}/{names.container_id}/config.json")
        if name := _annotated(config):
            return name
    return ""


def _storage(names: CgroupNames, files: Files) -> str:
    """Of podman and CRI-O, which keep containers in one kind of store: a folder per driver."""
    for store in _stores(names.path, files):
        for folder in files.glob(store, "*-containers"):
            config = _object(files, f"{folder}/{names.container_id}/userdata/config.json")
            name = _annotated(config) or _listed(files, f"{folder}/containers.json", names)
            if name:
                return name
    return ""


def _stores(path: str, files: Files) -> Iterator[str]:
    yield _STORAGE
    if user := _USER.search(path):
        for line in files.text("/etc/passwd").splitlines():
            fields = line.split(":")
            if len(fields) > 5 and fields[2] == user[1]:
                yield f"{fields[5]}/{_USER_STORAGE}"


def _listed(files: Files, path: str, names: CgroupNames) -> str:
    listed = _json(files, path)
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict) and one.get("id") == names.container_id:
            called = one.get("names")
            return _text(called[0]) if isinstance(called, list) and called else ""
    return ""


_READERS: dict[str, Callable[[CgroupNames, Files], str]] = {
    "docker": _docker,
    "containerd": _containerd,
    "podman": _storage,
    "cri-o": _storage,
}


def _annotated(config: dict[str, Any]) -> str:
    annotations = config.get("annotations")
    if not isinstance(annotations, dict):
        return ""
    return next(filter(None, (_text(annotations.get(key)) for key in _ANNOTATIONS)), "")


def _object(files: Files, path: str) -> dict[str, Any]:
    content = _json(files, path)
    return content if isinstance(content, dict) else {}


def _json(files: Files, path: str) -> object:
    """What a file holds; None where it cannot be read or is no JSON."""
    try:
        content: object = json.loads(files.read_bytes(path, _LARGEST_FILE))
    except (OSError, ValueError, RecursionError):
        return None
    return content


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
