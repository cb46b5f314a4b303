"""What loops of rolled code hand on in registers: along chains everything, and never with another bit."""

import numpy as np
import pytest

from momentree.compile.emit import rolled_registers
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import trace_rolled
from momentree.compile.trace.right_hand_sides import right_hand_side_code
from momentree.equations.formulations import FORMULATIONS
from rolled_systems import SYSTEMS, chain, results


def handovers(system):
    code = trace_rolled(system.mechanism, "forward_dynamics")
    used = [any(code.needs[group].stores() for group in p.groups) for p in code.passes]
    return [handover for handover, is_used in zip(code.handovers, used, strict=True) if is_used]


def test_along_a_chain_every_body_takes_over_from_the_one_before():
    for handover in handovers(chain(20)):
        assert handover.keys
        assert sum(variant.takes for variant in handover.of_body.values()) == 19
        assert sum(variant.hands for variant in handover.of_body.values()) == 19


def test_registers_hold_what_most_bodies_compute_be_it_the_negative():
    handed = [(handover, code) for code in [trace_rolled(chain(20).mechanism, "forward_dynamics")]
              for handover in code.handovers]  # fmt: skip
    opposite = 0
    for handover, code in handed:
        for variant in handover.variants:
            need = code.needs[variant.group]
            stored = {(need.sweep, key): x for key, x in (need.own | need.parents).items()}
            for key in handover.keys:
                if variant.takes and variant.hands:  # nearly all bodies
                    assert (key in handover.opposite) == (variant.group.tape.edge(stored[key]) < 0)
        opposite += len(handover.opposite)
    assert opposite > 0


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
