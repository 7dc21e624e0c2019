"""Who the command after ``--`` runs as with --as-user."""

from __future__ import annotations

import os
import pwd

import pytest

from noisetop.errors import NoisetopError
from noisetop.session.caller import Caller, calling_user

NOBODY = pwd.getpwnam("nobody")


@pytest.fixture(autouse=True)
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.parametrize(
    "environment",
    [
        {"SUDO_UID": str(NOBODY.pw_uid), "SUDO_GID": "0"},
        {"PKEXEC_UID": str(NOBODY.pw_uid)},
        {"DOAS_USER": "nobody"},
    ],
    ids=["sudo", "pkexec", "doas"],
)
def test_who_called_is_found(environment: dict[str, str]) -> None:
    caller = calling_user(environment)
    assert (caller.uid, caller.gid, caller.name) == (NOBODY.pw_uid, NOBODY.pw_gid, "nobody")


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "leave it out"),
        ({"SUDO_UID": "0"}, "another user than root"),
        ({"SUDO_UID": "4294967294"}, "no user 4294967294"),
        ({"SUDO_UID": "x"}, "no user x"),
        ({"DOAS_USER": "not-here"}, "no user not-here"),
    ],
)
def test_nobody_else_called(environment: dict[str, str], reason: str) -> None:
    with pytest.raises(NoisetopError, match=reason):
        calling_user(environment)


def test_only_root_can_become_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoisetopError, match="--as-user takes a call with sudo"):
        calling_user({"SUDO_UID": str(NOBODY.pw_uid)})


def test_the_environment_is_that_of_the_user() -> None:
    ours = {"SUDO_UID": "7", "SUDO_COMMAND": "x", "HOME": "/root", "USER": "root", "LANG": "C"}
    theirs = Caller(7, 8, "ann", "/home/ann").environment(ours)
    assert theirs == {"HOME": "/home/ann", "USER": "ann", "LOGNAME": "ann", "LANG": "C"}
