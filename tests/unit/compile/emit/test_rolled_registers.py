"""What loops of rolled code hand on in registers: along chains everything, and never with another bit."""

import numpy as np
import pytest

import momentree as mt
from mechanisms import (
    EVERY_JOINT,
    four_bars_in_a_row,
    random_body,
    random_configuration,
    random_frame,
    random_joint,
    random_tree,
)
from momentree.compile.emit import rolled_registers
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.equations.formulations import FORMULATIONS


def chain(n: int, twigs: bool = False) -> mt.System:
    """Links one after the other; with twigs, each carries one more."""
    m = mt.Model("chain")
    last = m.ground
    for i in range(n):
        link = m.body(f"link{i}", mt.rod(mass=1.0 + 0.1 * i, length=0.5))
        m.joint(f"hinge{i}", mt.Revolute("xyz"[i % 3]), last.at((0.5, 0.1, 0.2)), link)
        if twigs:
            m.joint(f"fork{i}", mt.Revolute("y"), link, m.body(f"twig{i}", mt.rod(mass=0.2, length=0.1)))
        last = link
    return m.build()


def every_joint_in_a_row() -> mt.System:
    """A chain of every joint type, and a tree of all of them on one of its bodies."""
    random, m = np.random.default_rng(7), mt.Model("row")
    last = m.ground
    for i, kind in enumerate(EVERY_JOINT):
        body = random_body(random, m, f"link{i}")
        m.joint(f"joint{i}", random_joint(random, kind), random_frame(random, last), random_frame(random, body))
        last = body
    return random_tree(random, EVERY_JOINT, m).build()


def handovers(system):
    code = trace_rolled(system.mechanism, "forward_dynamics")
    used = [any(code.needs[group].stores() for group in p.groups) for p in code.passes]
    return [handover for handover, is_used in zip(code.handovers, used, strict=True) if is_used]


def test_along_a_chain_every_body_takes_over_from_the_one_before():
    for handover in handovers(chain(20)):
        assert handover.keys
        assert sum(variant.takes for variant in handover.of_body.values()) == 19
        assert sum(variant.hands for variant in handover.of_body.values()) == 19


def test_where_most_bodies_have_two_children_memory_is_used():
    for handover in handovers(chain(20, twigs=True)):
        assert not handover.keys
        assert not any(variant.takes or variant.hands for variant in handover.variants)


def codes(system, share, monkeypatch):
    """Rolled code of the system, with as many or as few numbers in registers as this share lets through."""
    monkeypatch.setattr(rolled_registers, "SHARE", share)
    return {
        "forward dynamics": trace_rolled(system.mechanism, "forward_dynamics"),
        **{
            name: right_hand_side_code(system.mechanism, FORMULATIONS[name], "rolled")
            for name in ("hamiltonian", "lagrange")
        },
    }


def results(code, system, rows, width):
    """Of random rows; the arguments are made alike for all codes of one shape."""
    random = np.random.default_rng(3)
    arrays = []
    for name, columns in code.arrays:
        numbers = 0.3 * random.standard_normal((rows, columns))
        if columns >= system.nq and name not in ("v", "tau"):
            numbers[:, : system.nq] = [random_configuration(random, system) for _ in range(rows)]
        arrays.append(numbers)
    return Kernel(code, width, Target.host())(arrays)


SYSTEMS = {
    "chain": lambda: chain(20),
    "twigs": lambda: chain(8, twigs=True),
    "every joint": every_joint_in_a_row,
    "loops": lambda: four_bars_in_a_row(6).build(),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_registers_change_no_bit(name, monkeypatch):
    system = SYSTEMS[name]()
    wherever, never = (codes(system, share, monkeypatch) for share in (0.0, 2.0))
    lanes = Target.host().lanes(0) if name == "chain" else 1
    for what, code in wherever.items():
        assert any(handover.keys for handover in code.handovers), what
        assert not any(handover.keys for handover in never[what].handovers), what
        for rows, width in {(3, 1), (2 * lanes, lanes)}:
            found = results(code, system, rows, width)
            assert np.isfinite(found).all(), what
            assert np.array_equal(found, results(never[what], system, rows, width)), what
