"""The tests of the kernel on configurations that no distribution has, one item for each and group.

`make test-configs` builds and boots each once; what it said is in build/configs.
"""

from __future__ import annotations

import pytest

from tests.configs import boot
from tests.configs.catalogue import CONFIGURATIONS, Configuration
from tests.guests.packages import UnavailableError


@pytest.mark.parametrize("group", boot.GROUPS)
@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=lambda one: one.name)
def test_configuration(configuration: Configuration, group: str) -> None:
    try:
        done = boot.run(configuration)
    except UnavailableError as error:
        pytest.skip(f"{error}")
    cases = done.of(group)
    bad = [case for case in cases if case.state != "passed"]
    told = "\n\n".join(f"{case.name} {case.state}: {case.message}" for case in bad)
    assert not bad, f"{len(bad)} of {len(cases)} on {done.image.version}\n{told}"
    assert cases, f"no test of this group ran on {done.image.version}:\n{done.outcome.told()}"
    assert done.outcome.status is not None, f"the guest did not end:\n{done.outcome.told()}"
