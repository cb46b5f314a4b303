"""What can go wrong, said once and clearly: every error names the culprit and the way out."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MOST_NAMES = 1000  # among which the one that was meant is looked for


class MomentreeError(Exception):
    """The base of every error that a mistake in a model, a file or a call can cause.

    All of them pass whole through pickle and copy, as pools of processes need it, whatever arguments they are made of.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, dict(vars(self)))


def _restored(cls: type[MomentreeError], args: tuple[Any, ...], fields: dict[str, Any]) -> MomentreeError:
    error = cls.__new__(cls, *args)  # the message is known already, so nothing is to be made of the fields
    vars(error).update(fields)
    return error


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a model.

    | field   | meaning                                                                 |
    |---------|-------------------------------------------------------------------------|
    | where   | the culprit, as the user calls it: "joint 'C'"                           |
    | message | what is wrong and the way out                                            |
    | path    | where it stands in a model file: ("joint", 3, "axis"); () if nowhere    |
    | place   | "four-bar.toml:23" once a file is known to be the source, else ""        |
    | missing | the kind and name of what was looked for in vain: ("body", "cuopler")   |
    """

    where: str
    message: str
    path: tuple[str | int, ...] = ()
    place: str = ""
    missing: tuple[str, str] | None = None

    def __str__(self) -> str:
        return ": ".join(part for part in (self.place, self.where, self.message) if part)


class ModelError(MomentreeError):
    """Every problem of a model at once; of thousands, the first thousand."""

    def __init__(self, problems: Sequence[Problem]):
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class ModelWarning(UserWarning):
    """A model that can be computed, but not as it is in nature: bodies with inertias that no body has."""


class ExpressionError(MomentreeError):
    """A mistake in the text of an expression, with its place (0-based) in the text."""

    WIDTH = 60  # characters that are shown before and after the place

    def __init__(self, message: str, text: str = "", position: int = 0):
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}\n{self._pointed()}" if text else message)

    def _pointed(self) -> str:
        """The text around the place, unprintable characters as blanks, and a caret below it."""
        start, end = max(0, self.position - self.WIDTH), self.position + self.WIDTH
        shown = "".join(c if c.isprintable() else " " for c in self.text[start:end])
        before, after = "..." * (start > 0), "..." * (end < len(self.text))
        return f"    {before}{shown}{after}\n    {' ' * (len(before) + self.position - start)}^"


class GraphError(MomentreeError):
    """A graph that is not the graph of a mechanical system."""


class AssemblyError(MomentreeError):
    """A configuration that closes every loop was not found; says how near it came.

    `culprit` is what is short, ("joint", "C"), where one thing can be named.
    """

    def __init__(self, message: str, culprit: tuple[str, str] | None = None):
        self.culprit = culprit
        super().__init__(message)


def suggestion(name: str, known: Iterable[str]) -> str:
    """The way out of a misspelt name: " Did you mean 'coupler'?", or the list of what there is."""
    known = list(itertools.islice(known, MOST_NAMES))
    folded = {str(other).casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f" Did you mean '{folded[near[0]]}'?"
    if not known:
        return " There is none yet."
    shown = ", ".join(f"'{other}'" for other in known[:8])
    return f" There is {shown}{' and others' if len(known) > 8 else ''}."
