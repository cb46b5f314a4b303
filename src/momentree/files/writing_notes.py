"""What a robot format cannot express of a model: an error that names each culprit or, if told so, one warning.

| what                                                    | then                                                       |
|---------------------------------------------------------|------------------------------------------------------------|
| mechanics that the format cannot express                | an error; with lossy=True it is left out, and listed       |
| drawings, starts, names; coordinates that count afresh  | changed or left out, and listed                            |
"""

from __future__ import annotations

import os

from momentree.errors import ModelError, Problem, warn
from momentree.files.atomic_write import printable
from momentree.files.counterparts import FEW, FileNotes, Notes
from momentree.model import Model

TOML = "Save it as TOML, which can"


class WritingNotes:
    """Collects what cannot be written of a model, and what is changed.

    | field  | meaning                                           |
    |--------|---------------------------------------------------|
    | format | its name in messages, "URDF"                      |
    | lossy  | whether what cannot be expressed is left out      |
    """

    def __init__(self, model: Model, path: str | os.PathLike[str], format: str, lossy: bool):
        self.model, self.format, self.lossy = model, format, lossy
        self.notes = Notes(printable(path))
        self.problems: list[Problem] = []
        self.fatal: list[Problem] = []

    def lose(self, kind: str, name: str, what: str, way_out: str = TOML, listed: str = "") -> None:
        """Mechanics that cannot be expressed: `what` follows the culprit, "joint 'A'", in a sentence.

        The warning lists it by `listed` and the name.
        """
        message = f"{what}, which {self.format} cannot express. {way_out}, or leave it out with lossy=True (--lossy)."
        culprit = f"{kind} '{name}'" if kind else ""
        self.problems.append(Problem(culprit, message, place=self.model.place_of(kind, name) if kind else ""))
        self.notes.add(listed or f"left out ({what})", name)

    def problem(self, kind: str, name: str, what: str, way_out: str, otherwise: str) -> None:
        """Something that the format refuses, and that is changed if told so."""
        message = f"{what}. {way_out}, {otherwise} with lossy=True (--lossy)."
        self.problems.append(Problem(f"{kind} '{name}'", message, place=self.model.place_of(kind, name)))

    def forbid(self, kind: str, name: str, message: str) -> None:
        """What can neither be expressed nor left out: an error in any case."""
        self.fatal.append(Problem(f"{kind} '{name}'", message, place=self.model.place_of(kind, name)))

    def change(self, what: str, name: str = "") -> None:
        """Something that is written in another way, or that is only drawn and left out."""
        self.notes.add(what, name)

    def report(self) -> None:
        """One error with everything that cannot be expressed, or one warning with what is left out and changed."""
        problems = self.fatal if self.lossy else [*self.fatal, *self.problems]
        if problems:
            raise ModelError(problems)
        said = self.notes.listed()
        if said:
            warn(FileNotes(f"{self.notes.file}: {'; '.join(note.shown(FEW) for note in said)}"))
