"""A constrained mechanism by the library and by the oracle, and by every form of the equations of motion."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import momentree as mt
from campaign.compare import CHANGE, COMPILED, TOLERANCE, Examination, Family
from campaign.constrained import ConstrainedSample, happening, sample
from campaign.geometry import Array
from campaign.oracle import Answer, Oracle
from campaign.reading import Place, Plain
from constrained import in_numbers, solved
from constrained_forms import STEP, accelerations_in_maximal_coordinates, accelerations_of_momenta, derivative, floats
from constraint_oracle import ConstrainedOracle
from momentree.assembly.configuration import Configuration
from momentree.assembly.configuration_space import integrate
from momentree.assembly.state import State
from momentree.equations import hamiltonian
from momentree.equations.aggregative import inverse_dynamics
from momentree.equations.articulated import forward_dynamics, reacting_bodies
from momentree.equations.balance import energy
from momentree.equations.constraint_forces import every_multiplier
from momentree.equations.evaluation import Evaluation
from momentree.equations.forces import names_of
from momentree.equations.kinematics import records
from momentree.equations.loops.wrenches import constraint_joint_forces, constraint_wrenches
from momentree.equations.work_terms import constraint_powers, motion_powers, powers, stored_energies

SECONDS, SMALL = 0.05, 8  # of short motions; velocities of those that make them
SYMBOLIC = 10  # one in so many, if it is small
FEW = 2  # velocities and bodies of these
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)


class ConstrainedExamination(Examination):
    """One constrained mechanism at one instant."""

    drawn: ConstrainedSample

    def oracle_of(self, plain: Plain, length: float | None = None) -> Oracle:
        conditions = list(self.drawn.conditions)
        if length is None:
            return ConstrainedOracle(plain, self.t, conditions)
        random = np.random.default_rng([4, self.drawn.seed])
        neighbour = ConstrainedOracle(plain, self.t, [_moved(condition, random) for condition in conditions], length)
        neighbour.step *= 2  # so that the error of its differences counts as conditioning
        return neighbour

    def unloaded(self, plain: Answer) -> Array:
        """Those of the library: light bodies would make reactions of the error of the oracle's differences."""
        return np.array(floats(reacting_accelerations(self._at, self.state.v)))

    def everything(self, compiled: bool) -> None:
        super().everything(compiled)
        steps = [self.formulations, self.inverse, self.power]
        steps += [self.symbols] if self.drawn.seed % SYMBOLIC == 2 else []
        steps += [self.c_code] if self.drawn.seed % COMPILED == 3 and COMPILER else []
        for step in steps:
            self.result.at = step.__name__
            step()

    def placed(self) -> None:
        super().placed()
        speed = 1 + max(float(np.abs(u).max(initial=0.0)) for u in self.velocities.values())
        assert isinstance(self.oracle, ConstrainedOracle)
        for what, errors, size in (
            ("conditions", self.oracle.condition_errors(), 1.0),
            ("velocities of conditions", self.oracle.condition_velocities(), speed**2),
        ):
            self._note(what, float(np.abs(errors).max(initial=0.0)) / size, TOLERANCE)

    def compare_reactions(self, what: str, ours: dict[str, Array], right: Answer) -> None:
        """Of joints that no expression names: how its force is shared between joint and bodies is a convention."""
        named = {str(r.name) for each in self.mechanism.constraints for r in each.expression.references()}
        kept = {name: wrench for name, wrench in right.reactions.items() if name not in named}
        super().compare_reactions(what, ours, right._replace(reactions=kept))

    def mobility(self) -> None:
        """Of velocities: what all rows leave, the nonholonomic ones too."""
        J = Configuration(self.mechanism, self.state.q, t=self.t).jacobian(on_velocities=True)
        sizes = np.linalg.norm(J, axis=1)
        values = np.linalg.svd(J / np.where(sizes > 1e-9, sizes, 1.0)[:, None], compute_uv=False)
        ours = self.mechanism.nv - int((values > 1e-8).sum())
        right = 6 * len(self.plain.bodies) - self.rank
        self._note(f"degrees of freedom {ours}, right {right}", float(abs(ours - right)), 0.5)

    # --- every form of the equations ---

    @property
    def _at(self) -> Evaluation:
        return Evaluation(self.mechanism, self.state.q.tolist(), self.t)

    def formulations(self) -> None:
        """u' by momenta and in maximal coordinates, by differences of velocities along their flow."""
        q, u, t = np.asarray(self.state.q), np.asarray(self.state.v), self.t
        plain = floats(reacting_accelerations(self._at, u))
        momenta = floats(hamiltonian.momenta(self._at, u.tolist()))
        found = {
            "hamiltonian": accelerations_of_momenta(self.mechanism, q, momenta, t),
            "absolute": accelerations_in_maximal_coordinates(self.mechanism, q, u, t),
        }
        speed = float(np.abs(u).max(initial=0.0))
        scale = max(float(np.abs(plain).max(initial=0.0)), speed**2, 1.0)
        noise = 20 * np.finfo(float).eps * self.oracle.conditioning / STEP + 1e-7
        for name, du in found.items():
            self._note(f"{name} acceleration", float(np.abs(du - plain).max(initial=0.0)) / scale, noise)

    def inverse(self) -> None:
        """Inverse dynamics of the accelerations, less tau and the constraint forces J' lambda: nothing."""
        q, u, at = self.state.q, self.state.v, self._at
        du = reacting_accelerations(at, u)
        needed = floats(inverse_dynamics(at, u.tolist(), du))
        J = Configuration(self.mechanism, q, t=self.t).jacobian(on_velocities=True)
        reacting = reacting_bodies(at, u.tolist(), [0] * self.mechanism.nv)
        lambdas = floats(every_multiplier(self.mechanism, reacting)) if self.mechanism.constrained else np.zeros(0)
        off = needed - J.T @ lambdas
        size = max(1.0, np.abs(needed).max(initial=0.0), np.abs(J.T * lambdas).max(initial=0.0))
        self._note("inverse of forward", np.abs(off).max(initial=0.0) / size, self._rounded(1e-9))

    def _rounded(self, least: float) -> float:
        return least + 1e-14 * self.oracle.conditioning

    def power(self) -> None:
        """The powers of all work terms are d/dt of the energy, less what the terms store themselves."""
        m, t, at = self.mechanism, self.t, self._at
        q, u = np.asarray(self.state.q), np.asarray(self.state.v)
        reacting = reacting_bodies(at, u.tolist(), [0] * m.nv)
        du = floats(reacting_accelerations(at, u))
        moving = records(at, u.tolist())
        parts = [*powers(m, moving, names_of(at, moving))]
        forces = constraint_joint_forces(m, reacting) if m.constraints else {}
        wrenches = constraint_wrenches(m, reacting)
        parts += motion_powers(at, u.tolist(), du.tolist(), wrenches, forces)
        parts += constraint_powers(m, reacting)

        def outside(h: float) -> float:
            there = integrate(m, q, u * h + du * (h * h / 2))
            now = Evaluation(m, there.tolist(), t + h)
            return float(energy(now, (u + h * du).tolist()).total) - sum(
                float(x) for x in stored_energies(m, records(now)).values()
            )

        powers_ = floats(parts)
        speed = max(1.0, float(np.abs(u).max(initial=0.0)))
        change = derivative(outside, 1e-3 / speed)
        size = max(1.0, float(np.abs(powers_).max(initial=0.0)), speed * abs(outside(0.0)))
        self._note("power balance", abs(powers_.sum() - change) / size, 1e-7)

    # --- in symbols and in C, of some ---

    def symbols(self) -> None:
        """Equations in symbols, put into numbers: M u' + b = Q + J' lambda and J u' + J' u = 0."""
        if self.mechanism.nv > 2 * FEW or len(self.mechanism.bodies) > FEW + 1:
            return
        try:
            equations = self.system.equations("aggregative")
        except mt.MomentreeError:  # too large
            return
        q, u = self.state.q, self.state.v
        A, d, J, _, change, _ = in_numbers(self.system, equations, q, u, self.t)
        self.result.features = (*self.result.features, "in symbols")
        self.compare_accelerations_without_tau("symbolic acceleration", solved(A, d, J, change))

    def compare_accelerations_without_tau(self, what: str, du: Array) -> None:
        right = floats(reacting_accelerations(self._at, self.state.v))
        scale = max(1.0, float(np.abs(right).max(initial=0.0)))
        self._note(what, float(np.abs(du - right).max(initial=0.0)) / scale, self._rounded(1e-8))

    def c_code(self) -> None:
        """Forward dynamics in C, compiled by the compiler of the system."""
        with tempfile.TemporaryDirectory() as folder:
            du = _in_c(self.system, Path(folder), self.state, self.t)
        self.result.features = (*self.result.features, "in C")
        self.compare_accelerations_without_tau("acceleration in C", du)

    def runs(self, methods: Sequence[tuple[str, str]]) -> None:
        """Short motions by every formulation and code of small ones end alike, what happens on the way included."""
        if self.mechanism.nv > SMALL or any(difference.counts for difference in self.result.differences):
            return
        ends: list[tuple[str, Array]] = []
        refused: mt.MomentreeError | None = None
        for formulation, code in methods:
            self.result.at = f"run: {formulation}, {code}"
            system = happening(self.drawn.model, self.t + SECONDS / 2).build(code=code)
            start = State(system._numeric, self.state.q, self.state.v, self.t)
            try:
                run = system.simulate(start, t_end=self.t + SECONDS, formulation=formulation, rtol=1e-10)
            except mt.MomentreeError as error:  # absolute coordinates do not count turns that laws depend on
                refused = error
                continue
            ends.append((f"{formulation} {code}", np.concatenate([self._aligned(run.q[-1]), run.v[-1]])))
        if refused and len(ends) < 2:
            raise refused
        if ends:
            self.result.features = (*self.result.features, "moved by every formulation")
        speed = max(1.0, float(np.abs(self.state.v).max(initial=0.0)))
        for name, end in ends[1:]:
            self._note(f"end of the motion, {name}", float(np.abs(end - ends[0][1]).max()) / speed**2, 1e-7)

    def _aligned(self, q: Array) -> Array:
        """Quaternions of the same sign as at the start."""
        q = q.copy()
        for body in self.tree:
            if body.joint.type.kind in ("Spherical", "Free"):
                four = slice(body.q.stop - 4, body.q.stop)
                q[four] *= np.sign(q[four] @ self.state.q[four])
        return q


def reacting_accelerations(at: Evaluation, u: Any) -> list[Any]:
    """u' without generalized forces from outside."""
    return list(forward_dynamics(at, list(map(float, u)), [0] * at.mechanism.nv))


def _moved(condition: Any, random: np.random.Generator) -> Any:
    """The same with its frames a little elsewhere."""

    def other(place: Place) -> Place:
        return Place(place.body, place.p * (1 + CHANGE * random.standard_normal(3)), place.R)

    if hasattr(condition, "first"):
        return replace(condition, first=other(condition.first), second=other(condition.second))
    if hasattr(condition, "frames"):
        return replace(condition, frames={name: other(place) for name, place in condition.frames.items()})
    return condition


def _in_c(system: Any, folder: Path, state: Any, t: float) -> Array:
    system.export_c(folder / "it.c", what="forward_dynamics")
    library = folder / "it.so"
    subprocess.run(
        [str(COMPILER), "-std=c99", "-O1", "-shared", "-fPIC", str(folder / "it.c"), "-o", str(library), "-lm"],
        check=True,
    )
    du, numbers = np.zeros(system.nv), [np.array(x, dtype=float) for x in (state.q, state.v, np.zeros(system.nv))]
    inputs = [np.array([*system.parameters.values()], dtype=float)] if system.inputs else []
    pointers = [x.ctypes.data_as(ctypes.c_void_p) for x in (*numbers, *inputs, du)]
    ctypes.CDLL(str(library)).it_forward_dynamics(*pointers[:3], ctypes.c_double(t), *pointers[3:])
    return du


CONSTRAINED = Family(sample, ConstrainedExamination)
