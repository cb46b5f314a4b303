"""Why no potential increases along a programme: equilibria, closed orbits, motions that stay, a small ansatz.

Along an orbit that closes, a single-valued Psi returns to its value. A multivalued one, with a single-valued gradient,
changes by the turns of the angles times what it gains in each: not at all without turns, and not along all of several
orbits whose turns oppose each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from momentree.analyse.programmes.checks import Region
from momentree.analyse.programmes.closed_orbits import ClosedOrbit, StayingMotion, recurrent_motions
from momentree.analyse.programmes.equilibria import Equilibrium, find_equilibrium
from momentree.analyse.programmes.increasing_potential import Candidate

SHOWN = 3  # points that limit an ansatz


class Obstacles(NamedTuple):
    """What stands against Psi; `impossible`: it excludes every Psi and d > 0 of the kind that was searched for."""

    found: tuple[Equilibrium | ClosedOrbit | StayingMotion, ...]
    impossible: bool
    explanation: str


def find_obstacles(
    programme: Any, box: Region, best: Candidate, terms: int, degree: int, harmonics: int, multivalued: bool
) -> Obstacles:
    """The obstacles in a region; the points that limit the best candidate are where they are looked for first."""
    rheonomic = box.limits[-1][0] < box.limits[-1][1]
    found: list[Equilibrium | ClosedOrbit | StayingMotion] = []
    lines, impossible, turning = [], False, ""
    equilibrium = find_equilibrium(programme, box, best.support)
    if equilibrium is not None:
        found.append(equilibrium)
        impossible |= equilibrium.turns
        lines.append(_at_rest(equilibrium, rheonomic))
    if not rheonomic:
        periods = programme.description.periods
        orbits, staying = recurrent_motions(programme, box, periods, best.support.q, 3 if multivalued else 1)
        ruled_out = excluded(orbits, multivalued)
        if ruled_out:
            found += orbits
            impossible = True
            lines += [f"{_capital(str(orbit))}." for orbit in orbits] + [ruled_out]
        elif staying is not None and not found and not (multivalued and staying.winds):
            found.append(staying)
            kind = "Psi is bounded there" + ("" if multivalued else ", if it is single-valued")
            lines.append(f"{_capital(str(staying))}. {kind}, so it cannot increase along a motion that never leaves.")
    else:
        t = box.limits[-1]
        lines.append(
            f"v depends on t, and one Psi(q) has to increase at all times from {t[0]:g} to {t[1]:g} s. "
            "Closed orbits are not looked for."
        )
        turning = _turning_place(programme, box, best)
        lines += [turning] if turning else []
    if not found and not (rheonomic and turning):
        lines.append(_small_ansatz(box, best, terms, degree, harmonics, rheonomic))
    return Obstacles(tuple(found), impossible, "\n".join(lines))


def excluded(orbits: Sequence[ClosedOrbit], multivalued: bool) -> str:
    """Why closed orbits exclude every Psi, in words; "" if they do not."""
    if not orbits:
        return ""
    if any(not orbit.winds for orbit in orbits):
        return (
            "No angle turns along it, so Psi, even a multivalued one, would return to its value, "
            "but v . grad Psi = v' d v > 0 makes it grow: mode DQ is impossible in this region. Use mode 'DU'."
        )
    if not multivalued:
        return (
            "A single-valued Psi returns to its value along it, but v . grad Psi = v' d v > 0 makes it grow: "
            "it is impossible. A Psi that grows with each turn may do: multivalued=True."
        )
    if _opposed(np.array([list(orbit.turns.values()) for orbit in orbits], dtype=float)):
        because = "Their turns oppose each other, so no multivalued Psi grows along all of them"
        return f"{because}: mode DQ is impossible in this region. Use mode 'DU'."
    return ""


def _opposed(turns: Any) -> bool:
    """Whether no gains per turn make the sum of turns times gains positive along every orbit."""
    from scipy.optimize import linprog

    count = turns.shape[1]
    rows = np.hstack([-turns, np.ones((len(turns), 1))])
    bounds = [(-1.0, 1.0)] * count + [(None, 1.0)]
    result = linprog(np.append(np.zeros(count), -1.0), A_ub=rows, b_ub=np.zeros(len(turns)), bounds=bounds)
    return bool(result.x is not None and result.x[-1] < 1e-9)


def _turning_place(programme: Any, box: Region, best: Candidate) -> str:
    """A place where v points in opposing directions at different times, in words; "" if none is known."""
    times = np.linspace(*box.limits[-1], 65)
    for q in best.support.q[:SHOWN]:
        v = programme.velocity(q, times)
        if _opposed(v / np.maximum(np.abs(v).max(axis=1, keepdims=True), 1e-300)):
            at = box.words(q, 0.0).rpartition(", t = ")[0]
            return (
                f"At {at} the directions of v at different times oppose each other: no grad Psi(q) suits all of them."
            )
    return ""


def _at_rest(equilibrium: Equilibrium, rheonomic: bool) -> str:
    at = f"{_capital(str(equilibrium))}{f', at t = {equilibrium.t:.4g} s' if rheonomic else ''}."
    if equilibrium.turns:
        because = "d dv/dq is the Hessian of Psi there, symmetric, so with d > 0 the eigenvalues would be real"
        return f"{at} {because}: mode DQ is impossible in this region. Use mode 'DU', or a region without that point."
    return f"{at} v . grad Psi = 0 there, whatever Psi. Give region= without that point."


def _small_ansatz(box: Region, best: Candidate, terms: int, degree: int, harmonics: int, rheonomic: bool) -> str:
    points = [box.words(q, float(t)) for q, t in zip(*best.support, strict=True)][:SHOWN]
    shown = "; ".join(points if rheonomic else [words.rpartition(", t = ")[0] for words in points])
    return (
        f"No obstacle was found: the ansatz of {terms} terms (degree={degree}, harmonics={harmonics}) may be too small."
        f" It is limited at {shown}. Try degree={degree + 1} or harmonics={harmonics + 1}, or a smaller region."
    )


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
