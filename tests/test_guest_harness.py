"""What the harness of make test-guests reads, and when it boots a kernel once more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.guests import document, emulator, machine, packages
from tests.guests.cases import Case, read, settle
from tests.guests.catalogue import KERNELS
from tests.guests.guest import LEFT_OUT, Run

MADISON = """\
linux-image-amd64 | 7.3~rc7-1~exp1 | http://box/debian experimental/main amd64 Packages
linux-image-amd64 |   7.2.13-1 | http://box/debian sid/main amd64 Packages
linux-image-amd64 |  6.1.176-1 | http://box/debian bookworm/main amd64 Packages
"""
TICK = "tests/guests/inside/test_isolation.py::test_the_tick"
WAITS = "tests/kernel/test_waits.py::test_"
TOLD = "\n".join(
    [
        *(
            json.dumps({"name": name, "state": state, "message": message})
            for name, state, message in [
                (f"{WAITS}a", "chosen", ""), (f"{WAITS}b[1]", "chosen", ""), (TICK, "chosen", ""),
                (f"{WAITS}c", "chosen", ""), (f"{WAITS}d", "chosen", ""),
                (f"{WAITS}a", "began", ""), (f"{WAITS}a", "passed", ""),
                (f"{WAITS}b[1]", "began", ""), (f"{WAITS}b[1]", "failed", "why"),
                (f"{WAITS}b[1]", "passed", ""),
                (TICK, "began", ""), (TICK, "skipped", "so"), (TICK, "passed", ""),
                (f"{WAITS}c", "began", ""),
            ]
        ),
        '{"name": "tests/kernel/test_waits.py::test_c", "sta',
    ]
)  # fmt: skip
"""As inside/tell.py writes it, of a guest that stopped while it wrote."""
GROUPS = {
    "waits": "tests/kernel/test_waits.py",
    "isolation": "tests/guests/inside/test_isolation.py",
}


def test_the_archive_is_debians_and_not_the_one_of_security_fixes() -> None:
    lines = (
        "Other|http://box/tools/\nDebian|http://box/debian-security/\nDebian|http://box/debian/\n"
    )
    assert packages.archive(lines) == "http://box/debian/"


def test_without_an_archive_it_says_what_to_type() -> None:
    with pytest.raises(packages.UnavailableError, match="apt-get update"):
        packages.archive("Ubuntu|http://box/ubuntu/\n")


@pytest.mark.parametrize(
    ("suites", "version"),
    [(("bookworm",), "6.1.176-1"), (("sid", "experimental"), "7.3~rc7-1~exp1")],
)
def test_the_newest_version_of_the_suites(suites: tuple[str, ...], version: str) -> None:
    assert packages.newest(MADISON, suites) == version


def test_a_suite_without_the_package_is_named() -> None:
    with pytest.raises(packages.UnavailableError, match="no such package in trixie"):
        packages.newest(MADISON, ("trixie",))


@pytest.mark.parametrize(
    ("name", "is_part"),
    [
        ("linux-image-6.1.0-50-amd64", True),
        ("linux-image-6.12.107+deb13-rt-amd64", True),
        ("linux-modules-7.3-amd64", True),
        ("linux-image-amd64", False),
        ("linux-base", False),
        ("initramfs-tools", False),
    ],
)
def test_the_packages_that_make_up_a_kernel(name: str, is_part: bool) -> None:
    assert bool(packages.PARTS.match(name)) == is_part


def test_a_command_that_is_not_there_is_a_reason() -> None:
    with pytest.raises(packages.UnavailableError, match="no-such-command is not installed"):
        packages.run("no-such-command")
    with pytest.raises(packages.UnavailableError, match=r"ls failed: .*no-such-file"):
        packages.run("ls", "/no-such-file")


def run_of(name: str) -> Run:
    kernel = next(kernel for kernel in KERNELS if kernel.name == name)
    outcome = machine.Outcome(1, "", "")
    facts: dict[str, object] = {"release": "6.1.0", "missing": ["csd_function"], "realtime": False}
    image = packages.Image(Path("vmlinuz"), "6.1-1")
    return Run(kernel, image, False, outcome, tuple(read(TOLD, GROUPS).values()), facts)


def test_what_came_of_the_tests_inside() -> None:
    states = [(case.name, case.group, case.state) for case in read(TOLD, GROUPS).values()]
    assert states == [
        ("test_a", "waits", "passed"),
        ("test_b[1]", "waits", "failed"),
        ("test_the_tick", "isolation", "skipped"),
        ("test_c", "waits", "stopped"),
        ("test_d", "waits", "unreached"),
    ]


def settled(*boots: str) -> tuple[str, list[list[str]]]:
    """The states of tests a, b, c and d after boots that end with these, and what each was to run.

    One letter a test that is run: p passed, f failed, s stopped, u unreached.
    """
    asked: list[list[str]] = []

    def boot(names: Sequence[str]) -> tuple[machine.Outcome, dict[str, Case]]:
        run = list("abcd") if "file" in names else list(names)
        states = {"p": "passed", "f": "failed", "s": "stopped", "u": "unreached"}
        told = {
            name: Case(name, "waits", states[letter])
            for name, letter in zip(run, boots[len(asked)], strict=True)
        } if boots[len(asked)] else {}  # fmt: skip
        asked.append(list(names))
        return machine.Outcome(None, "", "said"), told

    _, cases = settle(boot, ["file"])
    return "".join(case.state[0] for case in cases.values()), asked


@pytest.mark.parametrize(
    ("boots", "states", "asked"),
    [
        (["pppp"], "pppp", ["file"]),
        (["pfpp", "p"], "pppp", ["file", "b"]),
        (["pfpp", "f"], "pfpp", ["file", "b"]),
        (["psuu", "spp", ], "pspp", ["file", "bcd"]),
        (["psuu", "psu", "pp"], "pppp", ["file", "bcd", "cd"]),
        (["", "pppp"], "pppp", ["file", "file"]),
        (["", "", "", ""], "", ["file"] * 4),
        (["suuu", "psuu", "psu", "ps"], "ppps", ["file", "abcd", "bcd", "cd"]),
    ],
)  # fmt: skip
def test_what_did_not_pass_is_booted_again(boots: list[str], states: str, asked: list[str]) -> None:
    assert settled(*boots) == (states, [[a] if a == "file" else list(a) for a in asked])


def test_a_guest_that_says_nothing_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "console").touch()
    (tmp_path / "output").touch()
    sleeper = ["sleep", "60"]
    monkeypatch.setattr(machine, "BEGIN_S", 0)
    assert "did not begin" in machine.run(sleeper, tmp_path, 60)
    monkeypatch.setattr(machine, "BEGIN_S", 60)
    monkeypatch.setattr(machine, "SILENCE_S", 0)
    assert "it was silent for 0 s" in machine.run(sleeper, tmp_path, 60)
    assert "0 s are over" in machine.run(sleeper, tmp_path, 0)
    assert machine.run(["echo", "done"], tmp_path, 60) == "done\n"


def test_the_version_of_the_emulator() -> None:
    told = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright"
    assert emulator.version(told) == (7, 2) < emulator.NEEDED
    assert emulator.version("QEMU emulator version 10.0.2 (Debian)") >= emulator.NEEDED
    assert emulator.version("nothing of the kind") == (0, 0)


def test_the_document_is_rewritten_between_its_marks() -> None:
    told = json.loads(json.dumps(document.told(run_of("bookworm"))))
    text = document.rendered(f"before\n{document.BEGIN}old\n{document.END}after\n", [told])
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    for row in (
        "| missing | `csd_function` |",
        "| waits | 1 passed, 1 failed, 2 without an end |",
        "| identities | did not run |",
        "| the tick | skipped |",
    ):
        assert f"{row}\n" in text
    assert document.rendered(text, [told]) == text


def test_the_document_of_the_project_is_what_the_last_recorded_run_saw() -> None:
    """Where it is not: make docs-kernels."""
    text = document.DOCUMENT.read_text()
    recorded = json.loads(document.RESULT.read_text())["kernels"]
    assert document.rendered(text, recorded) == text
    assert [one["name"] for one in recorded] == [kernel.name for kernel in KERNELS]


def test_what_is_left_out_exists() -> None:
    for name in LEFT_OUT:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (machine.PROJECT / path).read_text()
