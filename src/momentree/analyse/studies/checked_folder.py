"""Chunks of stores with checksums (CRC-32C): damaged ones and missing ones are noticed when they are read.

Every chunk that was computed is a file, and ends in its checksum, which any reader of Zarr 3 verifies. What is read
through a `CheckedFolder` names the file, too, and does not take a file that is missing for one without values.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import google_crc32c
from zarr.codecs import Crc32cCodec, ZstdCodec
from zarr.storage import LocalStore

from momentree.analyse.studies.sealed_metadata import METADATA, metadata
from momentree.errors import MomentreeError
from momentree.files.atomic_write import printable

CODECS = (ZstdCodec(), Crc32cCodec())
LENGTH = 4  # bytes of a checksum
AGAIN = "Delete this file, and run the same study again: it computes what is missing."


class CheckedFolder(LocalStore):
    """A store whose chunks are whole: a damaged one, or one that is missing, is an error that names its file."""

    async def get(self, key: str, *more: Any, **options: Any) -> Any:
        """The content of a file."""
        return self._checked(key, await super().get(key, *more, **options))

    def get_sync(self, key: str, *more: Any, **options: Any) -> Any:
        """The same."""
        return self._checked(key, super().get_sync(key, *more, **options))

    def _checked(self, key: str, found: Any) -> Any:
        name, within, chunk = key.partition("/c/")
        if not within:
            return found
        if found is None:
            if self._is_due(name, chunk):
                message = "is missing, though its motions were computed"
                raise MomentreeError(f"{printable(self.root / key)}: {message}. Run the same study again.")
            return None
        content = found.to_bytes()
        if google_crc32c.value(content[:-LENGTH]).to_bytes(LENGTH, "little") != content[-LENGTH:]:
            raise MomentreeError(f"{printable(self.root / key)}: is damaged: its checksum is another. {AGAIN}")
        return found

    def _is_due(self, name: str, chunk: str) -> bool:
        """Whether it was written: the values of the design are, and what is computed if its status is."""
        computed, dims = self._written_by_region
        return name not in computed or (self.root / "status" / "c" / Path(*chunk.split("/")[:dims])).exists()

    @cached_property
    def _written_by_region(self) -> tuple[set[str], int]:
        """The variables that are computed, and how many dims the design has."""
        outputs = json.loads(metadata(self.root / METADATA)["attributes"]["study"])["outputs"]
        return {*outputs, "reason", "status"}, len(metadata(self.root / "status" / METADATA)["shape"])
