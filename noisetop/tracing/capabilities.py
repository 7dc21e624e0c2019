"""Gives up the privileges that a trace does not need once its programs are attached.

What must stay is found by trying: before Linux 5.19, and depending on
``kernel.unprivileged_bpf_disabled``, reading maps takes CAP_BPF.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable

from noisetop import _native

CAP_BPF = 39
# include/uapi/linux/prctl.h
_PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 24, 38
_MOST_CAPABILITIES = 64


def drop_capabilities(reads: Callable[[], object]) -> int:
    """Leaves this thread, and those that it starts, without any capability but those that ``reads``
    cannot do without; no program that it runs gets any back. Returns what stays, a bit for each.

    Other threads of the process keep theirs: call it before there are any. The native drain thread
    has given up its own. ``reads`` raises _native.TracerError or OSError where it is refused; other
    errors pass through.
    """
    _never_more()
    permitted = _native.permitted_capabilities()
    _native.set_capabilities(0, permitted)
    kept = 0 if _works(reads) else (1 << CAP_BPF) & permitted
    _native.set_capabilities(kept, kept)
    return kept


def _works(reads: Callable[[], object]) -> bool:
    try:
        reads()
    except (_native.TracerError, OSError) as error:
        if error.args[0] not in (errno.EPERM, errno.EACCES):
            raise
        return False
    return True


def _never_more() -> None:
    """Takes away what a program could get by being run. The bounding set takes CAP_SETPCAP, without
    which it stays as it is: the first call is enough alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    for capability in range(_MOST_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
