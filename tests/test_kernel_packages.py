"""What the harness of make test-kernels reads: apt's lists, JUnit files, its own document."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels import document, machine, packages
from tests.kernels.catalogue import KERNELS
from tests.kernels.guest import LEFT_OUT, Run, read_cases

MADISON = """\
linux-image-amd64 | 7.3~rc7-1~exp1 | http://box/debian experimental/main amd64 Packages
linux-image-amd64 |   7.2.13-1 | http://box/debian sid/main amd64 Packages
linux-image-amd64 |  6.1.176-1 | http://box/debian bookworm/main amd64 Packages
"""
WAITS, ISOLATION = "tests.kernel.test_waits", "tests.kernels.inside.test_isolation"
JUNIT = f"""<testsuites><testsuite>
<testcase classname="{WAITS}" name="test_a"/>
<testcase classname="{WAITS}" name="test_b[1]"><failure message="no">why</failure></testcase>
<testcase classname="{ISOLATION}" name="test_the_tick"><skipped message="so"/></testcase>
</testsuite></testsuites>"""
GROUPS = {
    "waits": "tests/kernel/test_waits.py",
    "isolation": "tests/kernels/inside/test_isolation.py",
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
    outcome = machine.Outcome(1, "", "", 9.0)
    facts: dict[str, object] = {"release": "6.1.0", "missing": ["csd_function"], "realtime": False}
    image = packages.Image(Path("vmlinuz"), "6.1-1")
    return Run(kernel, image, False, outcome, read_cases(JUNIT, GROUPS), facts)


def test_what_came_of_the_tests_inside() -> None:
    states = [(case.name, case.group, case.state) for case in read_cases(JUNIT, GROUPS)]
    assert states == [
        ("test_a", "waits", "passed"),
        ("test_b[1]", "waits", "failed"),
        ("test_the_tick", "isolation", "skipped"),
    ]


def test_the_document_is_rewritten_between_its_marks(tmp_path: Path) -> None:
    path = tmp_path / "kernels.md"
    path.write_text(f"before\n{document.BEGIN}old\n{document.END}after\n")
    document.rewrite(path, [run_of("bookworm")])
    text = path.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| missing | `csd_function` |\n" in text
    assert "| waits | 1 passed, 1 failed |\n" in text
    assert "| identities | did not run |\n" in text
    assert "| the tick | skipped |\n" in text
    document.rewrite(path, [run_of("bookworm")])
    assert path.read_text() == text


def test_the_document_of_the_project_has_its_marks() -> None:
    text = document.DOCUMENT.read_text()
    assert text.count(document.BEGIN) == text.count(document.END) == 1


def test_what_is_left_out_exists() -> None:
    for name in LEFT_OUT:
        path, _, function = name.partition("::")
        assert f"def {function}(" in (machine.PROJECT / path).read_text()
