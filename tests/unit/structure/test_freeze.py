"""Freezing of constraints: expressions, named frames, higher pairs, and which joints enter the tree."""

import numpy as np
import pytest

import momentree as mt
from momentree.structure.freeze import freeze


def four_bar():
    m = mt.Model("four-bar")
    crank, coupler, rocker = (
        m.body(name, mt.rod(mass=1, length=1, radius=0.1)) for name in ("crank", "coupler", "rocker")
    )
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    m.joint("D", mt.Revolute("y"), m.ground.at((2, 0, 0)), rocker)
    return m


@pytest.mark.parametrize("equation", ["A = 0", "A = D", "B = 2*D", "C + D = t", "A + B + C = 0", "B' = C' + D'"])
def test_joints_that_constraints_name_are_in_the_tree(equation):
    m = four_bar()
    m.constrain(equation)
    mechanism = freeze(m)
    named = {name for name in "ABCD" if name in equation}
    assert named <= {body.joint.name for body in mechanism.bodies}
    assert len(mechanism.loops) == 1


def test_a_weld_is_cut_before_a_joint_that_constraints_name():
    m = four_bar()
    cap = m.body("cap", mt.sphere(mass=1, radius=0.1))
    m.joints[1] = mt.model.elements.Joint("B", mt.Fixed(), *[getattr(m.joints[1], end) for end in ("first", "second")])
    m.joint("E", mt.Spherical(), m.ground, cap)
    m.constrain("A + C = D")
    assert [loop.name for loop in freeze(m).loops] == ["B"]


def test_a_loop_of_named_joints_needs_a_split():
    m = four_bar()
    m.couple("A", "B")
    m.couple("C", "D")
    with pytest.raises(mt.ModelError, match=r"is named by 'couple 2'.* m\.split\('rocker', 'D'\)"):
        freeze(m)
    m.split("rocker", "D")
    mechanism = freeze(m)
    assert [body.joint.name for body in mechanism.bodies] == ["A", "B", "C", "D"]
    assert [loop.name for loop in mechanism.loops] == ["rocker"]


def test_a_joint_that_is_named_cannot_be_cut():
    m = four_bar()
    m.couple("A", "C", ratio=2, name="train")
    m.cut("C")
    with pytest.raises(mt.ModelError, match=r"joint 'C' is named by 'train'.*Cut another joint"):
        freeze(m)


def test_constraints_are_those_of_the_user_then_couplings():
    m = four_bar()
    m.couple("A", "B")
    m.frame("tip", mt.model.frames.Frame("coupler", (0.5, 0, 0)))
    m.constrain("tip.x' = 2*tip.wy", name="blade")
    m.constrain("tip.x = 1")
    constraints = freeze(m).constraints
    assert [(c.name, c.holonomic) for c in constraints] == [
        ("blade", False),
        ("constraint 2", True),
        ("couple 1", True),
    ]
    assert str(constraints[0].expression) == "tip.x' - 2*tip.wy"


def test_named_frames_are_attached_to_their_bodies():
    m = four_bar()
    m.frame("tip", m.bodies[0].at((1, 0, 2)))
    m.frame("post", m.ground.at((0, 3, 0)))
    mechanism = freeze(m)
    (tip, on_crank), (post, on_ground) = mechanism.frames
    assert (tip, post, on_ground.body) == ("tip", "post", 0)
    assert mechanism.bodies[on_crank.body - 1].name == "crank"
    own = mechanism.bodies[on_crank.body - 1].own
    assert np.allclose([*(own @ m.frames[0].frame.placement(mechanism.values)).offset], [*on_crank.placement.offset])


def test_higher_pairs_close_loops_after_all_others():
    m = four_bar()
    ball = m.body("ball", mt.sphere(mass=1, radius=0.5))
    m.on_curve(ball, ("y = 0", "z = 1"))
    m.roll(ball, m.bodies[1], radius=0.5)
    mechanism = freeze(m)
    assert [(loop.name, loop.joint_type.kind) for loop in mechanism.loops[1:]] == [
        ("roll 1", "Rolling"),
        ("curve 1", "OnSurfaces"),
    ]
    assert mechanism.added == ("ball",)
    roll = mechanism.loops[1]
    assert [mechanism.bodies[end.body - 1].name for end in (roll.first, roll.second)] == ["coupler", "ball"]
    assert roll.joint is None


def test_free_parameters_stay_symbols():
    m = four_bar()
    m.parameter("k", 2)
    m.couple("A", "B", ratio="k")
    m.distance(m.bodies[0], m.bodies[2], "k")
    mechanism = freeze(m, ["k"])
    assert str(mechanism.constraints[0].expression) == "A - k*B"
    assert str(mechanism.loops[-1].joint_type.length) == "k"
