"""Metadata of stores with checksums (SHA-256), which are in the metadata of the group: damage is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from momentree.errors import MomentreeError
from momentree.files.atomic_write import printable

ATTRIBUTE = "checksums"  # of the group: of its own metadata without this attribute, and of those of each array
METADATA = "zarr.json"


def seal(folder: Path) -> None:
    """Write the checksums of all metadata into those of the group."""
    group = metadata(folder / METADATA)
    group["attributes"][ATTRIBUTE] = _sums(folder)
    (folder / METADATA).write_text(json.dumps(group, indent=2), encoding="utf-8")


def check_seal(folder: Path, attributes: Mapping[str, Any]) -> None:
    """Refuse metadata that are not those that were sealed."""
    sealed = attributes.get(ATTRIBUTE)
    sealed = dict(sealed) if isinstance(sealed, Mapping) else {}
    found = _sums(folder)
    wrong = [file for file in dict.fromkeys([METADATA, *found, *sealed]) if sealed.get(file) != found.get(file)]
    if wrong:
        message = "is damaged, or was changed by another program: its checksum (SHA-256) is another"
        raise MomentreeError(
            f"{printable(folder / wrong[0])}: {message}. Restore it, or delete the store and run the study again."
        )


def _sums(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder).as_posix()): _sum(file) for file in sorted(folder.glob(f"*/{METADATA}"))} | {
        METADATA: _sum(folder / METADATA)
    }


def _sum(file: Path) -> str:
    """Of what it says, however it is laid out; "" if that cannot be read."""
    try:
        data = metadata(file)
        data["attributes"].pop(ATTRIBUTE, None)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def metadata(file: Path) -> Any:
    """What a file says."""
    return json.loads(file.read_text(encoding="utf-8"))
