"""What a robot file says that a model cannot hold: collected by kind and name, and reported once."""

from __future__ import annotations

from collections.abc import Mapping

from momentree.errors import warn

FEW = 4  # names that a report lists of each kind


class FileNotes(UserWarning):
    """What was changed or left out when a robot file was read or written."""


class Notes:
    """Notes by kind, in the order in which they came up."""

    def __init__(self, file: str):
        self.file = file
        self.by_kind: dict[str, list[str]] = {}

    def add(self, kind: str, name: str = "") -> None:
        """Something that has no counterpart, or was changed."""
        self.by_kind.setdefault(kind, []).append(name)

    def report(self) -> None:
        """One warning with all of them, if there are any."""
        if self.by_kind:
            warn(FileNotes(f"{self.file}: {listed(self.by_kind)}"))


def listed(notes: Mapping[str, list[str]]) -> str:
    """ "left out: <gazebo> (3); mesh not found: 'a.stl', 'b.stl' and 7 more"."""
    parts = []
    for kind, names in notes.items():
        named = [f"'{name}'" for name in dict.fromkeys(names) if name]
        more = f" and {len(named) - FEW} more" if len(named) > FEW else ""
        parts.append(f"{kind}: {', '.join(named[:FEW])}{more}" if named else f"{kind} ({len(names)})")
    return "; ".join(parts)
