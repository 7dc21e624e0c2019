"""The DaemonSet is what Kubernetes takes, by its own description of its interface."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from noisetop.cli import parse
from noisetop.metrics.listen import parse_address

pytestmark = pytest.mark.packaging

MANIFEST = Path(__file__).parents[2] / "packaging" / "kubernetes" / "daemonset.yaml"
KUBECONFORM = "github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0"
KUBECTL = "k8s.io/kubectl@v0.34.2"
"""Holds the OpenAPI of Kubernetes 1.34."""
NEWEST_NEEDED = (1, 24)
"""Of Go, by those modules."""


def go(*words: str, **environment: str) -> str:
    done = subprocess.run(
        ["go", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and ("dial tcp" in done.stderr or "no such host" in done.stderr):
        pytest.skip(f"no Go module: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return done.stdout


def go_version() -> tuple[int, int]:
    found = re.search(r"go(\d+)\.(\d+)", go("version"))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def strict(definition: dict[str, Any]) -> dict[str, Any]:
    """The same, which takes no field that it does not name."""
    if "properties" in definition:
        return {**definition, "additionalProperties": False}
    return definition


@pytest.fixture(scope="module")
def conform(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that takes a manifest."""
    if not shutil.which("go") or go_version() < NEWEST_NEEDED:
        pytest.skip("takes Go 1.24")
    folder = tmp_path_factory.mktemp("kubernetes")
    go("install", KUBECONFORM, GOBIN=str(folder))
    module = json.loads(go("mod", "download", "-json", KUBECTL))
    swagger = json.loads((Path(module["Dir"]) / "testdata/openapi/swagger.json").read_text())
    definitions = {name: strict(one) for name, one in swagger["definitions"].items()}
    quantities = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    definitions[quantities] = {"type": ["string", "number"]}
    definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = {"type": ["string", "integer"]}
    schema = {"$ref": "#/definitions/io.k8s.api.apps.v1.DaemonSet", "definitions": definitions}
    (folder / "daemonset-apps-v1.json").write_text(json.dumps(schema))
    where = f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    return [f"{folder}/kubeconform", "-strict", "-schema-location", where]


def test_the_daemon_set_conforms(conform: list[str]) -> None:
    done = subprocess.run(
        [*conform, "-summary", MANIFEST], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Valid: 1, Invalid: 0, Errors: 0, Skipped: 0" in done.stdout


@pytest.mark.parametrize(
    ("before", "after"),
    [("hostPID: true", "hostPid: true"), ("add: [BPF", "add: [1"), ("selector:", "select:")],
)
def test_what_does_not_conform_is_found(
    conform: list[str], tmp_path: Path, before: str, after: str
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(MANIFEST.read_text().replace(before, after, 1))
    done = subprocess.run([*conform, path], capture_output=True, check=False)
    assert done.returncode == 1


def test_its_options_and_port_are_those_of_the_exporter() -> None:
    text = MANIFEST.read_text()
    found = re.search(r"args: \[(.+)\]", text)
    assert found
    name, args = parse(shlex.split(found[1].replace(",", " ")))
    assert name == "exporter"
    port = parse_address(args.listen).port
    assert f"containerPort: {port}" in text
    assert f'prometheus.io/port: "{port}"' in text
