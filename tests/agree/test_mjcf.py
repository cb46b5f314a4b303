"""MJCF files here and in MuJoCo: trees agree to 1e-12, loops with a dense solve to 1e-9.

Published hands, where their files are there, and random files with every kind of joint, several joints on a body,
nested frames, defaults, orientations in every notation, springs, dampers, armature, tendons and equalities.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import momentree as mt
from agree.peers import agree

pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[test]'")

from agree.mjcf_peer import Peer, opened

ROBOTS = Path(__file__).parents[3] / "shared" / "reference" / "robots"
HANDS = {"robotiq_2f85/2f85.xml": 3, "xarm7_hand/hand.xml": 1}  # and their mobilities
here = pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here")
pytestmark = pytest.mark.filterwarnings("ignore::momentree.files.counterparts.FileNotes")


def compare_trees(path: Any, model: mt.Model, random: np.random.Generator) -> None:
    system = opened(model).build()
    peer = Peer(path, system)
    q, v = peer.random_q(random), random.standard_normal(system.nv)
    assert agree(system.mass_matrix(q), peer.mass_matrix(q))
    assert agree(system.bias(q, v), peer.bias(q, v))
    assert agree(system.forward_dynamics(q, v), peer.accelerations(q, v))


def compare_loops(path: Any, system: mt.System, q: np.ndarray, random: np.random.Generator) -> float:
    """The error of accelerations, in units of the largest that there would be without constraints."""
    peer = Peer(path, system)
    v = peer.closed_velocities(q, random.standard_normal(system.nv))
    scale = np.abs(peer.accelerations(q, v)).max()
    return np.abs(system.forward_dynamics(q, v) - peer.closed_accelerations(q, v)).max() / scale


@here
@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", HANDS)
def test_published_hands_are_trees_as_mujocos(name):
    compare_trees(ROBOTS / name, mt.load(ROBOTS / name), np.random.default_rng(5))


@pytest.mark.repeats(1)
@here
@pytest.mark.parametrize("name", HANDS)
def test_loops_of_published_hands_accelerate_as_a_dense_solve_says(name):
    system = mt.load(ROBOTS / name).build()
    assert system.mobility == HANDS[name]
    redundant = [row for row in system.mobility_report.redundant if "translation along x" in str(row)]
    assert len(redundant) == 2
    for angle in (0.1, 0.7):
        q = system.assemble({"right_driver_joint": angle}).q
        assert compare_loops(ROBOTS / name, system, q, np.random.default_rng(7)) < 1e-9


@here
@pytest.mark.repeats(1)
@pytest.mark.parametrize("name", HANDS)
def test_published_hands_run_for_a_second(name):
    system = mt.load(ROBOTS / name).build()
    run = system.simulate(system.start(), t_end=1.0)
    assert run.t[-1] == 1
    assert run.closure_error.max() < 1e-9


# --- random files ---


class Writer:
    """A random MJCF file."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.degrees = bool(self.random.integers(2))
        self.joints, self.scalar = 0, list[str]()
        self.bodies: list[str] = []

    def vector(self, scale: float = 1.0, count: int = 3) -> str:
        return " ".join(repr(float(x)) for x in scale * self.random.standard_normal(count))

    def number(self, low: float, high: float) -> float:
        return float(self.random.uniform(low, high))

    def angle(self, low: float, high: float) -> float:
        return float(np.degrees(self.number(low, high))) if self.degrees else self.number(low, high)

    def orientation(self) -> str:
        turn = f"{self.angle(-2, 2)!r}"
        euler = " ".join(repr(self.angle(-2, 2)) for _ in range(3))
        both = self.vector(count=6)
        choices = ["", f'quat="{self.vector(count=4)}"', f'axisangle="{self.vector()} {turn}"', f'euler="{euler}"']
        return str(self.random.choice([*choices, f'xyaxes="{both}"', f'zaxis="{self.vector()}"']))

    def inertial(self) -> str:
        a, b, c = (self.number(0.01, 0.1) for _ in range(3))
        diagonal = f"{b + c!r} {a + c!r} {a + b!r}"
        turned = f'quat="{self.vector(count=4)}"'
        numbers = (
            f'<inertial pos="{self.vector(0.2)}" mass="{self.number(0.5, 2)!r}" diaginertia="{diagonal}" {turned}/>'
        )
        sizes = " ".join(repr(self.number(0.05, 0.2)) for _ in range(3))
        place = f'pos="{self.vector(0.2)}" {self.orientation()}'
        solids = [f'<geom type="{kind}" size="{sizes}" {place}/>' for kind in ("box", "capsule", "ellipsoid")]
        return str(self.random.choice([numbers, *solids, solids[0] + solids[1]]))

    def joint(self, kind: str) -> str:
        self.joints += 1
        name = f"j{self.joints}"
        base = f'name="{name}" type="{kind}" pos="{self.vector(0.3)}" damping="{self.number(0.1, 1)!r}"'
        if kind == "ball":
            return f"<joint {base}/>"
        self.scalar.append(name)
        place = self.angle if kind == "hinge" else self.number
        options = {
            "ref": f"{place(-1, 1)!r}",
            "springref": f"{place(-1, 1)!r}",
            "stiffness": " ".join(repr(self.number(0.5, 2)) for _ in range(3)),
            "armature": f"{self.number(0.1, 1)!r}",
            "damping": " ".join(repr(self.number(0.1, 1)) for _ in range(3)),
            "frictionloss": f"{self.number(0.1, 1)!r}",
            "class": "soft",
        }
        chosen = {key: text for key, text in options.items() if self.random.random() < 0.5}
        if "damping" in chosen:
            base = base.rpartition(" damping=")[0]
        said = " ".join(f'{key}="{text}"' for key, text in chosen.items())
        return f'<joint {base} axis="{self.vector()}" {said}/>'

    def body(self, depth: int) -> str:
        name = f"b{len(self.bodies)}"
        self.bodies.append(name)
        count = int(self.random.choice([0, 1, 1, 2, 3])) if depth else 1
        chosen = [str(kind) for kind in self.random.choice(["hinge", "slide"], count)]
        if count and self.random.random() < 0.3:  # MuJoCo wants no turn after a ball
            chosen = [*chosen[:-1], "ball"]
        floats = depth == 0 and self.random.random() < 0.4
        joints = f'<freejoint name="float{name}"/>' if floats else "".join(self.joint(kind) for kind in chosen)
        lifted = f'gravcomp="{self.number(0, 1)!r}"' if self.random.random() < 0.3 else ""
        inside = "".join(self.body(depth + 1) for _ in range(int(self.random.integers(0, 3)) if depth < 3 else 0))
        place = f'pos="{self.vector(0.4)}" {self.orientation()}'
        whole = f'<body name="{name}" {place} {lifted}>{joints}{self.inertial()}{inside}</body>'
        framed = depth > 0 and self.random.random() < 0.3
        return f'<frame pos="{self.vector(0.2)}" {self.orientation()}>{whole}</frame>' if framed else whole

    def rest(self, equalities: str = "") -> str:
        if len(self.scalar) < 2:
            return f"<equality>{equalities}</equality>"
        a, b = self.scalar[:2]
        terms = "".join(f'<joint joint="{j}" coef="{self.number(-2, 2)!r}"/>' for j in self.scalar[:3])
        how = f'stiffness="{self.number(1, 3)!r}" damping="{self.number(0.1, 1)!r}"'
        lengths = 'springlength="-0.1 0.2"' if self.random.random() < 0.5 else ""
        tendons = f'<fixed name="cable" {how} {lengths}>{terms}</fixed>'
        tendons += f'<fixed name="other"><joint joint="{a}" coef="2"/></fixed>'
        motor = f'<motor joint="{b}" gear="3" armature="0.05" damping="0.02"/>'
        return f"<tendon>{tendons}</tendon><actuator>{motor}</actuator><equality>{equalities}</equality>"

    def file(self, closed: bool = False) -> str:
        angle = "degree" if self.degrees else "radian"
        bodies = "".join(self.body(0) for _ in range(2 if closed else 1))
        defaults = '<default><default class="soft"><joint damping="0.7" armature="0.2"/></default></default>'
        compiler = f'<compiler angle="{angle}" autolimits="true"/><option gravity="{self.vector(5)}"/>'
        rest = self.rest(self.equalities() if closed else "")
        return f"<mujoco>{compiler}{defaults}<worldbody>{bodies}</worldbody>{rest}</mujoco>"

    def equalities(self) -> str:
        """One of them, since many together leave nothing that moves."""
        a, b = (str(name) for name in self.random.choice(self.bodies, 2, replace=False))
        choices = [f'<connect body1="{a}" body2="{b}" anchor="{self.vector(0.3)}"/>']
        choices.append(f'<connect body1="{a}" anchor="{self.vector(0.3)}"/>')
        choices.append(f'<weld body1="{a}" body2="{b}" anchor="{self.vector(0.3)}"/>')
        if len(self.scalar) > 1:
            c = " ".join(repr(self.number(-1, 1)) for _ in range(4))
            i, j = self.scalar[:2]
            choices.append(f'<joint joint1="{i}" joint2="{j}" polycoef="0 {self.number(-2, 2)!r} 0 0 0"/>')
            choices.append(f'<joint joint1="{i}" joint2="{j}" polycoef="0 {c}"/><connect body1="{a}" anchor="0 0 0"/>')
            choices.append(f'<tendon tendon1="cable" tendon2="other" polycoef="0 {self.number(-2, 2)!r} 0 0 0"/>')
            choices.append(f'<tendon tendon1="other" polycoef="0 0 0 0 0"/><weld body1="{b}"/>')
        return str(self.random.choice(choices))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.repeats(3)
def test_random_trees_are_mujocos(tmp_path, seed):
    path = tmp_path / "random.xml"
    path.write_text(Writer(seed).file())
    compare_trees(path, mt.load(path), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.repeats(3)
def test_random_loops_accelerate_as_a_dense_solve_says(tmp_path, seed):
    path = tmp_path / "random.xml"
    path.write_text(Writer(1000 + seed).file(closed=True))
    model = mt.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        system = model.build()
    q = system.start().q
    assert compare_loops(path, system, q, np.random.default_rng(seed)) < 1e-9
