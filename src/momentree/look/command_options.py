"""What all commands do with their words: old names of options, --load wherever there is a file, plain values."""

from __future__ import annotations

import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

OLD_OPTIONS = {"--closure": "--stabilization", "--rate": "--velocity"}
HOW_TO_LOAD: dict[str, Any] = {}  # options of `load`, as --load says them: kept for the one command that runs
LOAD_HELP = """Robots (URDF, SDF, MJCF, xacro) are read like model files. --load NAME=VALUE says how, and is
repeatable: inertia_check=warn, floating=true, packages=FOLDER, closures=FILE.yaml, massless=fix, trust=true, ..."""
PLAIN = (str, int, float, Path, bool)  # types that take a word as it is, or refuse it
T = TypeVar("T")


class Command(TyperCommand):
    """A command that answers an option's old name with the new one, and takes --load wherever it takes a file."""

    def __init__(self, *args: Any, **options: Any):
        params = options.get("params") or ()
        takes_file = any(parameter.name in ("file", "files") for parameter in params)
        super().__init__(*args, **(options | {"epilog": LOAD_HELP} if takes_file else options))
        for parameter in params:
            take_plainly(parameter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        said, args = _taken(args, "--load")
        HOW_TO_LOAD.clear()
        if said:
            from momentree.files.load import load_options

            HOW_TO_LOAD.update(load_options(said))
        for word in args:
            old, equals, value = word.partition("=")
            if old in OLD_OPTIONS:
                ctx.fail(f"{old} is now called {OLD_OPTIONS[old]}: write {OLD_OPTIONS[old]}{equals}{value}.")
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def get_help_option(self, ctx: Any) -> Any:
        return take_plainly(super().get_help_option(ctx))


class Commands(TyperGroup):
    """All commands."""

    def get_help_option(self, ctx: Any) -> Any:
        return take_plainly(super().get_help_option(ctx))


def take_plainly(parameter: T) -> T:
    """Let a parameter take words of plain types by itself; Typer is asked about what is missing or refused.

    It has Pydantic check every word, also of options that are not given: to load that takes longer than a small model.
    """
    said = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    many, kind = get_origin(said) is list, (*get_args(said), said)[0]
    if kind in PLAIN and "process_value" not in vars(parameter):
        asked: Callable[[Any, Any], Any] = parameter.process_value  # type: ignore[attr-defined]

        def process_value(self: Any, ctx: Any, value: Any) -> Any:
            try:
                plain = _plain(kind, many, value)
            except (TypeError, ValueError):
                return asked(ctx, value)
            if self.required and not plain:
                return asked(ctx, value)
            return plain if self.callback is None else self.callback(ctx, self, plain)

        parameter.process_value = types.MethodType(process_value, parameter)  # type: ignore[attr-defined]
    return parameter


def _plain(kind: type, many: bool, value: Any) -> Any:
    """The value of an option; an error where its type has to be asked."""
    if value is None or isinstance(value, kind):
        return () if many else value
    if many != isinstance(value, (list, tuple)) or kind is bool:
        raise TypeError
    return tuple(map(kind, value)) if many else kind(value)


def _taken(args: list[str], option: str) -> tuple[list[str], list[str]]:
    """The values of a repeatable option, and the other words."""
    values, rest, words = [], [], iter(args)
    for word in words:
        if word == option:
            values.append(next(words, ""))
        elif word.startswith(f"{option}="):
            values.append(word.removeprefix(f"{option}="))
        else:
            rest.append(word)
    return values, rest
