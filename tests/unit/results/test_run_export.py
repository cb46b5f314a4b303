"""A run as CSV and pandas: exact, by name, with units; and no HDF5 in a file that says it is something else."""

from __future__ import annotations

import csv

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar
from momentree.errors import MomentreeError


@pytest.fixture(scope="module")
def run():
    """A four-bar with a driven crank, and a ball: prescribed, of the tree and closing the loop."""
    m = four_bar()
    bob = m.body("bob", mt.sphere(mass=1.0, radius=0.1))
    m.joint("ball", mt.Spherical(), m.bodies[1].at((0.5, 0, 0)), bob.at((0.3, 0, 0)))
    m.joints[0] = mt.Model().joint("A", mt.Revolute("y", motion="1 + t"), m.joints[0].first, m.joints[0].second)
    system = m.build()
    return system.simulate(system.assemble({}, guess={"D": 1.0}), 0.2, every=0.02)


def test_every_number_reads_back_equal(run, tmp_path):
    path = tmp_path / "run.csv"
    run.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    table = {name: np.array([float(line[i]) for line in lines]) for i, name in enumerate(header)}
    assert len(table) == len(header)
    rows = [*run.system.coordinates, *run.system.velocities]
    assert header[: len(rows) + 1] == ["t [s]", *(f"{row.name} [{row.unit}]" for row in rows)]
    np.testing.assert_array_equal(table["t [s]"], run.t)
    np.testing.assert_array_equal(table["D [rad]"], run["D"])
    np.testing.assert_array_equal(table["D' [rad/s]"], run.velocity("D"))
    np.testing.assert_array_equal(table["ball.qw [1]"], run["ball"][:, 3])
    np.testing.assert_array_equal(table["ball.wz [rad/s]"], run.velocity("ball")[:, 2])
    for name in ("A", "C"):  # prescribed, and closing the loop
        np.testing.assert_array_equal(table[f"{name} [rad]"], run[name])
        np.testing.assert_array_equal(table[f"{name}' [rad/s]"], run.velocity(name))
    np.testing.assert_array_equal(table["kinetic energy [J]"], run.energy.kinetic)
    np.testing.assert_array_equal(table["potential energy [J]"], run.energy.potential)
    np.testing.assert_array_equal(table["energy balance [J]"], run.energy.balance)
    np.testing.assert_array_equal(table["work of motion of A [J]"], run.energy.work["motion of A"])
    np.testing.assert_array_equal(table["closure error [m or rad]"], run.closure_error)


def test_pandas_has_the_same(run, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    frame = run.to_pandas()
    assert frame.index.name == "t"
    assert frame.attrs["units"]["ball.qx"] == "1"
    assert frame.attrs["units"]["D'"] == "rad/s"
    np.testing.assert_array_equal(frame["D"], run["D"])
    run.to_csv(tmp_path / "run.csv")
    read = pandas.read_csv(tmp_path / "run.csv")
    assert [name.rpartition(" [")[0] for name in read.columns] == ["t", *frame.columns]
    np.testing.assert_allclose(read.to_numpy()[:, 1:], frame.to_numpy(), rtol=1e-15, atol=0)


def test_coordinates_of_quaternions_have_the_unit_1(run):
    units = dict(zip(run.data.coordinate.values, run.data.coordinate_unit.values, strict=True))
    assert [units[f"ball.q{axis}"] for axis in "xyzw"] == ["1"] * 4
    assert units["D"] == "rad"


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("run.csv", r'use run.to_csv\("run.csv"\)'),
        ("run.TXT", "run.to_csv"),
        ("run.svg", r'run.plot\("run.svg"\)'),
        ("run.xlsx", "run.data"),
        ("run.json", "End the name in .nc"),
    ],
)
def test_a_run_is_not_saved_under_a_name_that_lies(run, tmp_path, monkeypatch, name, way):
    monkeypatch.chdir(tmp_path)
    system = run.system
    for save in (run.save, lambda path: system.simulate(run.state(0), 0.1, path=path)):
        with pytest.raises(MomentreeError, match=f"{name}: runs are saved as NetCDF.*{way}"):
            save(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["run.nc", "run.h5", "run", "run.2026-11", "run.nc4"])
@pytest.mark.repeats(2)
def test_other_names_are_the_users_choice(run, tmp_path, name):
    run.save(tmp_path / name)
    assert mt.load_run(tmp_path / name).t[-1] == run.t[-1]


def test_an_empty_run_is_a_table_without_lines(run, tmp_path):
    import dataclasses

    from momentree.simulate.blocks import Block

    empty = dataclasses.replace(run, samples=Block(*(part[:0] for part in (run.t, run.q, run.v, run.samples.work))))
    empty.to_csv(tmp_path / "empty.csv")
    assert len((tmp_path / "empty.csv").read_text().splitlines()) == 1
    assert len(empty.to_pandas()) == 0
