"""Numbers in tables: the same bits as numbers in the instructions; and no new machine code for other numbers."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import momentree as mt
from mechanisms import closed_state, four_bar, random_configuration, random_loops, random_tree
from momentree.compile.emit import number_tables
from momentree.compile.emit.number_tables import filled, separated, table_text
from momentree.compile.execute.machine_code import Target, loaded

KINDS = ["Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Spherical", "Planar", "Free"]


class Everything:
    """A container of all numbers: in place of PLAIN, it leaves every number in the instructions."""

    def __contains__(self, number: object) -> bool:
        return True


@pytest.fixture
def files(tmp_path, monkeypatch):
    """How many object files have been made."""
    monkeypatch.setenv("MOMENTREE_CACHE", str(tmp_path / "cache"))
    return lambda: len(list((tmp_path / "cache").glob("*.o")))


def both(monkeypatch, compute):
    """The same with numbers in tables, and in the instructions."""
    tables = compute()
    monkeypatch.setattr(number_tables, "PLAIN", Everything())
    return tables, compute()


def dynamics(model: mt.Model, seed: int, code: str | None = None) -> np.ndarray:
    system, random = model.build(code=code), np.random.default_rng(seed)
    q = np.array([random_configuration(random, system) for _ in range(9)])
    v, tau = random.normal(size=(2, 9, system.nv))
    return np.concatenate(
        [system.forward_dynamics(q, v, tau), system.bias(q, v), system.forward_dynamics(q[:1], v[:1], tau[:1])]
    )


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.repeats(1)
def test_random_trees_have_the_same_dynamics_to_the_last_bit(monkeypatch, seed, code):
    model = random_tree(np.random.default_rng(seed), list(np.random.default_rng(seed).permutation(KINDS)[:5]))
    tables, literal = both(monkeypatch, lambda: dynamics(model, seed, code))
    assert np.array_equal(tables, literal)


STIFF, FIXED = {"integrator": "radau", "rtol": 1e-6}, {"integrator": "verlet", "step": 1e-3}


@pytest.mark.long
@pytest.mark.parametrize("settings", [{}, STIFF, FIXED])
def test_runs_of_random_loops_are_the_same_to_the_last_bit(monkeypatch, settings):
    random = np.random.default_rng(3)
    model, q = random_loops(random, ["Revolute", "Spherical", "Revolute"], ["Spherical"])

    def end():
        system = model.build()
        start = closed_state(np.random.default_rng(4), system, np.asarray(q))
        run = system.simulate(start, t_end=0.05, every=0.05, **settings)
        return np.concatenate([run.q[-1], run.v[-1]])

    tables, literal = both(monkeypatch, end)
    assert np.array_equal(tables, literal)


def turned(lengths) -> np.ndarray:
    system = four_bar(lengths).build()
    run = system.simulate(system.assemble({"A": 1.0}), t_end=0.2, every=0.1)
    return np.concatenate([run.q[-1], run.v[-1], system.bias(run.q[-1], run.v[-1])])


def test_another_length_needs_no_new_machine_code(files, monkeypatch):
    """And yet all that is computed is that of the other mechanism."""
    turned((1.03, 2.17, 1.91, 2.63))
    made = files()
    assert made > 0
    found = turned((1.04, 2.19, 1.93, 2.61))
    assert files() == made
    monkeypatch.setenv("MOMENTREE_CACHE", "off")
    monkeypatch.setattr(number_tables, "PLAIN", Everything())
    assert np.array_equal(found, turned((1.04, 2.19, 1.93, 2.61)))


def pendulum(mass: float, length: float, code: str | None = None) -> mt.System:
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mass=mass, com=(0, 0, -length), inertia=(0, 0, 0)))
    return m.build(code=code)


def expected(mass: float, length: float) -> float:
    """The acceleration of a mathematical pendulum at 0.3 rad, with a torque of 0.7 N m."""
    return -9.81 / length * np.sin(0.3) + 0.7 / (mass * length**2)


@pytest.mark.parametrize("code", ["straight-line", "rolled"])
def test_systems_that_share_their_code_keep_their_own_numbers(files, code):
    numbers = [(2.5, 0.7), (3.1, 0.45), (1.7, 1.9)]
    systems = [pendulum(*pair, code) for pair in numbers]
    systems[0].forward_dynamics([0.3], [0.0], [0.7])
    made = files()
    for _ in range(2):  # the first again after the others have been linked
        found = [system.forward_dynamics([0.3], [0.0], [0.7])[0] for system in systems]
        assert found == pytest.approx([expected(*pair) for pair in numbers], rel=1e-13)
    assert files() == made > 0


@pytest.mark.parametrize("special", [(1.0, 0.7), (2.5, 1.0), (1.0, 1.0), (2.0, 0.5)])
def test_numbers_that_become_one_or_two_are_no_other_numbers(files, special):
    pendulum(2.5, 0.7).forward_dynamics([0.3], [0.0], [0.7])
    found = pendulum(*special).forward_dynamics([0.3], [0.0], [0.7])[0]
    assert found == pytest.approx(expected(*special), rel=1e-13)


def test_tables_are_taken_out_of_a_text_and_filled():
    values = [0.1, -0.0, float("inf"), 5e-324]
    words = [f"0x{np.float64(x).view(np.uint64):016X}" for x in values]
    code = (
        "define double @entry(i64 %k) {\n"
        "  %at = getelementptr double, ptr @f.numbers, i64 %k\n"
        "  %x = load double, ptr %at\n  ret double %x\n}\n"
    )
    text = f"{table_text('f.numbers', words)}\n\n{code}"
    alike, contents = separated(text)
    assert alike == f"@f.numbers = dso_local global [4 x double] zeroinitializer, align 8\n\n{code}"
    assert np.frombuffer(contents["f.numbers"]).tolist() == values
    assert separated(table_text("f.numbers", [])) == (table_text("f.numbers", []), {})
    room = np.zeros(4)
    filled({"f.numbers": room.ctypes.data}, contents)
    assert room.tobytes() == np.array(values).tobytes()

    library = loaded(text, Target.host(), "entry", {})
    entry = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(library["entry"])
    assert [entry(k) for k in range(4)] == values
