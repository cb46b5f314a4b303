"""The theorem of kinetic energy on the board (Rusanov 2014): velocities, partial velocities, T, powers, projection.

Vectors of a planar mechanism are in axes of the ground, as in the paper; otherwise each body has its own axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy as sp

from momentree.equations.energy import EnergyForm, energy_form
from momentree.equations.kinematics import records
from momentree.model.joint_types import Fixed, Prismatic
from momentree.spatial import IDENTITY, REST, Motion, Rotation, Vector
from momentree.structure.loop_constraints import planes_from_ground
from momentree.symbols.layout import title_of
from momentree.symbols.scalars import Symbolic
from momentree.symbols.steps.page import DerivationSteps, Page, Spelling
from momentree.symbols.writing import Latex, Text

if TYPE_CHECKING:
    from momentree.symbols.equations import Equations


class Bodies:
    """The bodies of a derivation: names, axes, and what is written of each."""

    def __init__(self, s: Symbolic, page: Page):
        self.s, self.page = s, page
        self.bodies = s.mechanism.bodies
        self.in_ground_axes = in_one_plane(s)
        placed = records(s.evaluation)
        self.rotations = [placed[b.number].X_0.rotation if self.in_ground_axes else IDENTITY for b in self.bodies]
        self.where = "in axes of the ground" if self.in_ground_axes else "in axes of each body"

    def vector(self, i: int, v: Vector) -> sp.Expr:
        """A vector of body i."""
        R: Rotation = self.rotations[i]
        return self.page.vector(R @ v)

    def label(self, letter: str, i: int, index: sp.Symbol | None = None) -> sp.Symbol:
        """V(rod), or v_x(rod)."""
        greek = {"ω": r"\boldsymbol\omega", "ε": r"\boldsymbol\varepsilon"}
        return self.page.of_body(letter, greek.get(letter, rf"\mathbf{{{letter}}}"), self.bodies[i].name, index)


def in_one_plane(s: Symbolic) -> bool:
    """Whether all bodies move in parallel planes, or do not turn."""
    sliding = all(isinstance(body.joint.type, (Prismatic, Fixed)) for body in s.numeric.bodies)
    return sliding or all(plane is not None for plane in planes_from_ground(s.numeric))


def write_velocities(page: Page, of: Bodies, form: EnergyForm, still: EnergyForm) -> None:
    """V and w of each body by the velocities, each with its partial velocity; what is prescribed comes last."""
    page.step("Velocities of centers of mass, angular velocities", of.where)
    s = of.s
    for i, by_velocity in enumerate(form.partial):
        for letter, part in (("V", "linear"), ("ω", "angular")):
            terms = [u * of.vector(i, getattr(v, part)) for u, v in zip(s.u, by_velocity, strict=True) if v is not REST]
            terms.append(of.vector(i, getattr(still.velocity[i], part)))
            if any(terms) or letter == "V":
                page.line(of.label(letter, i), terms)


def write_partial_velocities(page: Page, of: Bodies, form: EnergyForm) -> None:
    """v_s and w_s of each velocity, where they are not zero."""
    page.step("Partial velocities", "V = sum of v_s u_s, ω = sum of w_s u_s")
    for n, u in enumerate(of.s.u):
        for i, by_velocity in enumerate(form.partial):
            for letter, part in (("v", "linear"), ("w", "angular")):
                v = of.vector(i, getattr(by_velocity[n], part))
                if v != 0:
                    page.line(of.label(letter, i, index_of(of.s, u)), v)


def index_of(s: Symbolic, u: sp.Symbol) -> sp.Symbol:
    """The coordinate that a velocity belongs to, without primes."""
    return next((q for q, change in s.derivatives.items() if change == u), u)


def write_kinetic_energy(page: Page, form: EnergyForm) -> None:
    """T, body by body, and of armatures."""
    rotors = [sp.S(N) * u**2 / 2 for N, u in zip(form.armature, page.s.u, strict=True) if N != 0]
    page.step("Kinetic energy", "T = sum of (M V·V + ω·I ω)/2" + ", and of N u_s²/2 of armatures N" * bool(rotors))
    page.line(page.label(Spelling("T", "T")), [page.short(part) for part in (*kinetic_energies(form), *rotors)])


def kinetic_energies(form: EnergyForm) -> list[sp.Expr]:
    """(M V.V + w . I w)/2 of each body."""
    return [
        sp.S(V.linear @ V.linear * I.mass + V.angular @ I.turning(V.angular)) / 2
        for I, V in zip(form.inertia, form.velocity, strict=True)
    ]


def energy_steps(equations: Equations) -> DerivationSteps:
    """The derivation by the theorem of kinetic energy."""
    s = equations.symbols
    assert s is not None
    page = Page(s, equations.ranks)
    of = Bodies(s, page)
    zero = [sp.Integer(0)] * len(s.u)
    form, still = energy_form(s.evaluation, s.u, s.du), energy_form(s.evaluation, zero, zero)
    write_coordinates(page)
    write_velocities(page, of, form, still)
    write_partial_velocities(page, of, form)
    write_kinetic_energy(page, form)
    _write_accelerations(page, of, form)
    write_forces(page, of, form)
    _write_balance(page, of, form)
    _write_projection(page, of, form, equations)
    write_equations(page, equations)
    return page.done(f"{title_of(equations)}, step by step")


def write_coordinates(page: Page) -> None:
    """Which coordinates and velocities there are."""
    write = Text(page.ranks).write
    q, u = (", ".join(map(write, symbols)) for symbols in (page.s.q, page.s.u))
    page.step("Coordinates and velocities", f"q = ({q}), u = ({u})")


def _write_accelerations(page: Page, of: Bodies, form: EnergyForm) -> None:
    page.step("Accelerations", "")
    still = energy_form(of.s.evaluation, of.s.u, [sp.Integer(0)] * len(of.s.u))
    for i, by_velocity in enumerate(form.partial):
        for letter, part in (("a", "linear"), ("ε", "angular")):
            pairs = zip(of.s.du, by_velocity, strict=True)
            terms = [du * of.vector(i, getattr(v, part)) for du, v in pairs if v is not REST]
            terms.append(page.by_velocities(of.rotations[i] @ getattr(still.acceleration[i], part)))
            if any(terms) or letter == "a":
                page.line(of.label(letter, i), terms)


def write_forces(page: Page, of: Bodies, form: EnergyForm) -> None:
    """R and m of each body, and forces along joints."""
    page.step("Active forces and their moments about centers of mass", "without reactions, which have no virtual power")
    for i, force in enumerate(form.force):
        for letter, part in (("R", "linear"), ("m", "angular")):
            v = of.vector(i, getattr(force, part))
            if v != 0:
                page.line(of.label(letter, i), v)
    for u, Q in zip(of.s.u, form.joint_forces, strict=True):
        if sp.S(Q) != 0:
            page.line(of_velocity(page, "Q^J", u), page.short(Q))


def of_velocity(page: Page, letter: str, u: sp.Symbol) -> sp.Symbol:
    """Q_x, or Q^J_x."""
    index = index_of(page.s, u)
    text, tex = Text(page.ranks).write(index), Latex(page.ranks).write(index)
    head, _, above = letter.partition("^")
    return page.label(Spelling(f"{letter}_{text}", rf"{head}{f'^{{{above}}}' if above else ''}_{{{tex}}}"))


def _products(of: Bodies, form: EnergyForm, n: int) -> tuple[sp.Expr, sp.Expr]:
    """T_s and Q_s of a velocity as sums of scalar products that are not worked out."""
    page, s = of.page, of.s
    index = index_of(s, s.u[n])
    T, Q = sp.Integer(0), sp.Integer(0)
    for i, by_velocity in enumerate(form.partial):
        v: Motion = by_velocity[n]
        linear, angular = (of.label(letter, i, index) for letter in ("v", "w"))
        if of.vector(i, v.linear) != 0:
            T += sp.S(form.inertia[i].mass) * page.dot(of.label("a", i), linear)
            if of.vector(i, form.force[i].linear) != 0:
                Q += page.dot(of.label("R", i), linear)
        if of.vector(i, v.angular) != 0:
            if page.short(v.angular @ form.inertial[i].angular) != 0:
                T += page.dot(_angular_inertia(of, i), angular)
            if of.vector(i, form.force[i].angular) != 0:
                Q += page.dot(of.label("m", i), angular)
    if form.armature[n] != 0:
        T += sp.S(form.armature[n]) * s.du[n]
    if sp.S(form.joint_forces[n]) != 0:
        Q += of_velocity(page, "Q^J", s.u[n])
    return T, Q


def _angular_inertia(of: Bodies, i: int) -> sp.Symbol:
    """(I eps + w x I w) of a body; in a plane the second part has no projection."""
    name = of.bodies[i].name
    both = ("I ε", r"\mathbf{I}\boldsymbol\varepsilon")
    if not of.in_ground_axes:
        both = (
            "(I ε + ω×I ω)",
            r"(\mathbf{I}\boldsymbol\varepsilon + \boldsymbol\omega\times\mathbf{I}\boldsymbol\omega)",
        )
    return of.page.of_body(*both, name)


def _write_balance(page: Page, of: Bodies, form: EnergyForm) -> None:
    page.step(
        "The theorem of kinetic energy, gathered by velocities",
        "dT/dt - W = sum of (T_s - Q_s) u_s; accelerations and forces stay as they are until they are projected",
    )
    both = [_products(of, form, n) for n in range(len(of.s.u))]
    for spelling, k in ((Spelling("dT/dt", r"\dot T"), 0), (Spelling("W", "W"), 1)):
        page.line(page.label(spelling), [u * pair[k] for u, pair in zip(of.s.u, both, strict=True)])


def _write_projection(page: Page, of: Bodies, form: EnergyForm, equations: Equations) -> None:
    page.step(
        "Projection on each velocity", "each bracket vanishes by itself, because virtual velocities are independent"
    )
    for n, u in enumerate(of.s.u):
        (T, Q), index = _products(of, form, n), index_of(of.s, u)
        for i, by_velocity in enumerate(form.partial):
            v: Motion = by_velocity[n]
            linear = of.label("v", i, index)
            if of.vector(i, v.linear) != 0:
                for letter, other in (("a", form.acceleration[i]), ("R", form.force[i])):
                    if letter == "a" or of.vector(i, other.linear) != 0:
                        page.line(page.dot(of.label(letter, i), linear), page.short(v.linear @ other.linear))
        page.line(T, [Q, *reactions(equations, n)])


def reactions(equations: Equations, n: int) -> list[sp.Expr]:
    """The generalized forces of constraints along a velocity, J' lambda."""
    if not equations.multipliers:
        return []
    return [x * multiplier for x, multiplier in zip(equations.J[:, n], equations.multipliers, strict=True)]


def write_equations(page: Page, equations: Equations) -> None:
    """The equations of motion themselves, their constraints, and what the names in them mean."""
    page.step("Equations of motion", "")
    for i, row in enumerate(equations.A.tolist()):
        left = [x * a for x, a in zip(row, equations.accelerations, strict=True)]
        page.line([*left, equations.b[i]], [equations.Q[i], *reactions(equations, i)])
    write_constraints(page, equations)
    write_names(page, equations)


def write_constraints(page: Page, equations: Equations) -> None:
    """Positions and velocities of the constraints."""
    constrained = [c.position for c in equations.constraints if c.position is not None]
    velocities = [c.velocity for c in equations.constraints if c.velocity is not None]
    if constrained or velocities:
        page.step("Constraints", "closed loops and other constraints: positions, then velocities")
        for x in (*constrained, *velocities):
            page.line(x, sp.Integer(0))


def write_names(page: Page, equations: Equations) -> None:
    """What the names in the equations mean."""
    if equations.definitions or equations.dependent:
        page.step("where", "")
        for symbol, meaning in (*equations.dependent, *equations.definitions):
            page.line(symbol, meaning)
