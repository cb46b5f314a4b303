"""The benchmark bicycle rights itself: a push at a stable speed, and how its linear motion meets published numbers."""

from pathlib import Path

import numpy as np

import momentree as mt

system = mt.load(Path(__file__).with_name("model.toml")).build()
run = system.simulate(every=0.02)
run.plot("run.svg", joints=["lean", "steer"])
print(system, run, sep="\n\n")


def accelerations(v, state):
    """lean'' and steer'' at lean, steer, lean', steer' and the speed v."""
    lean, steer, dlean, dsteer = state
    at = system.assemble({"lean": lean, "steer": steer}, {"lean": dlean, "steer": dsteer, "rear": -v / 0.3})
    names = [str(reference.name) for reference in system.mechanism.velocities]
    return system.forward_dynamics(at.q, at.v)[[names.index("lean"), names.index("steer")]]


def eigenvalues(v, h=1e-3):
    """Of the motion about straight running, by differences of order 4."""
    A = np.eye(4, k=2)
    for k, e in enumerate(np.eye(4) * h):
        near, far = (accelerations(v, s * e) - accelerations(v, -s * e) for s in (1, 2))
        A[2:, k] = (8 * near - far) / (12 * h)
    return sorted(np.linalg.eigvals(A), key=lambda z: (z.real, z.imag))


for v in (4, 5, 7):
    print(f"v = {v} m/s:", *(f"{z:.8f}" for z in eigenvalues(v)))
published = [-14.07838969279822, -0.77534188219585 - 4.46486771378823j, -0.77534188219585 + 4.46486771378823j]
assert abs(np.array(eigenvalues(5)) - [*published, -0.32286642900409]).max() < 1e-7
assert max(z.real for z in eigenvalues(4)) > 0 > max(z.real for z in eigenvalues(5.5))  # weave
assert system.mobility == 3
assert abs(run["lean"][-1]) + abs(run["steer"][-1]) < 1e-3  # upright again
assert run.energy.error < 1e-8 * run.energy.kinetic.max()
