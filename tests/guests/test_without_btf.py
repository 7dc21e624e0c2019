"""A kernel whose BTF is hidden: BCC compiles the programs from its headers, and the counts hold."""

from __future__ import annotations

import functools
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from noisetop.tracing import bcc
from tests.guests import guest, machine, packages
from tests.guests.cases import Case
from tests.guests.catalogue import KERNELS

BOOKWORM = next(kernel for kernel in KERNELS if kernel.name == "bookworm")
FOLDER = guest.FOLDER / "without-btf"
GROUPS = {
    "chosen": "tests/guests/inside/test_chosen.py",
    "identities": "tests/kernel/test_identities.py",
}
PATIENCE_S = 900
"""The compiler has much to do for an emulated CPU."""


def command(headers: Path, refusal: Path, names: Sequence[str]) -> str:
    """What the guest does: hides its BTF, is refused, gets its headers, runs the tests."""
    noisetop = shlex.join([sys.executable, "-m", "noisetop", "-c", "1", "--plain", "1", "1"])
    sources = shlex.quote(str(headers / "usr/src"))
    return f"""
mount -t tmpfs none /sys/kernel/btf
mount -t tmpfs none /lib/modules
modules=/lib/modules/$(uname -r)
mkdir $modules
{noisetop} >{shlex.quote(str(refusal))} 2>&1
ln -s {sources}/linux-headers-$(uname -r) $modules/build
ln -s {sources}/linux-headers-*-common $modules/source
{guest.pytest_command(BOOKWORM, FOLDER, names, guest.LOAD_SHARE)}"""


@functools.cache
def outcome() -> tuple[machine.Outcome, str, tuple[Case, ...]]:
    """The guest's end, what it said without headers, and its tests."""
    machine.check_tools()
    if not bcc.find_interpreter():
        raise packages.UnavailableError("BCC is not installed: apt install python3-bpfcc")
    image = packages.fetch(BOOKWORM.package, BOOKWORM.suites)
    headers = packages.fetch_headers("linux-headers-amd64", BOOKWORM.suites)
    refusal = FOLDER / "refusal"
    refusal.unlink(missing_ok=True)

    def boot(names: Sequence[str]) -> machine.Outcome:
        script = command(headers, refusal, names)
        return machine.boot(image, FOLDER, script, patience_s=PATIENCE_S)

    done, cases = guest.run_tests(boot, FOLDER, GROUPS)
    said = refusal.read_text() if refusal.exists() else ""
    return done, said, tuple(cases.values())


def outcome_or_skip() -> tuple[machine.Outcome, str, tuple[Case, ...]]:
    try:
        return outcome()
    except packages.UnavailableError as error:
        pytest.skip(f"{error}")


def test_without_headers_one_line_says_what_to_install() -> None:
    done, refusal, _ = outcome_or_skip()
    assert len(refusal.splitlines()) == 1, f"{refusal}\n{done.told()}"
    assert "no BTF" in refusal
    assert "linux-headers-6.1." in refusal


@pytest.mark.parametrize("group", GROUPS)
def test_with_headers_bcc_serves(group: str) -> None:
    done, _, cases = outcome_or_skip()
    mine = [case for case in cases if case.group == group]
    bad = [case for case in mine if case.state != "passed"]
    told = "\n\n".join(f"{case.name} {case.state}: {case.message}" for case in bad)
    assert not bad, told
    assert mine, f"no test of this group ran:\n{done.told()}"
