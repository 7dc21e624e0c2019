from __future__ import annotations

from pathlib import Path

import pytest

from noisetop.machine.state_folder import SYSTEM_FOLDER, state_folder


@pytest.mark.parametrize(
    ("environment", "user", "folder"),
    [
        ({"HOME": "/home/ada"}, 1000, Path("/home/ada/.local/state/noisetop")),
        ({"HOME": "/root"}, 0, SYSTEM_FOLDER),
        ({"HOME": "/home/ada", "XDG_STATE_HOME": "/state"}, 1000, Path("/state/noisetop")),
        ({"XDG_STATE_HOME": "/state"}, 0, Path("/state/noisetop")),
        ({"HOME": "/home/ada", "XDG_STATE_HOME": "state"}, 0, SYSTEM_FOLDER),
        ({"XDG_STATE_HOME": ""}, 0, SYSTEM_FOLDER),
    ],
)
def test_whose_folder(environment: dict[str, str], user: int, folder: Path) -> None:
    assert state_folder(environment, user) == folder
