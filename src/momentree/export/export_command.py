"""`momentree export`: a model as an FMU or as C, as the ending of the file says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from momentree.errors import MomentreeError, suggestion
from momentree.model.values import Values

if TYPE_CHECKING:
    from momentree.system import System

Named = dict[str, Any]
Words = list[str] | None
Model = Annotated[Path, typer.Argument(metavar="FILE", help="A model file, or a robot.", show_default=False)]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="A file that ends in .fmu or in .c.", show_default=False)]
Free = Annotated[Words, typer.Option("--free", metavar="NAME", help="A parameter that stays free, or all; repeatable.")]
Inputs = Annotated[Words, typer.Option("--input", metavar="NAME", help="A parameter that is an input of the FMU.")]
From = Annotated[Words, typer.Option("--from", metavar="NAME=VALUE", help="A coordinate at the start; repeatable.")]
Velocity = Annotated[
    Words, typer.Option("--velocity", metavar="NAME=VALUE", help="A velocity at the start; repeatable.")
]
Parameter = Annotated[
    Words, typer.Option("--parameter", metavar="NAME=VALUE", help="The value of a parameter, which stays free.")
]
Version = Annotated[str, typer.Option("--fmi", help="The version of the standard: 3.0 or 2.0.")]
Kind = Annotated[Words, typer.Option("--kind", help="'model exchange' or 'co-simulation'; both if not given.")]
Platforms = Annotated[
    Words, typer.Option("--platform", help="A platform of its library, such as x86_64-windows, or none; repeatable.")
]
ALL = "all"


def export_command(
    build: Callable[[Path, Named], System],
    warning: Callable[[], AbstractContextManager[None]],
) -> Callable[..., None]:
    """The command; `build` makes the system of a file, `warning` prints warnings."""

    def export(
        file: Model,
        out: Out,
        free: Free = None,
        inputs: Inputs = None,
        coordinates: From = None,
        velocities: Velocity = None,
        parameter: Parameter = None,
        version: Version = "3.0",
        kind: Kind = None,
        platform: Platforms = None,
    ) -> None:
        """Write a model for other programs: an FMU (.fmu), or whole steps in C (.c).

        It begins at the start of the model, or where --from and --velocity say. Parameters are numbers inside of it,
        but those that --free, --input and --parameter name.
        """
        if out.suffix not in (".fmu", ".c"):
            robots = " Robot formats and TOML are written by 'momentree convert'."
            raise MomentreeError(f"{out}: the ending says what is written. Choose .fmu or .c.{robots}")
        from momentree.look.command_words import named_numbers

        values = named_numbers(parameter, "--parameter")
        system = build(file, _with_free(build(file, values), values, [*(free or ()), *(inputs or ())], file))
        start = system.start(named_numbers(coordinates, "--from"), named_numbers(velocities, "--velocity"))
        if out.suffix == ".c":
            system.export_c(out, ("forward_dynamics", "step"), start=start)
        else:
            named = [*dict.fromkeys([*system.inputs, *(inputs or ())])]
            kinds: Named = {"kinds": kind} if kind else {}
            binary: str | list[str] = (platform[0] if len(platform) == 1 else platform) if platform else "auto"
            with warning():
                system.export_fmu(out, version=version, start=start, inputs=named, binary=binary, **kinds)
        print(f"{out} written", flush=True)

    return export


def _with_free(system: System, given: Named, free: Sequence[str], file: Path) -> Named:
    """The values of all parameters that stay free: as given, or as the model says."""
    known = dict(system._model.parameters)
    values = Values(known)
    for name in free:
        if name not in known and name != ALL:
            raise MomentreeError(f"{file}: there is no parameter '{name}'.{suggestion(name, known)}")
    names = [*known] if ALL in free else list(dict.fromkeys(free))
    return {name: float(values.scalar(name)) for name in names} | given
