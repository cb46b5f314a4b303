"""The PUMA 560 moves its hand from a table to a shelf: torques by inverse dynamics, servos, bearing loads, counts."""

from pathlib import Path

import numpy as np
from report import JOINTS, arm, build, loads, operations, path, report

import momentree as mt

bare, system = build(arm()), build(mt.load(Path(__file__).with_name("model.toml")))
run = system.simulate(every=0.01)
print(system, run, *report(run, Path()), sep="\n")

# the inverse problem: torques along the path; the direct problem gives the accelerations back
q, v, a = path(run.t)
tau = bare.inverse_dynamics(q, v, a)
assert abs(bare.forward_dynamics(q, v, tau) - a).max() < 1e-10
assert abs(system.inverse_dynamics(q, v, a, run.t) - tau).max() < 1e-10  # on the path, the servos rest

# the weight of the arm, with the gravity constants of Armstrong, Khatib and Burdick 1986, to their last digit
g1, g2, g3, g4, g5 = -37.2, -8.44, 1.02, 0.249, -0.0282  # N m
(s2, s4, s5), (c2, c4, c5) = (f(q[:, [1, 3, 4]]).T for f in (np.sin, np.cos))
s23, c23 = np.sin(q[:, 1] + q[:, 2]), np.cos(q[:, 1] + q[:, 2])
third = g2 * s23 + g4 * c23 + g5 * (s23 * c5 + c23 * c4 * s5)
fourth, fifth = -g5 * s23 * s4 * s5, g5 * (c23 * s5 + s23 * c4 * c5)
published = np.stack([0 * s2, g1 * c2 + g3 * s2 + third, third, fourth, fifth, 0 * s2], axis=1)
still = bare.inverse_dynamics(q, 0 * q, 0 * q)
print(f"weight: at most {abs(still - published).max():.3f} N m from the published constants")
assert (abs(still - published).max(axis=0) < [1e-9, 0.06, 0.02, 1e-4, 1e-4, 1e-9]).all()

# what the joints transmit about their axes is what the servos exert; at rest, the first one carries the whole arm
gains = np.array([[1e4, 2e4, 1e4, 50, 30, 2], [240, 300, 80, 0.4, 0.2, 0.0125]])  # N m/rad, N m s/rad
servos = gains[0] * (q - run.q) + gains[1] * (v - run.v)
assert abs(np.stack([loads(run, joint)[0] for joint in JOINTS], axis=1) - servos).max() < 1e-9
assert abs(run.reactions("J1")[-1, :3] - [0, 0, 36.45 * 9.81]).max() < 1e-6
assert abs(servos - tau).max() < 0.6
assert np.degrees(abs(run.q - q)).max() < 0.15
assert run.energy.error < 1e-10
assert [sum(operations(bare, regrouped)[:2]) for regrouped in (False, True)] == [518, 439]
