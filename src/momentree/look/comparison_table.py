"""The table of a comparison of formulations and stabilizations: `print(mt.compare(...))` and --json."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from momentree.look.run_tables import finite
from momentree.look.tables import table

if TYPE_CHECKING:
    from momentree.analyse.compare import Comparison, MethodResult

FIGURES = (
    "closure error, m",
    "closure error, rad",
    "closure velocity",
    "energy error, J",
    "steps",
    "evaluations",
    "CPU, s",
    "difference",
)


def comparison_table(comparison: Comparison) -> str:
    """One line for each formulation and stabilization; below, why some failed."""
    c = comparison
    lines = [f"{c.name}: {c.t_start:g} to {c.t_end:g} s by {c.integrator}, rtol {c.rtol:g}"]
    lines.append(table(("formulation", "stabilization", *FIGURES), [_cells(row) for row in c.rows]))
    lines += [f"{row.formulation}, {row.stabilization}: {row.failed}" for row in c.rows if row.failed]
    return "\n".join(lines)


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """The same as plain data, for --json."""
    data: dict[str, Any] = finite(dataclasses.asdict(comparison))
    return data


def _cells(row: MethodResult) -> tuple[str, ...]:
    figures = tuple(f"{x:.1e}" for x in (row.closure_error, row.closure_angle, row.closure_velocity, row.energy))
    cells = (*figures, f"{row.steps}", f"{row.evaluations}", f"{row.cpu:.3f}", f"{row.difference:.1e}")
    cells = tuple("-" if cell == "nan" else cell for cell in cells)
    return (row.formulation, row.stabilization, *cells[:-1], "failed" if row.failed else cells[-1])
