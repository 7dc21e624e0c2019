"""``--hash-hosts`` and ``--hash-key``: what hosts are called in a fleet."""

from __future__ import annotations

import argparse
from pathlib import Path

from noisetop.errors import UsageError
from noisetop.fleet.run import Anonymity
from noisetop.input import open_input

_MAX_KEY_BYTES = 1 << 16


def add_anonymity_arguments(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, hash_hosts: str
) -> None:
    """Declares both; ``hash_hosts``: the help of the first one."""
    parser.add_argument("--hash-hosts", action="store_true", help=hash_hosts)
    parser.add_argument(
        "--hash-key", metavar="FILE", type=Path, help="file with a secret key for --hash-hosts"
    )


def anonymity_of(args: argparse.Namespace) -> Anonymity:
    """What they ask for. Raises UsageError."""
    if args.hash_key is None:
        return Anonymity(args.hash_hosts)
    if not args.hash_hosts:
        raise UsageError("--hash-key is for --hash-hosts: add that")
    try:
        with open_input(args.hash_key, "a file with a key") as file:
            key = file.read(_MAX_KEY_BYTES).strip()
    except OSError as error:
        raise UsageError(f"cannot read {args.hash_key}: {error.strerror}") from None
    if not key:
        raise UsageError(f"{args.hash_key} is empty: write a secret into it")
    return Anonymity(True, key)
