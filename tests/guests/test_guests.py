"""The tests of the kernel on kernels that people run, one item for each kernel and group.

`make test-guests` boots each once; what it said is in build/guests.
"""

from __future__ import annotations

import pytest

from tests.guests import guest
from tests.guests.catalogue import KERNELS, Kernel
from tests.guests.packages import UnavailableError


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
