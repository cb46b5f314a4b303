"""Forces by which systems follow programmes: closed forms, shares of reactions and actuators, what nothing drives."""

from __future__ import annotations

import numpy as np
import pytest

import momentree as mt

M, J, SPEED, TURN = 3.0, 0.4, 1.2, 0.8
BLADE = "x'*sin(phi) = y'*cos(phi)"
DRIVES = {"thrust": {"x": "cos(phi)", "y": "sin(phi)"}, "steering": {"phi": 1}}


@pytest.fixture(scope="module")
def cart():
    """A cart on a blade below its centre of mass, on a circle."""
    said = {"velocity": {"x": "s*cos(phi)", "phi": "w"}, "parameters": {"s": SPEED, "w": TURN}}
    return mt.programme("x y phi", [BLADE], mass=(M, M, J), gain=4, **said)


def points(count=4):
    random = np.random.default_rng(8)
    return random.uniform(-1, 1, (count, 3)), random.uniform(-1, 1, (count, 3)), np.arange(count) * 0.3


def test_a_cart_on_a_circle_needs_neither_thrust_nor_steering(cart):
    q, _, t = points()
    found = cart.control(q, t=t, actuators=DRIVES)
    np.testing.assert_allclose(found["thrust"], 0, atol=1e-12)
    np.testing.assert_allclose(found["steering"], 0, atol=1e-12)
    np.testing.assert_allclose(np.abs(found.multipliers[BLADE]), M * SPEED * TURN, rtol=1e-12)  # m v^2 / r
    np.testing.assert_allclose(found.rest, 0, atol=1e-12)
    faster = cart.with_parameters(s=2 * SPEED).control(q, t=t, actuators=DRIVES)
    np.testing.assert_allclose(np.abs(faster.multipliers[BLADE]), 2 * M * SPEED * TURN, rtol=1e-12)


def test_forces_are_those_of_newtons_law_with_the_forces_that_act_anyway(cart):
    q, qd, t = points()
    qdd = cart.accelerations(q, qd, t)
    found = cart.control(q, qd, t, actuators=["x", "y", "phi"], passive=[], forces={"x": "-2*x'", "phi": "s*sin(t)"})
    np.testing.assert_allclose(found["x"], M * qdd[:, 0] + 2 * qd[:, 0], rtol=1e-12)
    np.testing.assert_allclose(found["y"], M * qdd[:, 1], rtol=1e-12)
    np.testing.assert_allclose(found["phi"], J * qdd[:, 2] - SPEED * np.sin(t), rtol=1e-10)
    assert found.multipliers == {}


def test_without_actuators_forces_are_split_by_the_masses(cart):
    q, qd, t = points()
    found = cart.control(q, qd, t)
    a = np.stack([np.sin(q[:, 2]), -np.cos(q[:, 2]), 0 * t], axis=-1)
    both = a * found.multipliers[BLADE][:, None] + found.rest
    np.testing.assert_allclose(both, found.forces, atol=1e-12)
    np.testing.assert_allclose(np.einsum("kn,kn->k", a / (M, M, J), found.rest), 0, atol=1e-12)
    assert found.torques == {}
    assert "rest of phi" in str(found)


def test_what_nothing_drives_is_named(cart):
    q, qd, t = points()
    words = r"control by 'thrust' is not sufficient in row 0: nothing drives the motion phi' = 1, .*Actuate 'phi' too"
    with pytest.raises(mt.MomentreeError, match=words):
        cart.control(q, qd, t, actuators={"thrust": DRIVES["thrust"]})
    with pytest.raises(mt.MomentreeError, match="control by no actuators is not sufficient: nothing drives"):
        cart.control(q[0], qd[0], actuators=[])
    with pytest.raises(mt.MomentreeError, match=r"nothing drives the motion .*x' = .*name passive constraints"):
        cart.control(q[0], qd[0], actuators=DRIVES, passive=())


def test_redundant_actuators_share(cart):
    q, qd, t = points()
    both = {**DRIVES, "second thrust": {"x": "2*cos(phi)", "y": "2*sin(phi)"}}
    found, alone = cart.control(q, qd, t, actuators=both), cart.control(q, qd, t, actuators=DRIVES)
    np.testing.assert_allclose(found["thrust"] + 2 * found["second thrust"], alone["thrust"], rtol=1e-10)
    np.testing.assert_allclose(found["thrust"], alone["thrust"] / 2, rtol=1e-10)  # by the metric of the masses
    assert (found.redundant == 1).all()
    assert "leaves one direction of the torques open" in str(found)


def test_passive_constraints_by_text_and_number(cart):
    q, qd, t = points()
    expected = cart.control(q, qd, t, actuators=DRIVES)
    for passive in (BLADE, 1, [1], (BLADE,)):
        found = cart.control(q, qd, t, actuators=DRIVES, passive=passive)
        np.testing.assert_array_equal(found["thrust"], expected["thrust"])
    with pytest.raises(mt.MomentreeError, match=r"passive: there is no constraint 2. There are 1: 'x'\*sin"):
        cart.control(q, qd, t, passive=[2])


def test_holonomic_constraints_and_those_with_a_right_side_are_not_passive():
    p = mt.programme("x y", ["x = 0.1*t", "y' = 2"], gain=1, position_gain=1)
    assert p.control([0, 0]).multipliers == {}


def test_mistakes(cart):
    q, qd, _ = points()
    for how, words in (
        ({"forces": {"z": 1}}, "forces: there is no coordinate 'z'"),
        ({"forces": 3}, "forces is 3. Give them by the names of coordinates"),
        ({"actuators": 5}, "actuators is 5. Give a list of names"),
        ({"t": np.nan}, "q, qd or t hold NaN or infinity"),
        ({"forces": {"x": "z"}}, "force of x names 'z', which is not known"),
        ({"actuators": ["phii"]}, "there is no coordinate 'phii'. Did you mean 'phi'"),
        ({"actuators": {"T": {"x": "x'"}}}, "actuator 'T' depends on x', a velocity"),
    ):
        with pytest.raises(mt.MomentreeError, match=words):
            cart.control(q, qd, **how)
    with pytest.raises(mt.MomentreeError, match=r"there is no actuator 'trust'. Did you mean 'thrust'"):
        _ = cart.control(q, qd, actuators=DRIVES)["trust"]
    other = mt.programme("x y", wanted=(1, 2)).simulate([0, 0], t_end=0.1)
    with pytest.raises(mt.MomentreeError, match="the run has other coordinates than the programme: x, y, phi"):
        cart.control(other)


def test_samples_of_a_run_and_its_files(cart, tmp_path):
    run = cart.simulate([0, 0, 0], [1, 0.2, 0.1], t_end=1, every=0.25)
    found = cart.control(run, actuators=DRIVES)
    assert found["thrust"].shape == found.t.shape == (5,)
    assert found.forces.shape == (5, 3)
    assert "control of programme, 5 samples\n  thrust: " in str(found)
    found.to_csv(tmp_path / "control.csv")
    lines = (tmp_path / "control.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("t,thrust,steering,multiplier of x'*sin(phi)")
    assert float(lines[2].split(",")[1]) == found["thrust"][1]
    data = found.data
    assert float(data["steering"][3]) == found["steering"][3]
    np.testing.assert_array_equal(data.t, run.t)
    one = cart.control(run.q[2], run.qd[2], run.t[2], actuators=DRIVES)
    assert one["thrust"].shape == ()
    assert float(one["thrust"]) == pytest.approx(found["thrust"][2], rel=1e-12)
    one.to_csv(tmp_path / "one.csv")
    assert len((tmp_path / "one.csv").read_text(encoding="utf-8").splitlines()) == 2


# --- mechanisms ---


def slides() -> mt.Model:
    m = mt.Model("cart", gravity=(0, 0, -9.81))
    beams = [m.body(name, massless=True) for name in ("first", "second")]
    hull = m.body("hull", mass=M, com=(0.2, 0, 0), inertia=(1, 1, J))
    m.joint("x", mt.Prismatic("x"), m.ground, beams[0])
    m.joint("y", mt.Prismatic("y"), *beams)
    m.joint("phi", mt.Revolute("z"), beams[1], hull)
    m.skate(hull, across="y", name="blade")
    return m


def test_torques_by_joint_and_by_direction_have_the_same_reactions():
    p = mt.programme(slides().build(), wanted={"x": "1", "phi": "0.5"}, gain=3)
    start = p.system.assemble({"phi": 0.4}, velocities={"x": 0.7, "phi": -0.3})
    by_name = p.control(start, actuators=["x", "phi"])
    by_direction = p.control(start, actuators={"x": {"x": 1}, "phi": {"phi": 1}})
    for joint in ("x", "phi"):
        assert float(by_name[joint]) == pytest.approx(float(by_direction[joint]), rel=1e-9)
    (name,) = by_direction.multipliers
    assert float(by_name.multipliers["blade"][0]) == pytest.approx(float(by_direction.multipliers[name]), rel=1e-9)
    assert by_name.units == {"x": "N", "phi": "N m"}
    assert "x: " in str(by_name)
    assert by_name.reactions["phi"][2] == pytest.approx(M * 9.81)  # carries the weight
    assert float(by_name.data["reaction of phi"][0, 2]) == pytest.approx(M * 9.81)


def test_a_crank_at_constant_speed_takes_the_moment_of_its_weight():
    m = mt.Model("crank")
    m.joint("A", mt.Revolute("-y"), m.ground, m.body("rod", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)))
    p = mt.programme(m, velocity={"A": 1.5}, gain=2)
    A = np.linspace(0, 6, 7)[:, None]
    found = p.control(A, actuators="A")
    np.testing.assert_allclose(found["A"], 2 * 9.81 * 0.3 * np.cos(A[:, 0]), rtol=1e-12)
    slow = p.control(A, np.full_like(A, 1.2), actuators="A")
    np.testing.assert_allclose(slow["A"] - found["A"], (0.1 + 2 * 0.09) * 2 * 0.3, rtol=1e-9)  # J gain (1.5 - 1.2)
    for how, words in (({"forces": {"A": 1}}, "forces of a mechanism"), ({"passive": [1]}, "passive of a mechanism")):
        with pytest.raises(mt.MomentreeError, match=words):
            p.control(A, **how)
    with pytest.raises(mt.MomentreeError, match="there is no joint 'B'"):
        p.control(A, actuators=["B"])
