"""Errors: each names the culprit and the way out; misspelt and old names are answered with the right ones."""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import reprlib
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

MOST_NAMES = 1000  # that are searched for the one that was meant
MOST_HINTS = 100  # misspelt names of one model for which that is done
MOST_CHOICES = 8  # that are listed

P = ParamSpec("P")
T = TypeVar("T")


class MomentreeError(Exception):
    """The base of every error that a mistake in a model, a file or a call can cause.

    All of them survive pickle and copy unchanged, as process pools require, whatever arguments they take.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.args, dict(vars(self)))


def _restored(cls: type[MomentreeError], args: tuple[Any, ...], fields: dict[str, Any]) -> MomentreeError:
    error = cls.__new__(cls, *args)  # not __init__, which would make the message again
    vars(error).update(fields)
    return error


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a model.

    | field   | meaning                                                                 |
    |---------|-------------------------------------------------------------------------|
    | where   | the culprit, as the user calls it: "joint 'C'"                          |
    | message | what is wrong and the way out                                           |
    | path    | its keys in a model file: ("joint", 3, "axis"); () if it has none       |
    | place   | "four-bar.toml:23" if the model came from a file, else ""               |
    | missing | kind and name of what does not exist: ("body", "cuopler")               |
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
    """A model that is hardly meant: an impossible inertia, a joint given twice, an inferred carrier, locked loops."""


class RunWarning(UserWarning):
    """A run whose diagnostics are bad (open loops, energy out of balance, cut short), or that begins in a stop."""


class ExpressionError(MomentreeError):
    """A mistake in the text of an expression, with its position (0-based) in the text."""

    WIDTH = 60  # characters that are shown before and after the position

    def __init__(self, message: str, text: str = "", position: int = 0):
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}\n{self._pointed()}" if text else message)

    def _pointed(self) -> str:
        """The text around the position, unprintable characters as blanks, and a caret below it."""
        start, end = max(0, self.position - self.WIDTH), self.position + self.WIDTH
        shown = "".join(c if c.isprintable() else " " for c in self.text[start:end])
        before, after = "..." * (start > 0), "..." * (end < len(self.text))
        return f"    {before}{shown}{after}\n    {' ' * (len(before) + self.position - start)}^"


class ArgumentError(MomentreeError, TypeError):
    """A call by a name that no argument has."""


class GraphError(MomentreeError):
    """A graph that is not the graph of a mechanical system."""


class AssemblyError(MomentreeError):
    """No configuration was found that closes every loop; the message has the remaining closure error.

    `culprit` is the joint or constraint that stays open, ("joint", "C"), or None.
    """

    def __init__(self, message: str, culprit: tuple[str, str] | None = None):
        self.culprit = culprit
        super().__init__(message)


class AssemblyWarning(UserWarning):
    """States that close every loop, but may not be those that were meant: on another branch, or with degrees."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The way out of a misspelt name: " Did you mean 'coupler'?", or the choices: " Choose 'A', 'B' or 'C'."."""
    known = list(itertools.islice(known, MOST_NAMES))
    folded = {str(other).casefold(): other for other in known}
    near = difflib.get_close_matches(str(name).casefold(), list(folded), n=1, cutoff=0.6)
    if near:
        return f" Did you mean '{folded[near[0]]}'?"
    return f" Choose {choices(known)}." if known else " None is defined yet."


def all_choices(name: str, known: Sequence[str]) -> str:
    """All choices, and the nearest one if there is one: " Choose 'A', 'B' or 'C'. Did you mean 'B'?"."""
    listed, hint = f" Choose {choices(known, len(known))}.", suggestion(name, known)
    return listed if hint == listed else f"{listed}{hint}"


def choices(known: Sequence[Any], most: int = MOST_CHOICES) -> str:
    """ "'A', 'B' or 'C'"; of many, the first few."""
    quoted = [f"'{one}'" for one in known]
    if len(quoted) > most:
        return f"{', '.join(quoted[:most])} or another of {len(quoted)}"
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def warn(warning: Warning) -> None:
    """Issue a warning at the line of the caller's own program: the first frame outside of this package."""
    package, level = str(Path(__file__).parent), 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level + 1)


# --- misspelt names of arguments --------------------------------------------------------------------------------------


def spell_checked(thing: T) -> T:
    """Decorate a function, or a class with all public methods, to answer misspelt names of arguments."""
    if not isinstance(thing, type):
        return cast("T", _spell_checked(thing))
    members = {name: member for kind in reversed(thing.__mro__[:-1]) for name, member in vars(kind).items()}
    for name, attribute in members.items():
        if name == "__init__" or not name.startswith("_"):
            if isinstance(attribute, FunctionType):
                setattr(thing, name, _spell_checked(attribute, thing.__name__ if name == "__init__" else name))
            elif isinstance(attribute, classmethod):
                setattr(thing, name, classmethod(_spell_checked(attribute.__func__)))
    return thing


def _spell_checked(function: Any, called: str = "") -> Any:
    if getattr(function, "spell_checked", False):
        return function

    @functools.wraps(function)
    def call(*args: Any, **arguments: Any) -> Any:
        try:
            return function(*args, **arguments)
        except TypeError:
            known = inspect.signature(function).parameters.values()
            names = [one.name for one in known if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
            unknown = next((name for name in arguments if name not in names), None)
            if unknown is None or any(one.kind is one.VAR_KEYWORD for one in known):
                raise
        of_call = [name for name in names if name != "self"]
        message = f"{called or function.__name__}: there is no argument '{unknown}'.{suggestion(unknown, of_call)}"
        raise ArgumentError(message)

    call.spell_checked = True  # type: ignore[attr-defined]
    return call


# --- names that were in use before -----------------------------------------------------------------------------------


def renamed(**names: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function to answer old names of its arguments: `@renamed(closure="stabilization")`."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def call(*args: P.args, **arguments: P.kwargs) -> T:
            for old in names.keys() & arguments.keys():
                example = f"{function.__name__}(..., {names[old]}={reprlib.repr(arguments[old])})"
                raise MomentreeError(f"{old} is now called {names[old]}: {example}.")
            return function(*args, **arguments)

        return call

    return decorate


def renamed_attributes(**names: str) -> Callable[[Any, str], Any]:
    """A `__getattr__` that answers old names of attributes: `__getattr__ = renamed_attributes(rate="velocity")`."""

    def answer(self: Any, name: str) -> Any:
        kind = type(self).__name__
        if name in names:
            raise AttributeError(f"{name} is now called {names[name]}: {kind.lower()}.{names[name]}.")
        raise AttributeError(f"'{kind}' object has no attribute '{name}'")

    return answer
