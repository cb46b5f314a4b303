"""C files of a system: the start is inside, and what acts at events is refused by name."""

from __future__ import annotations

import pytest

import momentree as mt
from c_motion import ARRIVED, Motion, needs_compiler
from mechanisms import four_bar


def gate(switched: str) -> mt.Model:
    m = mt.Model("gate")
    leaf = m.body("leaf", mt.rod(mass=1.0, length=1.0))
    m.joint("A", mt.Revolute("y"), m.ground, leaf)
    if switched == "latch":
        m.latch("A", at=1.0)
    else:
        m.joint("B", mt.Spherical(), leaf.at((1, 0, 0)), m.ground.at((1, 0, 0)))
        m.release("B", at=0.5)
    return m


@pytest.mark.parametrize(("switched", "named"), [("latch", "latch of joint 'A'"), ("release", "switch of 'B'")])
def test_what_acts_at_events_is_refused_by_name(tmp_path, switched, named):
    with pytest.raises(mt.MomentreeError, match=rf"gate: {named}: steps in C do not act at events\. Remove them, or"):
        gate(switched).build().export_c(tmp_path / "gate.c", "step")
    assert list(tmp_path.iterdir()) == []


def test_the_integrator_belongs_to_steps(tmp_path):
    with pytest.raises(mt.MomentreeError, match=r"belong to whole steps\. Add 'step' to what="):
        four_bar().build().export_c(tmp_path / "it.c", integrator="rk4")


@pytest.mark.parametrize("to", ["open.c", "open.fmu"])
def test_a_start_that_does_not_close_is_refused(tmp_path, to):
    system = four_bar().build()
    how = {"what": ["step"], "integrator": "rk4"} if to == "open.c" else {}
    start = system.assemble({"A": 1.0})
    start.q[0] += 0.1
    with pytest.raises(mt.MomentreeError, match="export: the start does not close"):
        system.export(tmp_path / to, start=start, **how)
    with pytest.raises(mt.MomentreeError, match="start= must be a state"):
        system.export(tmp_path / to, start=start.q, **how)
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("drive", ["1 + 2*t", ([0.0, 1.0], [1.0, 3.0])], ids=["law", "values"])
def test_inputs_begin_with_what_they_are_at_the_start(tmp_path, drive):
    """In the run that the state is of, the input has become 1.5."""
    m = mt.Model("cart")
    m.joint("x", mt.Prismatic("x"), m.ground, m.body("cart", mass=1.0))
    m.input("drive", 7.0)
    m.torque("x", "drive")
    system = m.build()
    start = system.simulate(system.assemble({"x": 0.0}), 0.25, inputs={"drive": drive}).state()
    system.export_c(tmp_path / "cart.c", what=["step"], integrator="rk4", start=start)
    assert "parameters[0] = 1.5;" in (tmp_path / "cart.c").read_text()


def test_the_header_documents_steps_beside_quantities(tmp_path):
    four_bar().build().export_c(tmp_path / "it.c", ["bias", "step"])
    header = (tmp_path / "it.h").read_text()
    for line in (
        "#define IT_NX 6",
        "#define IT_OPEN 4",
        "void it_bias(const double *q, const double *v, double t, double *out);",
        "void it_derivatives(const double *state, double t, double *out);",
        "int it_close(double *state, double t, double *work);",
        "int it_step(double *state, double t, double h, double *work);",
        "double it_start(double *state);",
    ):
        assert f"\n{line}\n" in header


@needs_compiler
def test_a_mechanism_that_cannot_move_has_steps_of_nothing(tmp_path):
    m = mt.Model("statue")
    m.joint("weld", mt.Fixed(), m.ground, m.body("stone", mt.sphere(mass=1.0, radius=1.0)))
    motion = Motion(m.build(), tmp_path)
    assert motion.step(1.0) == motion.call("close") == ARRIVED
