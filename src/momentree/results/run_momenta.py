"""Hamiltonian variables over a run: momenta p, p*, mu, mu* and constraint impulses eta, whatever it was computed with.

p and mu follow from coordinates and velocities. p* and eta depend on what was integrated (Ivanov 2022 (5), (8)):

| run                                       | p* and eta                                                               |
|-------------------------------------------|--------------------------------------------------------------------------|
| trees, and formulations in velocities     | p* = p, eta = 0                                                          |
| hamiltonian, "project"                    | the same: p* becomes p after each step                                   |
| hamiltonian with any other stabilization  | as integrated; a run keeps q and v alone, so the motion is computed      |
|                                           | a second time for them, from its start                                   |
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from momentree.assembly.configuration import Array, constraint_names
from momentree.assembly.samples import Samples
from momentree.equations.evaluation import Evaluation
from momentree.equations.hamiltonian import momenta
from momentree.equations.hamiltonian_variables import hamiltonian_variables, subtree_momenta
from momentree.errors import MomentreeError, spell_checked
from momentree.simulate.blocks import Block, read_only
from momentree.simulate.settings import settings_of
from momentree.simulate.simulation import Simulation

if TYPE_CHECKING:
    from momentree.results.run import Run

SAME = 1e-6  # relative: times and velocities of the motion computed again must be those of the run


class MomentaOverTime(NamedTuple):
    """Momenta of a run, k samples; letters of Ivanov 2022.

    | field   | shape    | meaning                                                                                    |
    |---------|----------|--------------------------------------------------------------------------------------------|
    | p       | k, nv    | generalized (Poisson) momenta (N s, N m s)                                                 |
    | p_star  | k, nv    | p*: the same less J' eta; what a Hamiltonian run integrates                                |
    | eta     | k, rows  | constraint impulses (N s, N m s), by `system.constraint_names`                             |
    | mu      | k, N, 6  | momentum of each body and all that it carries, in its frame (N s, N m s)                   |
    | mu_star | k, N, 6  | mu*: the same less the impulses of loops                                                   |
    """

    p: Array
    p_star: Array
    eta: Array
    mu: Array
    mu_star: Array


@spell_checked
class RunMomenta:
    """The momenta of a run."""

    @cached_property
    def momenta(self) -> MomentaOverTime:
        """Momenta p, p*, mu, mu* and constraint impulses eta over time (`MomentaOverTime`), of any formulation."""
        run = cast("Run", self)
        p, mu = run._each(_momenta), run._each(_subtree_momenta)
        mu = mu.reshape(len(run.t), len(run.mechanism.bodies), 6)
        eta = np.zeros((len(run.t), len(constraint_names(run.mechanism, on_velocities=True))))
        if not _accumulates(run):
            return MomentaOverTime(*map(read_only, (p, p, eta, mu, mu)))
        p_star = _integrated_again(run)
        samples = Samples(run.mechanism, run.q, run.v, run.t)
        found = hamiltonian_variables(Evaluation(run.mechanism, samples.q, samples.t), [*p_star.T])
        _check_same("velocities", samples.table(found.v), run.v)
        mu_star = samples.table([x for six in found.mu_star for x in six]).reshape(mu.shape)
        return MomentaOverTime(*map(read_only, (p, p_star, samples.table(found.eta), mu, mu_star)))


def _momenta(samples: Samples) -> Array:
    return samples.table(momenta(Evaluation(samples.mechanism, samples.q, samples.t), samples.v))


def _subtree_momenta(samples: Samples) -> Array:
    found = subtree_momenta(Evaluation(samples.mechanism, samples.q, samples.t), samples.v)
    return samples.table([x for six in found for x in six])


def _accumulates(run: Run) -> bool:
    """Whether impulses of loops have accumulated in what was integrated."""
    if run.settings.get("formulation") != "hamiltonian" or not run._whole.constrained:
        return False
    return run.settings.get("stabilization") != "project"


def _integrated_again(run: Run) -> Array:
    """p* at the samples, k x nv."""
    phases = list(run.phases())
    if len(phases) > 1 or phases[0].held or run._whole is not run.mechanism:
        message = "momenta: p* and eta of a run in which joints lock or constraints are switched are not kept"
        raise MomentreeError(f"{message}. Simulate with stabilization='project', where p* = p and eta = 0.")
    settings: dict[str, Any] = {**run.settings, "verify": False}
    events = settings.pop("events", {})
    again = _Keeping(run.system, run.state(0), settings_of(**settings), events, run.t.copy())
    kept: list[Array] = []
    for _ in iter(again.advance, None):
        kept.append(again.p_star)
    p_star = np.concatenate(kept) if kept else np.zeros((0, run.system.nv))
    if len(p_star) < len(run.t):
        raise MomentreeError("momenta: the motion could not be computed again. Was the run cut short?")
    return p_star[: len(run.t)]


class _Keeping(Simulation):
    """A simulation that keeps the momenta of its last block of samples."""

    p_star: Array

    def _sampled(self, *arguments: Any) -> tuple[Array, Array]:
        t, y = super()._sampled(*arguments)
        nq, nv = self.system.nq, self.system.nv
        self.p_star = y[:, nq : nq + nv].copy()
        return t, y

    def advance(self) -> Block | None:
        self.p_star = np.zeros((0, self.system.nv))
        return super().advance()


def _check_same(what: str, found: Array, expected: Array) -> None:
    if np.abs(found - expected).max(initial=0.0) > SAME * (1 + np.abs(expected).max(initial=0.0)):
        raise MomentreeError(f"momenta: {what} of the motion computed again differ from those of the run.")
