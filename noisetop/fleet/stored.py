"""A fleet that an engine reads by its own means: in an object store, as ``s3://bucket/fleet``."""

from __future__ import annotations

import glob
from dataclasses import dataclass

from noisetop.fleet.folder import MARKER, SUFFIX

_SEPARATOR = "://"


@dataclass(frozen=True, slots=True)
class StoredFleet:
    """Only read: exports go to a folder, which is copied there."""

    url: str
    """Without a slash at its end."""

    @property
    def scheme(self) -> str:
        """``s3`` of ``s3://bucket/fleet``."""
        return self.url.partition(_SEPARATOR)[0].lower()

    @property
    def marker(self) -> str:
        """What says that it is a fleet."""
        return f"{self.url}/{MARKER}"

    def folder(self, table: str) -> str:
        """What is below which all files of a table are."""
        return f"{self.url}/{table}"

    def pattern(self, table: str) -> str:
        """Matches all files of a table: by day, host and run."""
        return f"{glob.escape(self.url)}/{table}/*/*/*{SUFFIX}"


def is_url(text: str) -> bool:
    """Whether that names no folder of this machine."""
    return _SEPARATOR in text
