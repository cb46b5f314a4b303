"""The picture of a run, the bar, and what is drawn of long runs."""

from __future__ import annotations

import io
import sys
import xml.dom.minidom

import numpy as np
import pytest

import momentree as mt
from momentree import activity
from momentree.errors import MomentreeError
from momentree.look.graph_picture import draw_graph
from momentree.look.plot_panels import MOST_WORK_TERMS
from momentree.look.run_picture import DASHES, thinned
from momentree.results.recorder import record
from slider import falling


@pytest.mark.repeats(1)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_same_run_gives_the_same_bytes(tmp_path, suffix):
    run = record(falling())
    for name in ("a", "b"):
        run.plot(tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()


def test_coordinates_energy_and_balance_are_drawn():
    run = record(falling())
    axes = run.plot().get_axes()
    assert [one.get_ylabel() for one in axes] == ["z, m", "energy, J", "balance, J"]
    assert np.array_equal(axes[0].lines[0].get_ydata(), run["z"])
    labels = [line.get_label() for line in axes[1].lines]
    assert labels == ["kinetic", "potential", "total", "work of torque on z"]
    assert np.array_equal(axes[2].lines[0].get_ydata(), run.energy.balance)


def test_pictures_that_cannot_be_are_told(tmp_path):
    run = record(falling())
    with pytest.raises(MomentreeError, match="not a kind of picture"):
        run.plot(tmp_path / "run.gif")
    with pytest.raises(MomentreeError, match="cannot be written"):
        run.plot(tmp_path / "no" / "run.svg")
    with pytest.raises(MomentreeError, match="there is no joint 'y'"):
        run.plot(joints=["y"])


def test_joints_can_be_named_and_many_are_cut_short():
    m = mt.Model("chain")
    body = m.ground
    for i in range(12):
        link = m.body(f"link{i}", mt.rod(mass=1.0, length=1.0))
        m.joint(f"j{i}", mt.Revolute("y"), body if i == 0 else body.at((1, 0, 0)), link)
        body = link
    system = m.build()
    run = system.simulate(system.assemble({"j3": 0.5}), t_end=0.1)
    assert len(run.plot().get_axes()) == 8 + 2
    assert [axes.get_ylabel() for axes in run.plot(joints=["j11", "j3"]).get_axes()[:2]] == ["j11, rad", "j3, rad"]


def test_a_long_run_is_thinned_to_its_envelope():
    t = np.linspace(0, 1, 100_000)
    values = np.sin(1e4 * t)
    values[54_321] = 7.0
    few, drawn = thinned(t, values)
    assert len(few) < 5000
    assert drawn.max() == 7.0
    assert drawn.min() == values.min()
    assert (few[0], few[-1]) == (0, 1)
    assert np.all(np.diff(few) > 0)


@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_a_gap_hides_nothing_but_itself_where_a_run_is_thinned(gap):
    t = np.linspace(0, 1, 100_000)
    values = np.sin(1e4 * t)
    values[[7, 54_321]] = gap
    values[60_000:70_000] = gap
    few, drawn = thinned(t, values)
    assert len(few) < 5000
    finite, of_all = drawn[np.isfinite(drawn)], values[np.isfinite(values)]
    assert (finite.max(), finite.min()) == (of_all.max(), of_all.min())
    gaps = few[~np.isfinite(drawn)]
    assert {t[7], t[54_321], t[60_000], t[69_999]} <= {*gaps}
    assert len(finite) > 1780 * 2  # all columns but those within the gap


# --- the bar ---


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, patience, wanted=None):
    monkeypatch.setattr(activity, "PATIENCE", patience)
    monkeypatch.setattr(activity, "OFTEN", 0.01)
    monkeypatch.setattr(activity, "_columns", lambda stream: 120)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    record(falling(pause=0.02), progress=wanted)
    return stream.getvalue()


def test_a_bar_on_a_terminal_tells_time_speed_and_gap(monkeypatch):
    told = shown(monkeypatch, Terminal(), 0.0)
    for words in ("of 1 s", "s/s", "closure error 0.0e+00"):
        assert words in told


def test_no_bar_where_nobody_looks_or_waits(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), 0.0) == ""
    assert shown(monkeypatch, Terminal(), 100.0) == ""
    assert shown(monkeypatch, Terminal(), 0.0, wanted=False) == ""


NAMES = [
    r"$\undefinedmacro$",
    "a$b",
    "$",
    "{",
    "100%",
    "\\",
    "*/",
    "</svg>&amp;]]>",
    "_x",
    "日本語 🙂",
    "e\u0301",
    "x" * 300,
]


@pytest.mark.repeats(1)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_any_name_can_be_drawn_and_exported(name, tmp_path):
    """Names are only names: no sign in them means anything to what draws and writes them."""
    m = mt.Model(name)
    bob = m.body(name, mt.rod(mass=1.0, length=1.0))
    m.joint(name, mt.Revolute("y", damping=0.1), "ground", bob)
    m.torque(name, "0.1*sin(t)")
    assert m.check() == []
    system = m.build()
    run = system.simulate(system.assemble({name: 0.3}), t_end=0.1)
    run.plot(tmp_path / "run.svg")
    draw_graph(system.structure, tmp_path / "graph.svg")
    for picture in ("run.svg", "graph.svg"):
        xml.dom.minidom.parse(str(tmp_path / picture))
    assert name in str(system)
    assert len(system.equations().latex(tmp_path / "equations.tex")) > 0
    system.export_c(tmp_path / "code.c", "bias")
    m.save(tmp_path / "model.toml")
    assert mt.load(tmp_path / "model.toml") == m


def test_the_curves_of_the_energy_account_differ_in_color_and_in_dashes():
    most = 3 + MOST_WORK_TERMS
    assert len({str(dashes) for dashes in DASHES}) == len(DASHES) >= most
