"""What a robot file says that a model cannot hold: collected by kind and name, and reported once."""

from __future__ import annotations

from momentree.errors import warn
from momentree.model import Model
from momentree.model.notes import Note

FEW = 4  # names that the warning lists of each kind; `model.notes` has all


class FileNotes(UserWarning):
    """What was changed or left out when a robot file was read or written."""


class Notes:
    """Notes by kind, in the order in which they came up."""

    def __init__(self, file: str):
        self.file = file
        self.by_kind: dict[str, list[str]] = {}
        self.quiet: set[str] = set()  # kinds that the warning passes over: the file is read as it stands

    def add(self, kind: str, name: str = "", quiet: bool = False) -> None:
        """Something that has no counterpart, or was changed; `quiet` what the file left open and was chosen."""
        self.by_kind.setdefault(kind, []).append(name)
        if quiet:
            self.quiet.add(kind)

    def listed(self) -> tuple[Note, ...]:
        """All of them, for `model.notes`."""
        return tuple(
            Note(kind, tuple(name for name in dict.fromkeys(names) if name), len(names))
            for kind, names in self.by_kind.items()
        )

    def report(self, model: Model) -> None:
        """Give the model its notes, and say them in one warning, if there are any but quiet ones."""
        model.notes = self.listed()
        said = [note.shown(FEW) for note in model.notes if note.kind not in self.quiet]
        if said:
            warn(FileNotes(f"{self.file}: {'; '.join(said)}"))
