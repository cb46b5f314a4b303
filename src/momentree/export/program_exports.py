"""What a system writes for other programs: C99, functional mock-up units (FMU), robot formats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

from momentree.errors import spell_checked

if TYPE_CHECKING:
    from momentree.assembly.state import State
    from momentree.system import System


@spell_checked
class ProgramExports:
    """Files of a system for other programs."""

    def export(self, path: str | PathLike[str], **how: Any) -> None:
        """Write the system for another program; the ending of the name says which.

        | ending                     | what                                                   | options                |
        |----------------------------|--------------------------------------------------------|------------------------|
        | .c                         | C99 functions (docs/export-c.md)                       | those of `export_c`    |
        | .fmu                       | a functional mock-up unit (docs/fmu.md)                | those of `export_fmu`  |
        | .urdf, .sdf, .xml or .mjcf | a robot (docs/robots-export.md)                        | lossy, closures        |
        | .toml                      | the model file, with the values of free parameters     |                        |
        """
        from momentree.export.endings import export

        export(cast("System", self), path, **how)

    def export_c(
        self,
        path: str | PathLike[str],
        what: str | Iterable[str] = ("mass_matrix", "bias", "inverse_dynamics", "forward_dynamics"),
        *,
        integrator: str | None = None,
        start: State | None = None,
    ) -> None:
        """Write the dynamics as C99 functions, `path` and a header beside it (docs/export-c.md).

        "step" in `what` adds whole steps, which keep loops closed; "dop853" is the integrator unless another is given.
        The file holds the start too, the model's own unless given.
        """
        from momentree.export.c_export import export_c

        export_c(cast("System", self), path, what, integrator, start)

    def export_fmu(
        self,
        path: str | PathLike[str],
        *,
        version: str = "3.0",
        kinds: str | Sequence[str] = ("model exchange", "co-simulation"),
        start: State | None = None,
        inputs: Sequence[str] | None = None,
        gain: float = 5.0,
        binary: str | Sequence[str] = "auto",
    ) -> None:
        """Write a functional mock-up unit, model exchange and co-simulation in one (docs/fmu.md).

        >>> system.export_fmu("four_bar.fmu", version="2.0", inputs=["torque"])   # doctest: +SKIP
        """
        from momentree.export.fmu_export import export_fmu

        how = {"version": version, "kinds": kinds, "start": start, "inputs": inputs, "gain": gain, "binary": binary}
        export_fmu(cast("System", self), path, **how)  # type: ignore[arg-type]
