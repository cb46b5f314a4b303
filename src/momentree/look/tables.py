"""What a system is, in text and as plain data: the tables that `print(system)` and the command line show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from momentree.errors import AssemblyError
from momentree.structure import Structure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from momentree.system import System

LARGEST_MATRIX = 30  # bodies up to which matrices are printed
LONGEST_TABLE = 60  # rows after which a table is cut short


def system_summary(system: System) -> str:
    """Bodies, joints, loops, rows, rank, mobility and redundant rows."""
    parts = [_headline(system), bodies_table(system), loops_table(system.structure), mobility_text(system)]
    return "\n\n".join(part for part in parts if part)


def structure_report(system: System) -> str:
    """The summary and the lecture's arrays and matrices."""
    structure = system.structure
    n = structure.graph.n
    arrays = [
        ("i+", structure.i_plus),
        ("i-", structure.i_minus),
        ("k", structure.parents),
    ]
    lines = [f"{name} = {{{', '.join(map(str, values.tolist()))}}}" for name, values in arrays]
    parts = [system_summary(system)]
    if n == 0:
        return parts[0]
    if n > LARGEST_MATRIX:
        parts.append(f"S0, S, T and the cycles of {n} bodies are too large to print; --json has the graph.")
        return "\n\n".join(parts)
    parts.append("\n".join(lines))
    parts.append(matrix_text("S0", structure.S0.reshape(1, -1)))
    parts.append(_side_by_side(matrix_text("S", structure.S), matrix_text("T", structure.T)))
    if structure.graph.cycles:
        parts.append(matrix_text("Phi'", structure.Phi.T))
    if len(structure.epsilon):
        parts.append(matrix_text("epsilon", structure.epsilon))
    return "\n\n".join(parts)


def structure_data(system: System) -> dict[str, Any]:
    """The same as plain data, for --json; matrices up to 1000 bodies."""
    structure, mechanism = system.structure, system.mechanism
    graph = structure.graph
    data: dict[str, Any] = {
        "name": system.name,
        "nq": system.nq,
        "nv": system.nv,
        "numbering": structure.numbering,
        "bodies": [
            {
                "number": body.number,
                "name": body.name,
                "parent": body.parent,
                "joint": body.connection.name,
                "type": body.connection.joint.kind,
                "mass_kg": body.inertia.mass if isinstance(body.inertia.mass, (int, float)) else str(body.inertia.mass),
                "coordinates": [] if body.laws else [str(r) for r in body.connection.coordinates],
                "rates": [] if body.laws else [str(r) for r in body.connection.rates],
                "prescribed": body.laws is not None,
                "image_of": body.image_of or None,
            }
            for body in mechanism.bodies
        ],
        "given_free_joint": list(mechanism.added),
        "i_plus": graph.i_plus.tolist(),
        "i_minus": graph.i_minus.tolist(),
        "parents": graph.parents.tolist(),
        "loops": [
            {
                "closed_by": loop.closed_by,
                "kind": loop.kind,
                "rows": loop.rows,
                "bodies": list(loop.bodies),
                "joints": [{"name": name, "sign": sign} for name, sign in loop.joints],
            }
            for loop in structure.loops
        ],
    }
    if graph.n <= 1000:
        for name in ("S0", "S", "T", "Phi", "epsilon"):
            data[name] = getattr(structure, name).tolist()
    data["mobility"] = _mobility_data(system)
    return data


def counts(system: System) -> str:
    """ "3 bodies, 4 joints, 1 loop"."""
    mechanism = system.mechanism
    bodies = len(mechanism.bodies) - len(mechanism.graph.images)
    joints, loops = len(system.structure.joints), len(mechanism.loops)
    return f"{_count(bodies, 'body', 'bodies')}, {_count(joints, 'joint')}, {_count(loops, 'loop')}"


def bodies_table(system: System) -> str:
    bodies = system.mechanism.bodies
    rows = [
        (
            str(body.number),
            body.name,
            "massless" if body.inertia.mass == 0 else _number(body.inertia.mass),
            system.structure.bodies[body.parent],
            body.connection.name,
            body.connection.joint.kind,
            "prescribed" if body.laws else ", ".join(_with_unit(r, u) for r, u in _coordinates(body)),
        )
        for body in bodies
    ]
    return table(("no.", "body", "mass, kg", "on", "by joint", "type", "coordinates"), rows)


def loops_table(structure: Structure) -> str:
    rows = []
    for i, loop in enumerate(structure.loops, 1):
        around = ", ".join(f"{'-' if sign < 0 else ''}{name}" for name, sign in loop.joints)
        rows.append((str(i), loop.closed_by, loop.kind, str(loop.rows), around))
    return table(("loop", "closed by", "type", "rows", "around (- against the joint)"), rows) if rows else ""


def mobility_text(system: System) -> str:
    """Two numbers, the rank, and the redundant rows by name; or why the loops cannot be closed."""
    try:
        report = system.mobility_report
    except AssemblyError as error:
        return f"mobility unknown: {error}"
    lines = [f"mobility {report.true} (Gruebler's count {report.gruebler})"]
    if report.rows:
        lines[0] += f": {system.nv} freedoms of the tree, {len(report.rows)} closure rows of rank {report.rank}"
    if report.redundant:
        shown = report.redundant[:24]
        lines.append(f"{len(report.redundant)} redundant rows:")
        lines += [f"  {name}" for name in shown] + ["  ..."] * (len(report.redundant) > len(shown))
    if report.singular:
        lines.append(
            "The configuration nearest to the reference is singular: there, for a moment, it moves more freely."
        )
    return "\n".join(lines)


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, left-aligned."""
    shown = [headers, *rows[:LONGEST_TABLE]]
    widths = [max(len(row[i]) for row in shown) for i in range(len(headers))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(rows) > LONGEST_TABLE:
        lines.append(f"... and {len(rows) - LONGEST_TABLE} more")
    return "\n".join(lines)


def matrix_text(name: str, matrix: NDArray[np.int32]) -> str:
    """A matrix of small integers as the lecture prints it."""
    rows = ["  ".join(f"{entry:+d}" if entry else " 0" for entry in row) for row in matrix.tolist()]
    indent = " " * (len(name) + 3)
    return "\n".join(f"{f'{name} = ' if i == 0 else indent}[ {row} ]" for i, row in enumerate(rows))


def _headline(system: System) -> str:
    mechanism = system.mechanism
    images = len(mechanism.graph.images)
    lines = [f"{system.name}: {counts(system)}; nq = {system.nq}, nv = {system.nv}"]
    if images:
        lines.append(f"{_count(images, 'body is', 'bodies are')} split, so the tree has {len(mechanism.bodies)}.")
    lines += [f"Body '{name}' is held by no joint and floats: it was given a Free joint." for name in mechanism.added]
    if mechanism.ground is not None:
        lines.append("The ground moves as prescribed.")
    return "\n".join(lines)


def _mobility_data(system: System) -> dict[str, Any]:
    report = system.mobility_report
    return {
        "true": report.true,
        "gruebler": report.gruebler,
        "rows": list(report.rows),
        "rank": report.rank,
        "redundant": list(report.redundant),
        "singular": report.singular,
        "configuration": dict(zip(map(str, system.mechanism.coordinates), report.state.q.tolist(), strict=True)),
    }


def _coordinates(body: Any) -> Iterable[tuple[str, str]]:
    return zip(map(str, body.connection.coordinates), body.connection.joint.units, strict=True)


def _with_unit(reference: str, unit: str) -> str:
    return reference if unit == "1" else f"{reference} ({unit})"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _side_by_side(left: str, right: str) -> str:
    rows, others = left.splitlines(), right.splitlines()
    width = max(len(row) for row in rows)
    if width + max(len(row) for row in others) > 110:
        return f"{left}\n\n{right}"
    return "\n".join(f"{a.ljust(width)}    {b}" for a, b in zip(rows, others, strict=True))
