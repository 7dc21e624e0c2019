"""The user who became root to trace: the command after ``--`` can run as that one."""

from __future__ import annotations

import os
import pwd
from collections.abc import Mapping
from dataclasses import dataclass

from noisetop.errors import NoisetopError

_OF_ROOT = ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "PKEXEC_UID", "DOAS_USER")
"""What sudo, pkexec and doas tell who runs under them; see their manual pages."""


@dataclass(frozen=True, slots=True)
class Caller:
    """As the password database has it."""

    uid: int
    gid: int
    name: str
    home: str

    def become(self) -> None:
        """This process runs as that user from now on, with the groups and without a capability.
        Raises OSError."""
        os.initgroups(self.name, self.gid)
        os.setresgid(self.gid, self.gid, self.gid)
        os.setresuid(self.uid, self.uid, self.uid)

    def environment(self, ours: Mapping[str, str]) -> dict[str, str]:
        """Ours, as that user has it."""
        kept = {name: value for name, value in ours.items() if name not in _OF_ROOT}
        return {**kept, "HOME": self.home, "USER": self.name, "LOGNAME": self.name}


def calling_user(environment: Mapping[str, str]) -> Caller:
    """Who called sudo, pkexec or doas. Raises NoisetopError when nobody did, or root."""
    number = environment.get("SUDO_UID") or environment.get("PKEXEC_UID")
    name = environment.get("DOAS_USER")
    try:
        entry = pwd.getpwuid(int(number)) if number else pwd.getpwnam(name) if name else None
    except (KeyError, ValueError):
        raise NoisetopError(f"--as-user: there is no user {number or name} here") from None
    if os.geteuid() or entry is None or not entry.pw_uid:
        raise NoisetopError(
            "--as-user takes a call with sudo, pkexec or doas by another user than root: leave it "
            "out"
        )
    return Caller(entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir)
