"""Ten thousand four-bar linkages with other lengths: the largest force on each hinge, and where it comes from."""

from pathlib import Path

import numpy as np
from forces_picture import draw, grashof_margin

import momentree as mt

study = mt.load_study(Path(__file__).with_name("model.toml"))
results = study.run()
draw(results, "forces.svg")

# a linkage closes at A = 1 rad where the triangle D, B, C does
a, b, c, d = (results[name].values for name in "abcd")
to_B = np.hypot(d - a * np.cos(1), a * np.sin(1))
closes = (abs(b - c) <= to_B) & (to_B <= b + c)
computed = results.status.values == 1
# three of them as single runs
chosen = [17, 4711, 9000]
runs = [study.simulate(i) for i in chosen]
alone = [np.linalg.norm(run.reactions("C")[:, :3], axis=1).max() for run in runs]
# forces are largest where linkages are nearly able to turn fully
margin, peak = grashof_margin(results), results.peak_C.values
median = {name: np.median(peak[computed & part]) for name, part in {
    "far below": margin < -0.5, "at the limit": abs(margin) < 0.1, "far above": margin > 0.5}.items()}  # fmt: skip
print(study, f"not closed: {study.failed}", f"median peak force on C, N: {median}", sep="\n")
assert (closes == computed).all()
assert np.allclose(peak[chosen], alone, rtol=1e-6)
assert results.peak_C.attrs["units"] == "N"
assert median["at the limit"] > max(median["far below"], 3 * median["far above"])
