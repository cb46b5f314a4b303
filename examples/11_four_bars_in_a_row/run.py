"""Four-bars in a row, 2 and 40 of them: they rotate through configurations in which all rods lie in one line."""

from pathlib import Path

import numpy as np
from scipy.special import ellipj

import momentree as mt


def four_bars(n):
    m = mt.Model(f"{n} four-bars in a row", gravity=(0, -9.81, 0))
    posts = [m.body(f"post {i}", mt.rod(mass=1.0, length=1.0, along="y")) for i in range(n + 1)]
    for i, post in enumerate(posts):
        m.joint(f"A{i}", mt.Revolute("-z"), m.ground.at((i, 0, 0)), post)
    for i in range(1, n + 1):
        bar = m.body(f"bar {i}", mt.rod(mass=1.0, length=1.0))
        m.joint(f"B{i}", mt.Revolute("-z"), posts[i - 1].at((0, 1, 0)), bar)
        m.joint(f"C{i}", mt.Revolute("-z"), bar.at((1, 0, 0)), posts[i].at((0, 1, 0)))
    m.start_at({f"A{i}": 0 for i in range(n + 1)}, velocities={f"A{i}": 1 for i in range(n + 1)}, t_end=10)
    return m


def exact(t, n):
    """The end of the first post; half of its angle is am(t/2 | 1 - k^2), written with functions of 1 - 1/k^2."""
    k = np.sqrt(1 + 6 * 9.81 * (3 * n + 1) / (4 * n + 1))
    sn, cn, dn, _ = ellipj(k * t / 2, 1 - 1 / k**2)
    return 2 * sn * cn / (k * dn**2), (cn / dn) ** 2 - (sn / (k * dn)) ** 2


for n, tolerance in ((2, 1e-8), (40, 1e-8)):
    system, posts = four_bars(n).build(), [f"A{i}" for i in range(n + 1)]
    run = system.simulate(rtol=1e-10, every=0.02, events={"in line": "cos(A0)"})
    error = np.abs([f(run["A0"]) for f in (np.sin, np.cos)] - np.array(exact(run.t, n))).max()
    print(run, f"at most {error:.1e} m from where it should be\n", sep="\n")
    assert (system.mobility, len(run.end.events), run.closure_error.max() < 1e-12) == (1, 10, True)
    assert error < tolerance
    assert max(abs(run[post] - run["A0"]).max() for post in posts) < 1e-9  # parallel: no loop has crossed over
run.plot("run.svg", joints=["A0"])
assert four_bars(2) == mt.load(Path(__file__).with_name("model.toml"))
