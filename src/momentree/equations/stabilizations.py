"""Stabilizations of constraints, by name: what keeps closure errors small in a run. A new one is one record here.

A formulation closes constraints at the level of accelerations (by Lagrange multipliers) or of velocities (by constraint
impulses). What lies below is integrated, and drifts by the errors of the integrator. A stabilization adds terms to the
equations that make closure errors g decay, or projects the state after each step. The setting `gain` (1/s) is the
wanted decay rate. All lists, checks, error and help texts, the table in docs/simulation.md and the order of `compare`
are made of STABILIZATIONS. docs/theory/loops.md has the equations.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from momentree.errors import MomentreeError

DEFAULT = "project"
DEFAULT_GAIN = 5.0  # 1/s
Gains = Callable[[float], dict[str, float]]  # of the wanted decay rate: keyword arguments of `Formulation.bodies`


class ClosureLevel(enum.Enum):
    """Where a formulation closes its constraints."""

    VELOCITIES = "velocities"  # by constraint impulses eta
    ACCELERATIONS = "accelerations"  # by Lagrange multipliers lambda


@dataclass(frozen=True, kw_only=True)
class Stabilization:
    """One way to keep constraints closed.

    | field       | meaning                                                                                        |
    |-------------|------------------------------------------------------------------------------------------------|
    | name        | as users write it: stabilization="project"                                                     |
    | description | what it does, in a line                                                                        |
    | decay       | how closure errors decay, in words                                                             |
    | gains       | by the level where a formulation closes constraints: the gains of its equations (1/s)          |
    | missing     | by a level at which there is no such stabilization: why                                        |
    | eigenvalues | that it adds to the equations, all real, in units of the gain: a step must not make them grow  |
    | projected   | whether states are projected onto the constraints after each step                              |
    """

    name: str
    description: str
    decay: str
    gains: Mapping[ClosureLevel, Gains]
    missing: Mapping[ClosureLevel, str] = field(default_factory=dict)
    eigenvalues: tuple[float, ...] = ()
    projected: bool = False

    def __post_init__(self) -> None:
        unexplained = [level.value for level in ClosureLevel if (level in self.gains) == (level in self.missing)]
        if unexplained:
            raise MomentreeError(
                f"stabilization '{self.name}': give either gains or a reason in missing at the level of "
                f"{' and '.join(unexplained)}."
            )
        if self.takes_gain != bool(self.eigenvalues):
            raise MomentreeError(f"stabilization '{self.name}': eigenvalues belong to one that takes a gain, and only.")

    @property
    def takes_gain(self) -> bool:
        """Whether the setting `gain` matters."""
        return any(gains(1.0) for gains in self.gains.values())

    @property
    def fastest(self) -> float:
        """The largest decay rate that it adds to the equations, in units of the gain."""
        return max((-eigenvalue for eigenvalue in self.eigenvalues), default=0.0)


def _without_gain(gain: float) -> dict[str, float]:
    return {}


_VELOCITIES, _ACCELERATIONS = ClosureLevel
_BOTH_WITHOUT_GAIN = dict.fromkeys(ClosureLevel, _without_gain)
_SATISFIED = {_VELOCITIES: "its velocities satisfy the constraints by construction"}
_RECORDS = (
    Stabilization(
        name="project",
        description="after each step, moves the state to the nearest one that satisfies the constraints",
        decay="none are left, up to round-off",
        gains=_BOTH_WITHOUT_GAIN,
        projected=True,
    ),
    Stabilization(
        name="programme",
        description="reactions treat the constraints as a programme (Kaspirovich and Mukharlyamov)",
        decay="the kinetic energy of the deviation from g' + gain g = 0 decays as exp(-2 gain t), exactly",
        gains={_ACCELERATIONS: lambda gain: {"programme_gain": gain}},
        missing=_SATISFIED,
        eigenvalues=(-1.0, -1.0),
    ),
    Stabilization(
        name="baumgarte",
        description="feeds closure errors back (Baumgarte)",
        decay="g'' + 2 gain g' + gain^2 g = 0, critically damped; in `hamiltonian`, g' + gain g = 0, and impulses leak",
        gains={
            _VELOCITIES: lambda gain: {"gamma": gain, "kappa": gain},
            _ACCELERATIONS: lambda gain: {"alpha": gain},
        },
        eigenvalues=(-1.0, -1.0),
    ),
    Stabilization(
        name="baumgarte-velocity",
        description="feeds back the velocities of closure errors only",
        decay="g'' + gain g' = 0: velocities decay, closure errors stay where they are",
        gains={_ACCELERATIONS: lambda gain: {"velocity_gain": gain}},
        missing=_SATISFIED,
        eigenvalues=(-1.0, 0.0),
    ),
    Stabilization(
        name="leak",
        description="lets the constraint impulses decay that have built up since the start",
        decay="they grow slowly; the impulses decay as exp(-gain t), which changes no motion",
        gains={_VELOCITIES: lambda gain: {"kappa": gain}},
        missing={_ACCELERATIONS: "it integrates no constraint impulses"},
        eigenvalues=(-1.0,),
    ),
    Stabilization(
        name="none",
        description="nothing, for comparison",
        decay="they grow",
        gains=_BOTH_WITHOUT_GAIN,
    ),
)
STABILIZATIONS = {record.name: record for record in _RECORDS}


def stabilizations_at(level: ClosureLevel) -> dict[str, Gains]:
    """Those of formulations that close constraints at this level: by name, the gains of their equations."""
    return {name: record.gains[level] for name, record in STABILIZATIONS.items() if level in record.gains}


def help_text() -> str:
    """The stabilizations in a sentence, for command lines."""
    return f"How loops are kept closed: {', '.join(STABILIZATIONS)}; {DEFAULT} if not given."


def gain_help_text() -> str:
    """The gain in a sentence, for command lines."""
    names = ", ".join(name for name, record in STABILIZATIONS.items() if record.takes_gain)
    return f"Wanted decay rate of closure errors, in 1/s, for {names}; {DEFAULT_GAIN:g} if not given."


def markdown_table() -> str:
    """The table of stabilizations in docs/simulation.md."""
    from momentree.equations.formulations import FORMULATIONS  # which is made of this module

    rows = [("name", "what it does", "closure errors g", "`gain`", "formulations")]
    for name, record in STABILIZATIONS.items():
        fits = [f"`{each}`" for each, formulation in FORMULATIONS.items() if name in formulation.stabilizations]
        formulations = "all" if len(fits) == len(FORMULATIONS) else ", ".join(fits)
        gain = "decay rate" if record.takes_gain else "not used"
        rows.append((f'`"{name}"`', record.description, record.decay, gain, formulations))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    rule = "|".join("-" * (width + 2) for width in widths)
    return "\n".join([f"| {lines[0]} |", f"|{rule}|", *(f"| {line} |" for line in lines[1:])])
