"""`mt.study`: a sweep against closed forms, its summary, one of its motions, Ctrl-C, and many kills."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from momentree.analyse.studies.output_expressions import RESERVED
from study_models import four_bar, rotor

ROOT = Path(__file__).parents[4]
SCRIPT = """
import sys, time
import numpy as np
import momentree as mt
from study_models import four_bar

def slow(run):
    time.sleep(0.03)
    return run["A"][-1]

def study(path, client=None):
    over = {"a": np.linspace(0.9, 1.1, 9), "d": np.linspace(2.4, 2.6, 5)}
    outputs = {"peak": "max(C.force)", "end": slow, "curve": "samples(D)"}
    return mt.study(four_bar(), over, outputs, path=path, every=0.1, chunk=1, client=client)

if __name__ == "__main__":
    if len(sys.argv) > 2:
        from distributed import Client, LocalCluster
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            study(sys.argv[1], Client(cluster)).run()
    else:
        study(sys.argv[1]).run()
"""


def environment() -> dict[str, str]:
    folders = [str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}


def test_a_sweep_has_its_closed_form():
    m = rotor()
    over = {"r": np.linspace(0.2, 1, 5), "A'": np.linspace(1, 3, 4)}
    outputs = {"pull": "max(A.force)", "end": "last(A)", "half": "crossing(A - pi/2)", "speed": "mean(A')"}
    results = mt.study(m, over, outputs, every=0.05).run()
    r, w = np.meshgrid(*over.values(), indexing="ij")
    assert np.allclose(results.pull.values, 2.0 * r * w**2, rtol=1e-9)
    assert np.allclose(results.end.values, 0.25 + 2 * w, rtol=1e-9)
    assert np.allclose(results.half.values, (np.pi / 2 - 0.25) / w, rtol=1e-9)
    assert np.allclose(results.speed.values, w, rtol=1e-9)
    assert results.pull.dims == ("r", "A'")
    assert results.pull.sel(r=0.2, **{"A'": 3.0}).item() == pytest.approx(2 * 0.2 * 9)


def test_random_designs_have_the_axis_motion():
    design = mt.random(20, seed=1, r=(0.3, 0.6), mass=mt.normal(2.0, 0.1))
    results = mt.study(
        rotor(), design, {"pull": "max(A.force)"}, given={"A": 0.0}, velocities={"A": 2.0}, every=0.5
    ).run()
    assert results.pull.dims == ("motion",)
    assert np.allclose(results.pull.values, results.mass.values * results.r.values * 4, rtol=1e-9)


def test_a_study_says_what_it_is():
    study = mt.study(rotor(), {"mass": [0.5, -1.0]}, {"end": "last(A)"}, every=0.5)
    assert "0 computed, 0 of them failed; in memory" in str(study)
    study.run()
    assert "2 computed, 1 of them failed" in str(study)
    assert "over mass: -1 to 0.5" in str(study)
    assert repr(study) == "Study('rotor': 2 motions, outputs end)"
    assert (len(study), study.done, study.failed) == (2, 2, 1)


def test_one_motion_is_a_run():
    study = mt.study(four_bar(), {"a": [0.9, 1.0], "A'": [9.0, 10.0]}, {"end": "samples(D)"}, every=0.1)
    results, run = study.run(), study.simulate(1, 0)
    assert np.allclose(results.end.values[1, 0], run["D"], atol=1e-7)
    assert np.allclose(study.simulate(2)["D"], run["D"], atol=0)
    for wrong in ((4,), (2, 0), (), ("x",)):
        with pytest.raises(mt.MomentreeError, match="there is no motion"):
            study.simulate(*wrong)


def test_an_axis_of_one_velocity_alone_suffices():
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    results = mt.study(m, {"x'": [1.0, 2.0]}, {"end": "last(x)"}, t_end=3.0, every=1.0).run()
    assert np.allclose(results.end.values, [3.0, 6.0])


def killed_again_and_again(tmp_path, kills: int, cluster: bool) -> mt.Study:
    """Run a study in processes of their own that are killed at random moments, until one has ended by itself."""
    script, path, left = tmp_path / "sweep.py", tmp_path / "s.zarr", kills
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(path), *(["cluster"] if cluster else [])]
    draw = random.Random(3)
    while True:
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(command, env=environment(), start_new_session=True, stderr=log, stdout=log)
        before, deadline = _written(path), time.monotonic() + 120
        while left and process.poll() is None and _written(path) <= before and time.monotonic() < deadline:
            time.sleep(0.002)
        if left and process.poll() is None:
            time.sleep(draw.uniform(0, 0.05))
            os.killpg(process.pid, signal.SIGKILL)  # client, scheduler and workers together
            process.wait()
            left -= 1
            continue
        assert process.wait(120) == 0, (tmp_path / "log").read_text()
        break
    assert left == 0, f"it ended before {kills} kills"
    sys.path.insert(0, str(tmp_path))
    try:
        import sweep

        return sweep.study(path), sweep.study(None)
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["sweep"]


def _written(path: Path) -> int:
    return sum(1 for part in (path / "status").rglob("*") if part.is_file() and part.name.isdigit())


@pytest.mark.parametrize(
    ("kills", "cluster"),
    [
        (1, False),
        pytest.param(20, False, marks=pytest.mark.long),
        pytest.param(20, True, marks=pytest.mark.long),
    ],
)
def test_a_study_that_is_killed_goes_on_and_gives_the_same_bits(tmp_path, kills, cluster):
    killed, whole = killed_again_and_again(tmp_path, kills, cluster)
    assert killed._store.pending() == []
    found, expected = killed.results, whole.run()
    for name in ("peak", "end", "curve", "status"):
        assert np.array_equal(found[name].values, expected[name].values), name
    assert not list((tmp_path / "s.zarr").rglob("*.partial"))


def test_ctrl_c_keeps_what_is_computed(tmp_path):
    script = tmp_path / "sweep.py"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(tmp_path / "s.zarr")]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        while _written(tmp_path / "s.zarr") < 2 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0
    assert sorted(os.listdir(tmp_path)) == ["s.zarr", "sweep.py"]
    assert 2 <= _written(tmp_path / "s.zarr") < 45


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.parametrize("over", [mt.grid, mt.points])
def test_what_is_varied_has_another_name_than_what_results_have_of_their_own(name, over):
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.joint(name, mt.Prismatic("x"), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(mt.MomentreeError, match=f"'{name}' is varied, and the results have a variable of this name"):
        mt.study(m, over({name: [1.0, 2.0]}), {"end": "last(energy.total)"}, t_end=1.0, every=1.0)
    mt.study(m, over({f"{name}'": [1.0]}), {"end": "last(energy.total)"}, t_end=1.0, every=1.0).run()


@pytest.mark.parametrize("name", ["a/b", "x\\y", "..", "zarr.json"])
def test_what_is_varied_has_a_name_that_a_file_can_have(tmp_path, name):
    m = mt.Model("slider", gravity=(0, 0, 0))
    m.joint(name, mt.Prismatic("x"), m.ground, m.body("block", mass=1.0, inertia=(1, 1, 1)))
    arguments = (m, {name: [1.0, 2.0]}, {"end": "last(energy.total)"})
    assert mt.study(*arguments, t_end=1.0, every=1.0).run().sizes == {name: 2}
    with pytest.raises(mt.MomentreeError, match=r"no file of a store can have this name\. .* leave path= out"):
        mt.study(*arguments, t_end=1.0, every=1.0, path=tmp_path / "s.zarr")
