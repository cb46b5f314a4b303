"""The tables of a system: bodies, joints, loops, constraints, degrees of freedom; `print(system)`, --json."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from momentree.analyse.mobility import Mobility
from momentree.assembly.locked_loops import LOCKED
from momentree.look.constraint_list import constraint_data, listed_constraints
from momentree.model import Model
from momentree.model.higher_pairs import HigherPair
from momentree.model.unused_parameters import unused_parameters
from momentree.structure import Mechanism, Structure
from momentree.structure.structure import NamedLoop

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST_MATRIX = 30  # bodies up to which matrices are printed
LONGEST_TABLE = 60  # rows after which a table is cut short
LONGEST_CELL = 500  # letters after which one of its cells is
Cells = tuple[Sequence[str], Sequence[Sequence[str]]]  # headers and rows


def system_summary(structure: Structure, mobility: Mobility | str, more: str = "") -> str:
    """Bodies, joints, loops, constraints, degrees of freedom; or, as text, why the loops do not close; `more` text."""
    tables = [bodies_table(structure), loops_table(structure), constraints_table(structure)]
    inputs = structure.mechanism.inputs
    parts = [headline(structure), *tables, f"inputs: {', '.join(inputs)}" if inputs else "", mobility_text(mobility)]
    parts.append(more)
    return "\n\n".join(part for part in parts if part)


def structure_report(structure: Structure, mobility: Mobility | str) -> str:
    """The summary and the lecture's arrays and matrices."""
    n = structure.graph.n
    arrays = [
        ("i+", structure.i_plus),
        ("i-", structure.i_minus),
        ("k", structure.parents),
    ]
    lines = [f"{name} = {{{', '.join(map(str, values.tolist()))}}}" for name, values in arrays]
    parts = [system_summary(structure, mobility)]
    if n == 0:
        return parts[0]
    if n > LARGEST_MATRIX:
        parts.append(f"S0, S, T and the cycles of {n} bodies are too large to print; --json has the graph.")
        return "\n\n".join(parts)
    parts.append("\n".join(lines))
    parts.append(matrix_text("S0", structure.S0.reshape(1, -1)))
    parts.append(side_by_side(matrix_text("S", structure.S), matrix_text("T", structure.T)))
    if structure.graph.cycles:
        parts.append(matrix_text("Phi'", structure.Phi.T))
    if len(structure.epsilon):
        parts.append(matrix_text("epsilon", structure.epsilon))
    return "\n\n".join(parts)


def structure_data(structure: Structure, mobility: Mobility) -> dict[str, Any]:
    """The same as plain data, for --json; matrices up to 1000 bodies."""
    mechanism, graph = structure.mechanism, structure.graph
    data: dict[str, Any] = {
        "name": mechanism.name,
        "nq": mechanism.nq,
        "nv": mechanism.nv,
        "numbering": structure.numbering,
        "bodies": [
            {
                "number": body.number,
                "name": body.name,
                "parent": body.parent,
                "joint": body.joint.name,
                "type": body.joint.type.kind,
                "mass_kg": body.inertia.mass if isinstance(body.inertia.mass, (int, float)) else str(body.inertia.mass),
                "coordinates": [] if body.laws else [str(r) for r in body.joint.coordinates],
                "velocities": [] if body.laws else [str(r) for r in body.joint.velocities],
                "prescribed": body.laws is not None,
                "image_of": body.image_of or None,
            }
            for body in mechanism.bodies
        ],
        "given_free_joint": list(mechanism.added),
        **({"switches": _switch_data(mechanism)} if mechanism.switches else {}),
        "i_plus": graph.i_plus.tolist(),
        "i_minus": graph.i_minus.tolist(),
        "parents": graph.parents.tolist(),
        "loops": [
            {
                "closed_by": loop.closed_by,
                "kind": loop.kind,
                "constraints": loop.rows,
                "bodies": list(loop.bodies),
                "joints": [{"name": name, "sign": sign} for name, sign in loop.joints],
            }
            for loop in _closed_by_joints(structure)
        ],
        "constraints": [constraint_data(constraint) for constraint in listed_constraints(structure)],
    }
    if graph.n <= 1000:
        for name in ("S0", "S", "T", "Phi", "epsilon"):
            data[name] = getattr(structure, name).tolist()
    data["mobility"] = _mobility_data(mobility)
    return data


def counts(structure: Structure) -> str:
    """ "3 bodies, 4 joints, 1 loop", and "2 constraints" where there are any."""
    mechanism = structure.mechanism
    bodies = len(mechanism.bodies) - len(mechanism.graph.images)
    joints, loops = len(structure.joints), len(_closed_by_joints(structure))
    parts = [_count(bodies, "body", "bodies"), _count(joints, "joint"), _count(loops, "loop")]
    others = len(mechanism.loops) - loops + len(mechanism.constraints)
    return ", ".join(parts + [_count(others, "constraint")] * (others > 0))


def bodies_table(structure: Structure) -> str:
    """Each body of the tree: its number, mass, parent, joint and coordinates."""
    return table(*body_cells(structure))


def body_cells(structure: Structure) -> Cells:
    """Headers and rows of that table."""
    rows = [
        (
            str(body.number),
            body.name,
            "massless" if body.inertia.mass == 0 else _number(body.inertia.mass),
            structure.bodies[body.parent],
            body.joint.name,
            body.joint.type.kind,
            "prescribed" if body.laws else ", ".join(_with_unit(r, u) for r, u in _coordinates(body)),
        )
        for body in structure.mechanism.bodies
    ]
    return ("no.", "body", "mass, kg", "on", "by joint", "type", "coordinates"), rows


def loops_table(structure: Structure) -> str:
    """Each loop: the joint that closes it, with how many constraints, and the joints around it."""
    headers, rows = loop_cells(structure)
    return table(headers, rows) if rows else ""


def loop_cells(structure: Structure) -> Cells:
    """Headers and rows of that table."""
    rows = []
    for i, loop in enumerate(_closed_by_joints(structure), 1):
        around = ", ".join(f"{'-' if sign < 0 else ''}{name}" for name, sign in loop.joints)
        rows.append((str(i), loop.closed_by, loop.kind, str(loop.rows), around))
    return ("loop", "closed by", "type", "constraints", "around (- against the joint)"), rows


def constraints_table(structure: Structure) -> str:
    """Each higher pair and expression constraint: what it connects, and how many positions or velocities it rules."""
    headers, rows = constraint_cells(structure)
    return table(headers, rows) if rows else ""


def constraint_cells(structure: Structure) -> Cells:
    """Headers and rows of that table."""
    rows = []
    for each in listed_constraints(structure):
        between, counted = (" on " if each.kind == "Rolling" else ", "), (each.position_rows, each.velocity_rows)
        names = between.join(reversed(each.between) if each.kind == "Rolling" else each.between)
        rows.append((each.name, each.kind, names, *(str(count or "-") for count in counted), ", ".join(each.equations)))
    return ("constraint", "type", "between", "on positions", "on velocities", "equation"), rows


def _closed_by_joints(structure: Structure) -> list[NamedLoop]:
    """The loops but for higher pairs, which have a table of their own."""
    both = zip(structure.loops, structure.mechanism.loops, strict=True)
    return [named for named, loop in both if not isinstance(loop.joint_type, HigherPair)]


def mobility_text(report: Mobility | str) -> str:
    """Degrees of freedom, true and by Gruebler, and the redundant constraints by name; or why loops do not close."""
    if isinstance(report, str):
        return f"degrees of freedom (mobility) unknown: {report}"
    lines = [f"degrees of freedom (mobility): {report.true}; by Gruebler's count: {report.gruebler}"]
    if report.locked:
        lines.append(LOCKED)
    if report.rows:
        constraints = _count(len(report.rows), "constraint")
        lines.append(f"{report.state.mechanism.nv} velocities of the tree, {constraints} of rank {report.rank}")
    if report.nonholonomic:
        places = _count(report.of_position, "degree of freedom", "degrees of freedom")
        lines.append(f"{places} of position: {_count(len(report.nonholonomic), 'constraint')} on velocities only:")
        lines += _shortened(report.nonholonomic)
    if report.redundant:
        lines.append(f"{_count(len(report.redundant), 'redundant constraint')}:")
        lines += _shortened(report.redundant)
        if report.give is not None:
            lines.append(f"Of these, {report.give}.")
    if report.singular:
        lines.append("The configuration nearest to the reference is singular: it has more degrees of freedom there.")
    return "\n".join(lines)


def unused_text(model: Model) -> str:
    """Parameters that nothing uses, in words."""
    unused = unused_parameters(model)
    return f"parameters that nothing uses: {', '.join(unused)}" if unused else ""


def _shortened(names: Sequence[str]) -> list[str]:
    """A line for each name, up to 24."""
    return [f"  {name}" for name in names[:24]] + ["  ..."] * (len(names) > 24)


def mobility_counts(report: Mobility) -> str:
    """ "1 degree of freedom, 3 redundant constraints"."""
    freedoms = _count(report.true, "degree of freedom", "degrees of freedom")
    redundant = f", {_count(len(report.redundant), 'redundant constraint')}" if report.redundant else ""
    return freedoms + redundant


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text, left-aligned."""
    shown = [headers, *([shortened(cell) for cell in row] for row in rows[:LONGEST_TABLE])]
    widths = [max(len(row[i]) for row in shown) for i in range(len(headers))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in shown]
    lines.insert(1, "  ".join("-" * width for width in widths))
    if len(rows) > LONGEST_TABLE:
        lines.append(f"... and {len(rows) - LONGEST_TABLE} more")
    return "\n".join(lines)


def shortened(text: str) -> str:
    """The text, or its beginning where it is very long."""
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def matrix_text(name: str, matrix: NDArray[np.int32]) -> str:
    """A matrix of small integers as the lecture prints it."""
    rows = ["  ".join(f"{entry:+d}" if entry else " 0" for entry in row) for row in matrix.tolist()]
    indent = " " * (len(name) + 3)
    return "\n".join(f"{f'{name} = ' if i == 0 else indent}[ {row} ]" for i, row in enumerate(rows))


def headline(structure: Structure) -> str:
    """Name, numbers of bodies, joints and loops; what was added; switches; whether the ground moves."""
    mechanism = structure.mechanism
    images = len(mechanism.graph.images)
    lines = [f"{shortened(mechanism.name)}: {counts(structure)}; nq = {mechanism.nq}, nv = {mechanism.nv}"]
    if images:
        lines.append(f"{_count(images, 'body is', 'bodies are')} split, so the tree has {len(mechanism.bodies)}.")
    lines += [f"Body '{name}' floats without a joint: a Free joint was added." for name in mechanism.added]
    for switch in _switch_data(mechanism):
        does = "starts" if switch["on"] else "ceases"
        lines.append(f"'{switch['name']}' {does} to act where {switch['when']} rises through zero.")
    if mechanism.ground is not None:
        lines.append("The ground has a prescribed motion.")
    return "\n".join(lines)


def _switch_data(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Joints that are released and constraints that are switched, and when."""
    return [{"name": each.name, "when": str(each.when), "on": each.turns_on} for each in mechanism.switches]


def _mobility_data(report: Mobility) -> dict[str, Any]:
    state = report.state
    return {
        "true": report.true,
        "of_position": report.of_position,
        "gruebler": report.gruebler,
        "constraints": list(report.rows),
        "rank": report.rank,
        "nonholonomic": list(report.nonholonomic),
        "redundant": list(report.redundant),
        "singular": report.singular,
        "give": dataclasses.asdict(report.give) if report.give else None,
        "configuration": dict(zip(map(str, state.mechanism.coordinates), state.q.tolist(), strict=True)),
    }


def _coordinates(body: Any) -> Iterable[tuple[str, str]]:
    return zip(map(str, body.joint.coordinates), body.joint.type.units, strict=True)


def _with_unit(reference: str, unit: str) -> str:
    return reference if unit == "1" else f"{reference} ({unit})"


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else str(value)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def side_by_side(left: str, right: str) -> str:
    """Two texts of as many lines, or one below the other if they are wide."""
    rows, others = left.splitlines(), right.splitlines()
    width = max(len(row) for row in rows)
    if width + max(len(row) for row in others) > 110:
        return f"{left}\n\n{right}"
    return "\n".join(f"{a.ljust(width)}    {b}" for a, b in zip(rows, others, strict=True))
