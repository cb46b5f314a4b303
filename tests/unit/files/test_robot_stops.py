"""Stops of joints whose robot file says nothing of their stiffness: from effort and inertia."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest

import momentree as mt
from momentree.files.counterparts import FileNotes
from momentree.files.robot_stops import PER_EFFORT, carried_inertias, effort_of, stop_of
from momentree.model.joint_type import STOPS

NOTE = "stops as stiff as inertia and effort ask for"


def link(name, mass, inertia, com="0.1 0 0"):
    moments = " ".join(f'{key}="{inertia if key in ("ixx", "iyy", "izz") else 0}"' for key in INERTIA)
    inertial = f'<inertial><origin xyz="{com}"/><mass value="{mass}"/><inertia {moments}/></inertial>'
    return f'<link name="{name}">{inertial}</link>'


def joint(name, parent, child, kind="revolute", effort='effort="2"', origin="0.3 0 0"):
    ends = (
        f'<origin xyz="{origin}" rpy="0.1 0.2 0.3"/><parent link="{parent}"/><child link="{child}"/><axis xyz="0 1 0"/>'
    )
    dynamics = '<dynamics damping="0.001" friction="0.1"/>'
    limit = f'<limit lower="-0.3" upper="0.4" {effort} velocity="9"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{limit}{dynamics}</joint>'


INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
ARM = [
    link("base", 1, 1),
    link("arm", 2.0, 0.02),
    link("hand", 0.5, 0.001),
    link("finger", 0.01, 1e-6, "0.02 0 0"),
    joint("shoulder", "base", "arm", effort='effort="100"'),
    joint("wrist", "arm", "hand", "prismatic", effort='effort="30"'),
    joint("knuckle", "hand", "finger", effort='effort="1.5"'),
]


def read(tmp_path, parts, name="arm"):
    path = tmp_path / f"{name}.urdf"
    path.write_text(f'<robot name="{name}">{"".join(parts)}</robot>')
    with warnings.catch_warnings():
        warnings.simplefilter("error", FileNotes)  # what a file leaves open is noted, and no reason for a warning
        return mt.load(path)


def test_carried_inertias_are_the_diagonal_of_the_mass_matrix(tmp_path):
    model = read(tmp_path, ARM)
    system = model.build()
    found = carried_inertias(model)
    assert np.allclose(
        [found[name][0] for name in ("shoulder", "wrist", "knuckle")],
        system.mass_matrix(system.assemble()).diagonal(),
        rtol=1e-12,
    )


def test_stops_bear_the_effort_and_suit_the_inertia(tmp_path):
    model = read(tmp_path, ARM)
    (note,) = [note for note in model.notes if note.kind == NOTE]
    assert note.names == ("shoulder", "wrist", "knuckle")
    inertias, units = carried_inertias(model), {"shoulder": "rad", "wrist": "m", "knuckle": "rad"}
    for joint_, effort in zip(model.joints[-3:], (100, 30, 1.5), strict=True):
        k, c = joint_.type.stops
        (inertia,) = inertias[joint_.name]
        assert effort * PER_EFFORT[units[joint_.name]] <= k * (1 + 1e-12)
        assert math.sqrt(k / inertia) >= 100 * (1 - 1e-12)  # 1/s
        assert c / (2 * math.sqrt(k * inertia)) == pytest.approx(STOPS[1] / 2 / math.sqrt(STOPS[0]))  # damping ratio


def test_one_kilogram_gets_the_stops_of_the_library():
    for unit in PER_EFFORT:
        assert stop_of(0.0, 1.0, unit) == pytest.approx(STOPS)
        assert stop_of(math.inf, 1e-5, unit) == STOPS
        assert stop_of(1e9, 1e-5, unit)[0] == STOPS[0]


@pytest.mark.parametrize(("text", "effort"), [("3", 3.0), ("", math.inf), ("inf", math.inf), ("-1", math.inf)])
def test_efforts_are_read_as_files_write_them(text, effort):
    assert effort_of(text) == effort
    assert effort_of("nan") == math.inf


def test_what_a_file_says_of_stops_stays(tmp_path):
    said = "<stiffness>300</stiffness><dissipation>2</dissipation>"
    moments = "<inertia><ixx>1e-4</ixx><iyy>1e-4</iyy><izz>1e-4</izz></inertia>"
    body = f"<link name='{{}}'><inertial><mass>0.1</mass>{moments}</inertial></link>"
    hinge = (
        "<joint name='j{0}' type='revolute'><parent>world</parent><child>{0}</child><axis><xyz>0 0 1</xyz>"
        "<limit><lower>-1</lower><upper>1</upper>{1}</limit></axis></joint>"
    )
    limits = {"a": f"<effort>1</effort>{said}", "b": "<effort>1</effort>", "c": "", "d": "<effort>-1</effort>"}
    limits["e"] = "<effort>1</effort><stiffness>1e4</stiffness><dissipation>100</dissipation>"
    parts = [text for name, limit in limits.items() for text in (body.format(name), hinge.format(name, limit))]
    path = tmp_path / "x.sdf"
    path.write_text(f"<sdf version='1.7'><model name='x'>{''.join(parts)}</model></sdf>")
    stops = {joint.name: joint.type.stops for joint in mt.load(path).joints}
    assert stops["ja"] == (300.0, 2.0)
    assert stops["jb"] == pytest.approx(stop_of(1.0, 1e-4, "rad"))
    assert (stops["jc"], stops["jd"], stops["je"]) == (None, None, STOPS)


def test_stops_that_were_chosen_are_kept_by_files(tmp_path):
    model = read(tmp_path, ARM)
    for name in ("again.urdf", "again.sdf", "again.toml"):
        model.save(tmp_path / name)
        again = {joint.name: joint.type.stops for joint in mt.load(tmp_path / name).joints}
        for joint_ in model.joints[-3:]:
            assert again[joint_.name] == pytest.approx(joint_.type.stops, rel=1e-12), name


def finger(tmp_path, moment):
    limit = joint("knuckle", "base", "finger", effort='effort="0.02"').replace('friction="0.1"', 'friction="1e-4"')
    return read(tmp_path, [link("base", 1, 1), link("finger", 0.02, moment, "0.03 0 0"), limit])


@pytest.mark.parametrize("moment", [1e-6, 1e-5])
def test_a_finger_that_falls_into_its_stop_takes_few_steps(tmp_path, moment):
    """Stops of 1e4 N m/rad hold a light finger within the ramp of their damping, where it bounces all but undamped."""
    model, counts = finger(tmp_path, moment), []
    for stops in (model.joints[-1].type.stops, STOPS):
        model.joints[-1] = replace(model.joints[-1], type=replace(model.joints[-1].type, stops=stops))
        system = model.build()
        run = system.simulate(system.assemble({"knuckle": 0.0}), t_end=1.0, every=0.1)
        again = system.simulate(system.assemble({"knuckle": 0.0}), t_end=1.0, every=0.1, rtol=1e-13)
        assert np.abs(run.q - again.q).max() < 1e-8
        counts.append(run.statistics.accepted)
    assert 3 * counts[0] < counts[1]
