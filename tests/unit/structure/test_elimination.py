"""Plans of elimination: where constraints of any number of ends are open, and where they are closed."""

from __future__ import annotations

import pytest

from momentree.structure.elimination import ConstraintEnds, elimination_plan, paths_inward

PARENTS = (0, 0, 1, 2, 1, 4, 0)


@pytest.mark.parametrize(
    ("bodies", "paths", "ancestor"),
    [
        ((3, 5), [[3, 2], [5, 4]], 1),
        ((5, 4), [[5], []], 4),
        ((3, 5, 4), [[3, 2], [5, 4], [4]], 1),
        ((3, 2, 6), [[3, 2, 1], [2, 1], [6]], 0),
        ((3,), [[3, 2, 1]], 0),
        ((0,), [[]], 0),
    ],
)
def test_paths_lead_to_the_common_ancestor(bodies, paths, ancestor):
    assert paths_inward(PARENTS, bodies) == (paths, ancestor)


def test_a_constraint_is_open_once_in_each_body_on_its_paths_and_closed_at_a_node():
    plan = elimination_plan(PARENTS, [ConstraintEnds(2, (3, 2, 6))], fixed_ground=True)
    assert [node.slots.rows for node in plan.nodes] == [0, 2, 2, 2, 0, 0, 2, 2]
    assert [node.slots.closes for node in plan.nodes] == [0] * 7 + [2]
    assert plan.node_of == (7,)
    assert [node.parent for node in plan.nodes] == [0, 7, 1, 2, 1, 4, 7, 0]
    assert [node.slots.ends for node in plan.nodes] == [
        (),
        (),
        ((0, 1, False),),
        ((0, 0, False),),
        (),
        (),
        ((0, 2, False),),
        (),
    ]
    assert all(node.slots.on_fixed_ground == (number in (1, 6, 7)) for number, node in enumerate(plan.nodes))


def test_an_end_at_the_common_ancestor_is_at_the_node():
    plan = elimination_plan(PARENTS, [ConstraintEnds(1, (2, 4, 1))], fixed_ground=True)
    assert plan.nodes[7].parent == 1
    assert plan.nodes[7].slots.ends == ((0, 2, False),)
    assert plan.nodes[1].slots.rows == 0


def test_the_first_ends_of_a_coupling_act_along_joints_and_pass_those():
    """A coupling of joints 3 and 5 ends in the bodies after them, and is open in these."""
    plan = elimination_plan(PARENTS, [ConstraintEnds(1, (3, 5, 6), along=2)], fixed_ground=True)
    ends = {number: node.slots.ends for number, node in enumerate(plan.nodes) if node.slots.ends}
    assert ends == {3: ((0, 0, True),), 5: ((0, 1, True),), 6: ((0, 2, False),)}
    assert plan.nodes[plan.node_of[0]].parent == 0


@pytest.mark.parametrize("joints", [(2, 1), (1, 2), (3, 2, 1), (1,)])
def test_a_coupling_of_joints_on_one_path_closes_below_the_lowest(joints):
    """The joint before a body carries the force: the node stands between that body and its parent."""
    plan = elimination_plan(PARENTS, [ConstraintEnds(1, joints, along=len(joints))], fixed_ground=True)
    assert plan.nodes[plan.node_of[0]].parent == 0
    assert all(plan.nodes[joint].slots.rows == 1 for joint in joints)


def test_each_row_has_a_slot_of_its_own():
    constraints = [
        ConstraintEnds(2, (3, 5, 6)),
        ConstraintEnds(1, (2, 6)),
        ConstraintEnds(3, (5, 3)),
        ConstraintEnds(1, (1,)),
    ]
    plan = elimination_plan(PARENTS, constraints, fixed_ground=False)
    for node in plan.nodes[1:]:
        slots, above = node.slots, plan.nodes[node.parent].slots
        assert len(set(slots.up)) == len(slots.up) == slots.rows - slots.closes
        assert slots.above == above.rows
        assert all(slot < above.rows for slot in slots.up)
    assert sorted(plan.node_of) == [7, 8, 9, 10]
    assert sum(node.slots.closes for node in plan.nodes) == 7
    assert {(end.constraint, end.index) for node in plan.nodes for end in node.ends} == {
        (number, index) for number, each in enumerate(constraints) for index in range(len(each.bodies))
    }
