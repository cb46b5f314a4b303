"""Why a simulation cannot go on, or hardly does, and the way out: the texts of failed runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from momentree.assembly.configuration import Array, Configuration
from momentree.assembly.unreachable import beyond_reach
from momentree.integrate.methods import FOR_STIFF
from momentree.integrate.records import Status
from momentree.integrate.stepper import Integration
from momentree.model.higher_pairs import Rolling
from momentree.simulate.fastest_motion import fastest_motion
from momentree.simulate.law_checks import discontinuous_laws, laws_without_value, unbounded_laws
from momentree.spatial import Z
from momentree.structure.mechanism import Mechanism

CHATTERS, CHATTERING = 20, 1e-6  # so many times the same event within this part of the duration
FLAT = 0.05  # rad: the inclination below which a disc counts as flat
SLOW = "Give an earlier t_end, or allow a larger rtol."
STIFF = f"Where it has died out, integrator='{FOR_STIFF}' need not follow it."


def reason_of_failure(
    mechanism: Mechanism, status: Status, integration: Integration, q: Array, v: Array, duration: float
) -> str:
    """What went wrong at the coordinates and velocities that an integration reached, and the way out."""
    t, tiny = integration.t, np.finfo(float).eps * max(abs(integration.t), 1.0)
    adaptive, h = integration.adaptive, abs(float(integration.control[1]))
    reach = beyond_reach(mechanism, q, t, duration, () if adaptive else (h / 2, h, 2 * h))
    if reach:
        return reach
    if status == Status.OPEN:
        message = f"at t = {t:.9g} s loops cannot be closed after {'any step' if adaptive else f'a step of {h:g} s'}"
        return f"{message}. Take smaller steps (step=), a smaller rtol, or look at the configuration there."
    if integration.failure(status):
        return integration.failure(status)
    if status == Status.TOO_SHORT:
        laws = unbounded_laws(mechanism, q, v, t) or discontinuous_laws(mechanism, q, v, t)
        laws = laws or flat_discs(mechanism, q, t)
        cause = "; ".join(laws) or fastest_motion(mechanism, q, v, t) or "something changes too quickly there"
        return (
            f"at t = {t:.9g} s the step size that the tolerance asks for fell below the resolution of time: {cause}. "
            "Allow a larger rtol, or look at the forces of the model."
        )
    # a step of a fixed size, and what lies between two records, reaches farther than one that was shortened
    ahead = max(128 * tiny, 0.0 if adaptive else integration.control[1] * integration.counts[6])
    tried = (laws_without_value(mechanism, q, v, t, ahead * part / 8) for part in range(9))
    culprits = next((laws for laws in tried if laws), [])
    cause = f": {'; '.join(culprits)}" if culprits else ". Look at the forces and the state there"
    return f"at t = {t:.9g} s the derivatives are no longer finite numbers{cause}."


def reason_of_small_steps(mechanism: Mechanism, q: Array, v: Array, t: float, duration: float, sure: bool) -> str:
    """What makes step sizes so small, and what to use instead; "" where no cause is seen and it is not `sure`."""
    reach = beyond_reach(mechanism, q, t, duration)
    if reach:
        return reach
    flat = flat_discs(mechanism, q, t)
    if flat:
        return f"{_sentence(flat)} Let an event end the motion before."
    unbounded = unbounded_laws(mechanism, q, v, t)
    if unbounded:
        return f"{_sentence(unbounded)} Allow a larger rtol, or look at the forces of the model."
    discontinuous = discontinuous_laws(mechanism, q, v, t)
    if discontinuous:
        return (
            f"{_sentence(discontinuous)} Smooth it: tanh(v/v0) instead of sign(v), with v0 a velocity that does "
            "not matter, or let an event end the motion there."
        )
    fastest = fastest_motion(mechanism, q, v, t) if sure else ""
    return f"{_sentence([fastest])} {STIFF} {SLOW}" if fastest else SLOW if sure else ""


def flat_discs(mechanism: Mechanism, q: Array, t: float) -> list[str]:
    """Discs that roll on a plane and lie almost flat on it."""
    flat = []
    for joint in Configuration(mechanism, q, t=t).joints:
        pair = joint.loop.joint_type
        if isinstance(pair, Rolling) and pair.disc is not None and pair.ball is None:
            upright = (joint.closure.X_FM.rotation @ pair.disc).cross(Z).norm
            if upright < FLAT:
                flat.append(f"the disc of '{joint.loop.name}' lies flat, where it has no single point of contact")
    return flat


def reason_of_open_loops(mechanism: Mechanism, closure_error: float, q: Array, t: float, duration: float) -> str:
    """Loops that are not projected and cannot be called loops any more; their closure error is by the size."""
    message = f"at t = {t:.9g} s loops have come apart: their closure error is {closure_error:.2g} of the size of the"
    reach = beyond_reach(mechanism, q, t, duration)
    return (
        f"{message} mechanism. {reach or 'Use stabilization=' + repr('project') + ', a larger gain or a smaller rtol.'}"
    )


def reason_of_chattering(happened: Sequence[tuple[str, float]], names: Sequence[str], duration: float) -> str:
    """Which of these events happens again and again at nearly the same time; "" where none does."""
    for name in names:
        times = [t for other, t in happened if other == name][-CHATTERS:]
        if len(times) == CHATTERS and times[-1] - times[0] <= CHATTERING * duration:
            return (
                f"at t = {times[-1]:.9g} s '{name}' happens again and again. Leave a gap between the conditions that "
                "switch on and off."
            )
    return ""


def _sentence(causes: list[str]) -> str:
    text = "; ".join(causes)
    return f"{text[0].upper()}{text[1:]}."
