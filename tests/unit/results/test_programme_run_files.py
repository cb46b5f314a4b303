"""Runs of programmes as files: equal to the last bit, written whole or not at all, damage noticed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import xarray

import momentree as mt
from momentree.errors import MomentreeError
from slider import falling

CART = mt.programme("x y phi", ["x'*sin(phi) = y'*cos(phi)"], velocity={"x": "cos(phi)", "phi": 1}, gain=3, name="cart")
RUN = CART.simulate([0, -1, 0], [1.2, 0.1, 0.9], t_end=2.0, every=0.1)
EMPTY = mt.programme("x", velocity=("1",), gain=1).simulate([0], [2], t_end=0.1)
ODD = dataclasses.replace(
    RUN, name="日本語\n$", constraints=("x' = 1", "x' = 1"), constraint_error=np.full((len(RUN.t), 2), np.nan),
    size=np.where(RUN.t > 1, np.inf, RUN.size), stopped="at t = 2 s", evaluations=2**40,
)  # fmt: skip


@pytest.mark.parametrize("run", [RUN, EMPTY, ODD], ids=["cart", "without constraints", "odd"])
def test_what_is_saved_loads_equal_to_the_last_bit(tmp_path, run):
    run.save(tmp_path / "run.nc")
    again = mt.load_programme_run(tmp_path / "run.nc")
    assert again.programme is None  # a file has the run, not what it is a run of
    for field in (field for field in dataclasses.fields(run) if field.name != "programme"):
        old, new = getattr(run, field.name), getattr(again, field.name)
        assert np.array_equal(old, new, equal_nan=True) if isinstance(old, np.ndarray) else old == new, field.name


def test_any_reader_of_netcdf_opens_it(tmp_path):
    RUN.save(tmp_path / "run.nc")
    with xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf", decode_times=False) as data:
        assert (data.q.values == RUN.q).all()
        assert data.sizes == {"t": 21, "coordinate": 3, "constraint": 1}


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b[:4000] + b"\0\1\2" + b[4003:], lambda b: b""]
)
def test_damage_is_noticed(tmp_path, damage):
    path = tmp_path / "run.nc"
    RUN.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(MomentreeError, match=r"run.nc: .*checksum .* Restore it from a copy, or compute it again"):
        mt.load_programme_run(path)


def test_runs_of_programmes_and_of_systems_name_each_other_s_call(tmp_path):
    RUN.save(tmp_path / "programme.nc")
    with pytest.raises(MomentreeError, match=r"is a motion by a programme\. .* momentree\.load_programme_run"):
        mt.load_run(tmp_path / "programme.nc")
    falling().system.simulate(t_end=0.1, path=tmp_path / "run.nc")
    with pytest.raises(MomentreeError, match=r"is not a motion by a programme\. .* momentree\.load_run"):
        mt.load_programme_run(tmp_path / "run.nc")


def test_what_cannot_be_is_an_error(tmp_path):
    with pytest.raises(MomentreeError, match="there is no such file"):
        mt.load_programme_run(tmp_path / "run.nc")
    with pytest.raises(MomentreeError, match="not a regular file but a folder"):
        mt.load_programme_run(tmp_path)
    with pytest.raises(MomentreeError, match="cannot be written"):
        RUN.save(tmp_path / "no" / "run.nc")
    with pytest.raises(MomentreeError, match="folder"):
        RUN.save(tmp_path)


def test_files_of_other_runs_are_told_apart(tmp_path):
    m = mt.Model("pendulum")
    m.joint("a", mt.Revolute("y"), "ground", m.body("rod", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    system.simulate(system.assemble({"a": 0.3}), t_end=0.1).save(tmp_path / "run.nc")
    with pytest.raises(MomentreeError, match=r"is not a motion by a programme. .* momentree.load_run"):
        mt.load_programme_run(tmp_path / "run.nc")
