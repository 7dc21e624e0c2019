"""What the harness of make test-configs asks a kernel's configuration for, and when it builds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.configs import boot, build, sources
from tests.configs.catalogue import CONFIGURATIONS, Configuration
from tests.guests import guest, machine
from tests.guests.cases import Case
from tests.guests.packages import Image, UnavailableError
from tests.recorded_runs import PARTS

CONFIG = "CONFIG_SMP=y\nCONFIG_SMP_OLD=y\n# CONFIG_NUMA is not set\nCONFIG_HZ=250\n"


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("CONFIG_SMP=y\nCONFIG_NUMA=n\nCONFIG_HZ=250\nCONFIG_GONE=n\n", []),
        ("CONFIG_SMP=n\n", ["CONFIG_SMP=n"]),
        ("CONFIG_NUMA=y\nCONFIG_HZ=25\n", ["CONFIG_NUMA=y", "CONFIG_HZ=25"]),
        ("CONFIG_SMP_=y\n", ["CONFIG_SMP_=y"]),
    ],
)
def test_what_a_kernel_does_not_take_is_named(options: str, refused: list[str]) -> None:
    assert build.refused(options, CONFIG) == refused


def test_options_as_a_configuration_has_them() -> None:
    one = Configuration("x", ("sid",), options={"SMP": "n", "HZ_PERIODIC": "y"})
    assert one.fragment() == "CONFIG_SMP=n\nCONFIG_HZ_PERIODIC=y\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a kernel is built by noting what make was asked for."""
    monkeypatch.setattr(build, "FOLDER", tmp_path)
    monkeypatch.setattr(sources, "fetch", lambda suites: sources.Source(tmp_path, suites[0]))
    monkeypatch.setattr(build, "check_tools", lambda: None)

    def make(_: sources.Source, objects: Path, __: Path, target: str) -> None:
        config = objects / ".config"
        lines = config.read_text().splitlines(keepends=True) if config.exists() else []
        last = dict(line.split("=", 1) for line in lines if "GONE" not in line)
        config.write_text("".join(f"{k}={v}" for k, v in last.items() if v != "n\n"))
        image = objects / "arch/x86/boot/bzImage"
        image.parent.mkdir(parents=True, exist_ok=True)
        image.write_text(target)
        with (tmp_path / "asked").open("a") as file:
            file.write(f"{target}\n")

    monkeypatch.setattr(build, "_make", make)
    return tmp_path


def test_a_kernel_is_built_once_for_each_source_and_set_of_options(project: Path) -> None:
    first = build.image(Configuration("x", ("trixie",)))
    assert build.image(Configuration("x", ("trixie",))) == first
    assert (project / "asked").read_text() == "tinyconfig\nolddefconfig\nbzImage\n"
    for other in (
        Configuration("x", ("sid",)),
        Configuration("x", ("trixie",), options={"NUMA": "n"}),
    ):
        image = build.image(other)
        assert image.path != first.path
        assert image.path.read_text() == "bzImage"
        assert not first.path.exists(), "what it was before is not kept"


def test_an_option_that_is_not_taken_ends_the_build(project: Path) -> None:
    with pytest.raises(build.BuildError, match="trixie does not take CONFIG_GONE=y"):
        build.image(Configuration("x", ("trixie",), options={"GONE": "y"}))
    assert not list(project.glob("x/vmlinuz-*"))


def test_a_tool_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "pahole" else name)
    with pytest.raises(UnavailableError, match="pahole is not installed: make test-configs"):
        build.check_tools()


def test_the_package_with_a_kernels_source() -> None:
    assert sources.PARTS.match("linux-source-6.12")
    assert not sources.PARTS.match("linux-source")
    assert not sources.PARTS.match("xz-utils")


def test_names_are_folders_and_differ() -> None:
    names = [one.name for one in CONFIGURATIONS]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalpha() for name in names)


def test_the_record_agrees_with_the_catalogue() -> None:
    recorded = json.loads(PARTS["configs"].path().read_text())["configurations"]
    known = {one.name: one for one in CONFIGURATIONS}
    assert recorded
    for one in recorded:
        assert sorted(one["missing"]) == sorted(known[one["name"]].lacks)
        assert one["options"] == dict(known[one["name"]].options)


def run_of(configuration: Configuration, state: str) -> guest.Run:
    cases = (Case("test_a", "offers", "passed"), Case("test_b", "identities", state))
    image = Image(Path("vmlinuz"), "6.12.117-1")
    return guest.Run(configuration, image, False, machine.Outcome(0, "", ""), cases)


def test_a_record_grows_by_the_configurations_in_which_all_passed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second, third = CONFIGURATIONS[:3]
    runs = {third: run_of(third, "failed"), second: run_of(second, "passed")}
    monkeypatch.setattr(boot, "RUNS", runs)
    recorded = boot.results([{"name": first.name, "missing": []}, {"name": "gone"}])
    assert [one["name"] for one in recorded] == [first.name, second.name]
    assert recorded[1]["groups"] == {"offers": {"passed": 1}, "identities": {"passed": 1}}
