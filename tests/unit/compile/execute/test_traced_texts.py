"""Texts of traced code: found again without tracing, never those of another mechanism, formula or package."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentree as mt
from mechanisms import bennett, delta_robot, four_bar, slider_crank
from momentree.compile.execute import traced_texts
from momentree.compile.execute.choice import kernel_of
from momentree.compile.execute.traced_texts import RememberedCode, digest_of
from momentree.compile.trace import right_hand_sides
from momentree.compile.trace.formulas import Recording
from momentree.equations.formulations import FORMULATIONS
from momentree.model.joint_types import Revolute
from momentree.spatial import ZERO, Vector

EXAMPLES = Path(__file__).parents[4] / "examples"
MODELS = {"four-bar": four_bar, "Bennett linkage": bennett, "slider-crank": slider_crank}


@pytest.fixture(autouse=True)
def texts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache that stores texts."""
    monkeypatch.setenv("MOMENTREE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MOMENTREE_TEXTS", raising=False)


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was traced so far."""
    found: list[str] = []
    for name in ("rolled", "straight_line"):
        plain: Callable[..., Any] = getattr(Recording, name)
        recorded = lambda self, *given, name=name, plain=plain: found.append(name) or plain(self, *given)  # noqa: E731
        monkeypatch.setattr(Recording, name, recorded)
    return found


def run_of(model: mt.Model, code: str | None = None, **how: Any) -> np.ndarray:
    system = model.build(code=code)
    run = system.simulate(system.assemble(), t_end=0.01, **how)
    return np.concatenate([run.q, run.v], axis=1)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("code", ["straight-line", "rolled"])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_is_built_again_is_not_traced_again(name: str, code: str, traced: list[str]) -> None:
    first = run_of(MODELS[name](), code)
    assert len(traced) == 4  # right-hand side, positions, momenta, velocities
    again = run_of(MODELS[name](), code)
    assert len(traced) == 4
    assert again.tobytes() == first.tobytes()


SETTINGS = [{"formulation": "lagrange"}, {"integrator": "verlet", "step": 1e-3}]
SETTINGS += [{"integrator": "radau9"}, {"integrator": "rodas5p"}]  # which have code of derivatives


@pytest.mark.parametrize("how", SETTINGS, ids=str)
def test_other_settings_are_traced_once_too(how: dict[str, Any], traced: list[str]) -> None:
    run_of(four_bar())
    before = len(traced)
    first = run_of(four_bar(), **how)
    assert len(traced) > before  # never the text of other settings
    count = len(traced)
    assert run_of(four_bar(), **how).tobytes() == first.tobytes()
    assert len(traced) == count


def test_quantities_of_long_chains_are_found_as_well(traced: list[str]) -> None:
    results = []
    for varied in (False, False, True):
        kernel = kernel_of(four_bar().build().mechanism, "mass_matrix", "rolled", varied)
        results.append(kernel([np.array([[0.1, 0.2, 0.3]]), *([np.array([[0.0]])] * (len(kernel.arrays) - 1))]))
        assert len(traced) == 1 + varied
    assert results[0].tobytes() == results[1].tobytes() == results[2].tobytes()


@pytest.mark.long
def test_texts_from_the_cache_are_those_that_are_traced() -> None:
    formulation = FORMULATIONS["hamiltonian"]
    for code in ("straight-line", "rolled"):
        made = [right_hand_sides.closed_code(delta_robot().build().mechanism, formulation, code) for _ in range(2)]
        assert all(isinstance(each, RememberedCode) for each in made)
        plain = made[0]._traced  # type: ignore[union-attr]
        for each in made:
            assert each.lanes(1, "momenta") == plain.lanes(1, "momenta")
            assert each.text(2) == plain.text(2)
            assert each.scratch(2) == plain.scratch(2)
            assert (each.arrays, each.constant, each.outputs) == (plain.arrays, plain.constant, plain.outputs)
        assert "_traced" not in vars(made[1])


def test_digests_tell_mechanisms_formulas_and_settings_apart() -> None:
    mechanism = four_bar().build().mechanism
    body = mechanism.bodies[0]
    heavier = dataclasses.replace(body, inertia=body.inertia * (1 + 2.0**-50))
    others = [
        (dataclasses.replace(mechanism, bodies=(heavier, *mechanism.bodies[1:])), None),
        (dataclasses.replace(mechanism, gravity=Vector(0, 0, -9.8)), None),
        (dataclasses.replace(mechanism, loops=()), None),
        (mechanism, "rolled"),
    ]
    gains = [right_hand_sides.derivatives_formula(FORMULATIONS["hamiltonian"], {"gamma": g}) for g in (1.0, 2.0)]
    formulas = [(mechanism, formula) for formula in (*gains, right_hand_sides.drift, right_hand_sides.kick)]
    digests = [digest_of(*what) for what in [(mechanism, None), *others, *formulas]]
    assert None not in digests
    assert len({*digests}) == len(digests)


def test_two_lambdas_of_one_function_are_told_apart() -> None:
    one, other = (lambda x: x + 1), (lambda x: x + 2)
    for each in (one, other):
        each.__module__ = "momentree.equations.lagrange"  # functions of others have no digest
    assert one.__qualname__ == other.__qualname__
    assert digest_of(one) != digest_of(other)
    assert None not in (digest_of(one), digest_of(other))


def test_nothing_is_stored_where_the_package_has_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traced_texts, "__file__", "/archive.zip/momentree/compile/execute/traced_texts.py")
    assert traced_texts._sources() is None
    monkeypatch.setattr(traced_texts, "_IMPORTED", None)
    assert digest_of(four_bar().build().mechanism) is None


def test_a_digest_does_not_depend_on_what_was_computed_before() -> None:
    used, fresh = four_bar().build(), four_bar().build()
    used.simulate(used.assemble(), t_end=0.001)
    vars(used.mechanism).pop("_digest")
    assert digest_of(used.mechanism) == digest_of(fresh.mechanism)


def test_zero_is_told_from_a_vector_that_is_zero() -> None:
    assert digest_of((ZERO, 1)) != digest_of((Vector(0, 0, 0), 1))
    assert digest_of((ZERO, 1)) == digest_of((ZERO, 1))


DIGESTS = """
import sys, warnings
import momentree
from momentree.compile.execute.traced_texts import digest_of
from momentree.compile.trace.right_hand_sides import kick

warnings.simplefilter("ignore")
for path in sys.argv[1:]:
    print(digest_of(momentree.load(path).build().mechanism, kick, {"a", "set", "of", "texts"}))
"""


def test_digests_are_the_same_in_another_process() -> None:
    models = [str(path) for path in sorted(EXAMPLES.glob("*/model.toml")) if "ten_thousand" not in path.parent.name]
    assert len(models) > 20
    printed = []
    for seed in ("1", "2"):  # of the order of sets
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", DIGESTS, *models], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split())
    ours = digest_of(mt.load(models[0]).build().mechanism, right_hand_sides.kick, {"a", "set", "of", "texts"})
    assert printed[0][0] == ours
    assert printed[0] == printed[1]
    assert len({*printed[0]}) == len(models)
    assert "None" not in printed[0]


class Hinge(Revolute):
    """A user's joint type, whose formulas are in no digest."""


def test_nothing_is_stored_of_what_others_define(traced: list[str]) -> None:
    model = four_bar()
    joint = model.joints[0]
    mechanism = model.build().mechanism
    body = mechanism.bodies[0]
    hinge = Hinge(**{field.name: getattr(joint.type, field.name) for field in dataclasses.fields(joint.type)})
    own = dataclasses.replace(body, joint=dataclasses.replace(body.joint, type=hinge))
    assert digest_of(dataclasses.replace(mechanism, bodies=(own, *mechanism.bodies[1:]))) is None
    assert digest_of(mechanism, lambda at, p: p) is None
    code = right_hand_sides.traced_code(mechanism, lambda at, p: [p[0]])
    assert not isinstance(code, RememberedCode)
    assert len(traced) == 1


def test_nothing_is_stored_where_the_user_wants_nothing_or_sources_change(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = four_bar().build().mechanism
    assert digest_of(mechanism) is not None
    with monkeypatch.context() as changed:
        changed.setattr(traced_texts, "_sources", lambda: "another version")
        assert digest_of(mechanism) is None
    for name in ("MOMENTREE_TEXTS", "MOMENTREE_CACHE"):
        with monkeypatch.context() as off:
            off.setenv(name, "off")
            assert digest_of(mechanism) is None
    assert digest_of(mechanism) is not None
