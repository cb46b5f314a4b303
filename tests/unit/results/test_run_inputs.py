"""Columns of inputs and outputs: by name, in tables and files, in plots and reports, with units."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError

TIMES, TORQUES = [0.0, 0.3, 1.0], [2.0, -1.0, 3.0]


@pytest.fixture(scope="module")
def run() -> mt.Run:
    m = four_bar()
    m.input("motor", unit="N m", description="torque of the motor")
    m.input("load", 0.25)
    m.torque("A", "motor - load*A'")
    m.frame("tip", m.bodies[1].at((2.0, 0, 0)))
    m.output("tip height", "tip.z", unit="m")
    m.output("tip speed", "sqrt(tip.x'^2 + tip.y'^2 + tip.z'^2)", unit="m/s")
    m.output("motor power", "motor*A'", unit="W")
    m.output("angle sum", "A + B - D - C")
    m.start_at({"A": 1.0}, guess={"D": 1.0, "B": -0.5})
    system = m.build()
    return system.simulate(t_end=1.0, inputs={"motor": (TIMES, TORQUES)}, every=0.05)


def test_outputs_are_what_their_expressions_say_at_every_sample(run):
    tip = run.system._model.frames[0].frame
    np.testing.assert_allclose(run["tip height"], run.position(tip)[:, 2], atol=1e-14)
    np.testing.assert_allclose(run["motor"], np.interp(run.t, TIMES, TORQUES), atol=1e-14)
    np.testing.assert_allclose(run["load"], 0.25)
    np.testing.assert_allclose(run["motor power"], run["motor"] * run.velocity("A"), atol=1e-14)
    np.testing.assert_allclose(run["angle sum"], run["A"] + run["B"] - run["D"] - run["C"], atol=1e-14)
    slope = np.gradient(run.position(tip), run.t, axis=0)
    np.testing.assert_allclose(run["tip speed"][2:-2], np.linalg.norm(slope, axis=1)[2:-2], atol=0.05)
    assert [*run.inputs] == ["motor", "load"]
    assert [*run.outputs] == ["tip height", "tip speed", "motor power", "angle sum"]
    assert run.parameters == {"load": 0.25}
    with pytest.raises(MomentreeError, match=r"there is no joint 'moter'. Did you mean 'motor'"):
        run["moter"]


def test_tables_have_a_column_for_each_with_its_unit(run, tmp_path):
    run.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("motor [N m]")
    assert [float(row[column]) for row in rows[1:]] == run["motor"].tolist()
    assert {"load", "tip height [m]", "motor power [W]", "angle sum"} <= {*rows[0]}
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = run.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["tip height"].tolist() == run["tip height"].tolist()
    assert frame.attrs["units"]["motor"] == "N m"


def test_a_saved_run_has_them_and_gives_them_back(run, tmp_path):
    run.save(tmp_path / "run.nc")
    loaded = mt.load_run(tmp_path / "run.nc")
    for name in (*run.inputs, *run.outputs):
        assert np.array_equal(loaded[name], run[name])
    np.testing.assert_array_equal(loaded.reactions("C"), run.reactions("C"))
    data = run.data
    assert data["input"].sel(input_name="motor").values.tolist() == run["motor"].tolist()
    assert data["output_unit"].values.tolist() == ["m", "m/s", "W", ""]


def test_plots_and_the_summary_name_them(run, tmp_path):
    labels = [axes.get_ylabel() for axes in run.plot("motor", "tip height", "angle sum").axes]
    assert labels == ["motor, N m", "tip height, m", "angle sum"]
    run.plot("motor against A", path=tmp_path / "x.svg")
    assert "input motor" in str(run)
    assert "3 values from 0 to 1 s, linear in between; -1 to 3 N m" in str(run)
    assert "0.25, constant" in str(run)


@pytest.mark.long
def test_a_report_shows_laws_as_text_and_not_as_tags(tmp_path):
    m = mt.Model("page")
    m.input("u", unit="<i>N</i>")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("b", mass=1.0, inertia=(1, 1, 1)))
    m.torque("x", "u")
    m.output("<b>bold</b>", "u", unit="<u>")
    run = m.build().simulate(t_end=0.1, inputs={"u": "2*t"})
    run.report(tmp_path / "x.html", player=False, show=["u", "<b>bold</b>"])
    page = (tmp_path / "x.html").read_text(encoding="utf-8")
    assert "<b>bold" not in page
    assert "<i>N" not in page
    assert "input u" in page
