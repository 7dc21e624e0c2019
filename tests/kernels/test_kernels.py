"""The tests of the kernel on kernels that people run, one item for each kernel and group.

`make test-kernels` boots each once; what it said is in build/kernels.
"""

from __future__ import annotations

import pytest

from tests.kernels import document, guest
from tests.kernels.catalogue import KERNELS, Kernel
from tests.kernels.packages import UnavailableError


def run_or_skip(kernel: Kernel) -> guest.Run:
    try:
        return guest.run(kernel)
    except UnavailableError as error:
        pytest.skip(f"{error}")


@pytest.mark.parametrize("group", guest.GROUPS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_kernel(kernel: Kernel, group: str) -> None:
    done = run_or_skip(kernel)
    cases = done.of(group)
    bad = [case for case in cases if case.state != "passed"]
    told = "\n\n".join(f"{case.name} {case.state}: {case.message}" for case in bad)
    assert not bad, f"{len(bad)} of {len(cases)} on {done.image.version}\n{told}"
    assert cases, f"no test of this group ran on {done.image.version}:\n{done.outcome.told()}"
    assert done.outcome.status is not None, f"the guest did not end:\n{done.outcome.told()}"


def test_the_document_tells_what_was_seen() -> None:
    """docs/kernels.md is written anew after a run of all kernels."""
    runs = [guest.RUNS[kernel] for kernel in KERNELS if kernel in guest.RUNS]
    if len(runs) < len(KERNELS):
        pytest.skip(f"{len(runs)} of {len(KERNELS)} kernels ran, docs/kernels.md stays as it is")
    document.rewrite(document.DOCUMENT, runs)
    assert all(run.kernel.name in document.DOCUMENT.read_text() for run in runs)
