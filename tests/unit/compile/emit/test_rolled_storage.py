"""Every number that a loop of rolled code reads has been stored where it is read, by its body or by a neighbour."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import four_bar, four_bars_in_a_row, random_tree
from momentree.compile.emit.rolled_llvm import Rolled
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import closed_code, positions_code, right_hand_side_code
from momentree.compile.trace.tape import edges_of
from momentree.equations.formulations import FORMULATIONS
from rolled_systems import brush


def with_a_ball(contact: bool) -> mt.Model:
    """A four-bar linkage whose coupler carries a body on a ball joint, which may touch the ground."""
    m = four_bar()
    coupler = next(body for body in m.bodies if body.name == "coupler")
    bob = m.body("bob", mt.box(mass=1.0, size=(0.3, 0.4, 0.5)))
    m.joint("S", mt.Spherical(), coupler.at((1.0, 0, 0)), bob.at((0, 0, 0.2)))
    if contact:
        m.contact(bob.at((0, 0, -0.2)), m.ground.at((0, 0, -0.2)), stiffness=100.0, damping=0.5)
    return m


def with_a_spring_between_bodies() -> mt.Model:
    m = with_a_ball(contact=True)
    crank, bob = (next(body for body in m.bodies if body.name == name) for name in ("crank", "bob"))
    m.spring(crank.at((0.1, 0, 0)), bob.at((0, 0.1, 0)), stiffness=30.0, damping=0.5, rest=0.2)
    return m


class Memory:
    """What stands where, by name, while the passes of rolled code run."""

    def __init__(self, code: Rolled):
        self.code, self.cells, self._seen, self.wrong = code, dict[int, tuple](), set[int](), list[str]()

    def run(self) -> list[str]:
        for number, p in enumerate(self.code.passes):
            if any(self.code.needs[group].stores() for group in p.groups):
                self._before(number, p)
                self._loop(number, p)
        for edge in self.code.remaining.values():
            self._read_by_main_tape(edge)
        return self.wrong

    def _place(self, number: int, sweep: int, body: int, key: str) -> int:
        storage = self.code.storage
        if (sweep, key) in storage.frames[number].places:
            return storage.frame_at(number, body) + storage.frames[number].places[sweep, key]
        return storage.at(sweep, body) + storage.slots[sweep, key]

    def _expect(self, at: int, *what) -> None:
        if self.cells.get(at) != what:
            self.wrong.append(f"{what} is read where {self.cells.get(at)} stands")

    def _read_by_main_tape(self, edge: int) -> None:
        stack, nodes, storage = [abs(edge)], self.code.nodes, self.code.storage
        while stack:
            index = stack.pop()
            if index in self._seen:
                continue
            self._seen.add(index)
            stack += [abs(e) for e in edges_of(nodes[index])]
            if nodes[index][0] == "input" and nodes[index][1] in self.code.reads:
                sweep, body, key = self.code.reads[nodes[index][1]]
                self._expect(storage.at(sweep, body) + storage.slots[sweep, key], sweep, body, key)

    def _before(self, number: int, p) -> None:
        needs = [self.code.needs[group] for group in p.groups]
        read = set().union(*(need.from_slots(others=True) for need in needs))
        given = [(sweep, 0, key, self.code.ground[sweep, key]) for sweep, key in sorted(read & {*self.code.ground})]
        for group, need in zip(p.groups, needs, strict=True):
            for key in sorted({*group.values} & need.reads):
                edges = zip(group.bodies, self.code.values[group][key], strict=True)
                given += [(p.sweep, body, key, edge) for body, edge in edges]
        for sweep, body, key, edge in given:
            self._read_by_main_tape(edge)
            self.cells[self._place(number, sweep, body, key)] = sweep, body, key

    def _loop(self, number: int, p) -> None:
        order, parents = self.code.orders[p.sweep], self.code.parents[p.sweep]
        group_of = {body: group for group in p.groups for body in group.bodies}
        for body in reversed(order) if p.inward else order:
            group = group_of[body]
            need = self.code.needs[group]
            for name in sorted(need.reads - {*group.arguments, *group.data}):
                link, marked, _ = name.rpartition("^")
                sweep, key = need.key(name)
                who = group.links[link][1][group.place[body]] if link else parents[body] if marked else body
                storage = self.code.storage
                linked = storage.at(sweep, who) + storage.slots[sweep, key] if link else None
                self._expect(self._place(number, sweep, who, key) if linked is None else linked, sweep, who, key)
            for who, keys in ((body, need.own), (parents[body], need.parents)):
                for key in keys:
                    self.cells[self._place(number, p.sweep, who, key)] = p.sweep, who, key


def tree() -> mt.Model:
    """Branches of unlike joints, so that an inward pass comes to siblings one after the other."""
    return random_tree(np.random.default_rng(3), ["Revolute", "Prismatic", "Spherical", "Revolute", "Free"] * 3)


MODELS = {
    "tree": tree,
    "row of loops": lambda: four_bars_in_a_row(12),
    "loop": lambda: with_a_ball(contact=False),
    "loop with a contact": lambda: with_a_ball(contact=True),
    "loop with a contact and a spring": with_a_spring_between_bodies,
}


@pytest.mark.repeats(2)
@pytest.mark.parametrize("formulation", ["hamiltonian", "lagrange"])
@pytest.mark.parametrize("name", MODELS)
def test_what_is_read_was_stored_there(name, formulation):
    mechanism, how = MODELS[name]().build().mechanism, FORMULATIONS[formulation]
    codes = [right_hand_side_code(mechanism, how, "rolled", with_work, False, None, ()) for with_work in (False, True)]
    codes += [positions_code(mechanism, "rolled"), closed_code(mechanism, how, "rolled")]
    for code in codes:
        assert isinstance(code, Rolled)
        assert Memory(code).run() == []


@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("loop")])
def test_motions_by_rolled_code_are_those_by_straight_line_code(name):
    ends = []
    for code in ("straight-line", "rolled"):
        system = MODELS[name]().build(code=code)
        ball = np.array([0.1, 0.2, 0, 1]) / np.sqrt(1.05)
        start = system.assemble({"A": 0.8, "S": ball}, velocities={"A": 0.5, "S": (0.1, 1.0, 0.5)})
        run = system.simulate(start, 0.01, integrator="rk4", step=1e-3)
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=1e-12)


def test_a_body_adds_its_own_sum_as_a_whole_to_what_siblings_have_added():
    code, seen = trace_rolled(brush(12).mechanism, "forward_dynamics"), 0
    for group, need in code.needs.items():
        nodes = group.tape.nodes
        for key, x in need.parents.items():
            if f"^{key}" in need.reads:
                before = group.tape.known_input(f"^{key}")
                assert abs(before.edge) in map(abs, edges_of(nodes[abs(group.tape.edge(x))]))
                seen += 1
    assert seen
