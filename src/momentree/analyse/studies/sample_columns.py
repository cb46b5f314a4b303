"""Columns over time that outputs of a study may name, of a batch of motions together or of one run.

| written in an output             | means                                                          | unit            |
|----------------------------------|----------------------------------------------------------------|-----------------|
| t                                | time                                                           | s               |
| k                                | a parameter, an input that is constant in each motion          |                 |
| A   A'   hull.y   hull.y'        | coordinates and velocities of any joint                        | its own, and /s |
| tip.x  tip.x'  tip.wx            | a named frame: position, velocity, angular velocity            | m, m/s, rad/s   |
| effort                           | an output of the model, by its name                            | its own         |
| C.force  C.moment                | the sizes of the reactions of joint C                          | N, N m          |
| C.fx C.fy C.fz  C.mx C.my C.mz   | the reactions on its second body, in inertial axes             | N, N m          |
| `contact 1 of leg`.force, .fx ...| the force of a contact on its first body                       | N               |
| energy.kinetic .potential .total | of all bodies                                                  | J               |
| closure_error                    | the largest closure error of any loop or constraint            | m or rad        |
| turn.time  turn.count            | of an event of the study: when it came first, and how often    | s, 1            |
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from momentree.model.expressions.expression import Reference
from momentree.model.higher_pairs import HigherPair
from momentree.model.switches import frame_references
from momentree.model.values import TIME, Values
from momentree.simulate.many import Motions

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System

Array = NDArray[np.float64]
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz", "force", "moment")
WRENCH_UNITS = ("N", "N", "N", "N m", "N m", "N m", "N", "N m")
FORCE = ("fx", "fy", "fz", "force")
ENERGY = ("kinetic", "potential", "total")
CLOSURE = Reference("closure_error")
FRAME_UNITS = ("m", "m/s", "rad/s")


class ColumnOf(NamedTuple):
    """Which column of which table a reference means: kind and name of the table, number of the column; its unit."""

    kind: str
    name: str
    column: int
    unit: str


def known_columns(system: System, events: Collection[str] = ()) -> dict[Reference, ColumnOf]:
    """Everything that outputs may name, but time and parameters."""
    mechanism = system.mechanism.whole or system.mechanism
    found: dict[Reference, ColumnOf] = {CLOSURE: ColumnOf("closure", "", 0, "m or rad")}
    found |= {Reference("energy", part): ColumnOf("energy", "", i, "J") for i, part in enumerate(ENERGY)}
    pairs = [loop.name for loop in mechanism.loops if isinstance(loop.joint_type, HigherPair)]
    for name in (*pairs, *mechanism.by_joint):
        found |= {Reference(name, part): ColumnOf("reaction", name, i, u) for i, part, u in _counted(WRENCH)}
    for contact in mechanism.contacts:
        found |= {
            Reference(contact.name, part): ColumnOf("contact", contact.name, i, "N") for i, part, _ in _counted(FORCE)
        }
    for name, _ in mechanism.frames:
        found |= {one: ColumnOf("frame", name, i, FRAME_UNITS[i // 3]) for i, one in enumerate(frame_references(name))}
    for name, of in mechanism.by_joint.items():
        if of.joint is None:
            continue
        units, speeds = of.joint.type.units, [f"{unit}/s" for unit in of.joint.type.velocity_units]
        for kind, references, listed in (
            ("coordinate", of.joint.coordinates, units),
            ("velocity", of.joint.velocities, speeds),
        ):
            each = enumerate(zip(references, listed, strict=True))
            found |= {one: ColumnOf(kind, name, i, unit) for i, (one, unit) in each}
    for name in events:
        found |= {Reference(name, "time"): ColumnOf("event", name, 0, "s")}
        found |= {Reference(name, "count"): ColumnOf("event", name, 1, "1")}
    return found


def _counted(parts: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    return ((i, part, WRENCH_UNITS[i]) for i, part in enumerate(parts))


def motion_columns(motions: Motions, needed: Mapping[Reference, ColumnOf]) -> dict[Reference, Array]:
    """Columns (m, k) of motions that were computed together; time (1, k) and free parameters (m, 1) too.

    They come from machine code for all samples, and have the same bits in any group of motions.
    """
    m, k = motions.q.shape[:2]
    found: dict[Reference, Array] = {TIME: motions.t[None, :]}
    found |= {one: np.array(x)[:, None] for one, x in motions.system._free.names_of(motions.parameters).items()}
    for one, table in _tables(motions, needed).items():
        found[one] = np.ascontiguousarray(table.reshape(m, k, -1)[..., needed[one].column])
    return found


def run_columns(run: Run, needed: Mapping[Reference, ColumnOf]) -> dict[Reference, Array]:
    """Columns (1, k) of one run, with the phases that it has."""
    found: dict[Reference, Array] = {TIME: run.t[None, :]}
    found |= {Reference(name): np.array([[value]]) for name, value in run.system.parameters.items()}
    for one, table in _tables(run, needed).items():
        rows = 1 if needed[one].kind == "event" else len(run.t)
        found[one] = np.ascontiguousarray(table.reshape(rows, -1)[None, :, needed[one].column])
    return found


def _tables(source: Run | Motions, needed: Mapping[Reference, ColumnOf]) -> dict[Reference, Array]:
    """The table in which each column stands; each is made once."""
    made: dict[tuple[str, str], Array] = {}
    for kind, name, _, _ in needed.values():
        if (kind, name) not in made:
            made[kind, name] = np.asarray(_TABLES[kind](source, name))
    return {one: made[of.kind, of.name] for one, of in needed.items()}


def _with_size(forces: Array) -> Array:
    """Forces, and moments, with their sizes behind them."""
    parts = [forces[..., i : i + 3] for i in range(0, forces.shape[-1], 3)]
    axes = [[part[..., i : i + 1] for i in range(3)] for part in parts]
    squares = [x * x + y * y + z * z for x, y, z in axes]
    return np.concatenate([forces, *map(np.sqrt, squares)], axis=-1)


def _energies(source: Any, name: str) -> Array:
    energy = source.energy
    return np.stack([energy.kinetic, energy.potential, energy.total], axis=-1)


def _events(run: Run, name: str) -> Array:
    times = [t for event, t in run.end.events if event == name]
    return np.array([[times[0] if times else np.nan, len(times)]])


def _frame(source: Any, name: str) -> Array:
    return source.frame_motion(name) if isinstance(source, Motions) else np.stack(source._frame_columns(name), axis=-1)


# the same of a run (k, columns) and of motions (m, k, columns)
_TABLES: Mapping[str, Callable[[Any, str], Array]] = {
    "coordinate": lambda source, name: source[name],
    "velocity": lambda source, name: source.velocity(name),
    "frame": _frame,
    "reaction": lambda source, name: _with_size(source.reactions(name)),
    "contact": lambda source, name: _with_size(source.contact_force(name)),
    "energy": _energies,
    "closure": lambda source, name: source.closure_errors if isinstance(source, Motions) else source.closure_error,
    "event": _events,
}


def parameter_values(system: System) -> dict[Reference, Any]:
    """Numbers for the parameters that are not free, or expressions of free ones."""
    mechanism = system.mechanism
    values = Values(dict(system._model.parameters), free=mechanism.free)
    fixed = [Reference(name) for name in values.names if name not in mechanism.free]
    return {one: values.scalar(str(one)) for one in fixed}
