"""Published robots with loops: mass matrices and closed-loop accelerations against a dense build, and Pinocchio."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import momentree as mt
from dense_sdf import DenseSdf
from momentree.files.extended_urdf import read_closures

ROBOTS = Path(__file__).parents[3] / "shared" / "reference" / "robots"
pytestmark = [
    pytest.mark.skipif(not ROBOTS.exists(), reason="the published robot files are not here"),
    pytest.mark.filterwarnings("ignore"),
]
# right angles are written as 1.5708 and 3.1416: with all digits the axes of the feet are parallel, as they are meant
EXACT = (("1.5708", "1.5707963267948966"), ("3.1416", "3.141592653589793"))
# these close a triangle of two hinges and a slider at its dead point, where no acceleration is determined
TRIANGLES = re.compile(r'<joint name="\w+-shin-spring-joint".*?</joint>', re.DOTALL)
SPEEDS = {"left-knee-op": 0.3, "right-knee-op": -0.4, "left-roll-op": 0.2, "left-yaw-op": 1.0, "right-pitch-op": -0.8}


def cassie(tmp_path, name, exact=True, triangles=True):
    text = (ROBOTS / "cassie_sdf" / f"{name}.sdf").read_text()
    for old, new in EXACT if exact else ():
        text = text.replace(old, new)
    text = text if triangles else TRIANGLES.sub("", text)
    (tmp_path / "cassie.sdf").write_text(text)
    return text, mt.load(tmp_path / "cassie.sdf", inertia_check="warn").build()


@pytest.mark.repeats(2)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("name", "nv"), [("cassie_v2", 28), ("cassie", 40)])
def test_mass_matrices_of_cassie_are_those_of_a_dense_build(tmp_path, name, nv, exact):
    text, system = cassie(tmp_path, name, exact)
    dense = DenseSdf(text, system, "pelvis")
    q = np.random.default_rng(1).uniform(-0.5, 0.5, system.nq)
    for places in dense.places.values():
        if len(places) > 1:
            q[places[-4:]] /= np.linalg.norm(q[places[-4:]])
    M = dense.mass_matrix(q)
    assert system.nv == nv
    assert np.abs(system.mass_matrix(q) - M).max() < 1e-13 * np.abs(M).max()


@pytest.mark.parametrize(("name", "mobility"), [("cassie_v2", 18), ("cassie", 20)])
@pytest.mark.long
def test_closed_loop_accelerations_of_cassie_solve_the_dense_kkt_system(tmp_path, name, mobility):
    text, system = cassie(tmp_path, name, triangles=False)
    dense = DenseSdf(text, system, "pelvis")
    state = system.start(velocities=SPEEDS)
    expected, freedom = dense.accelerations(state.q, state.v)
    assert freedom == mobility == system.mobility
    found = system.forward_dynamics(state.q, state.v)
    assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("name", "mobility", "redundant"),
    [
        # pelvis 6; each leg: hip 3, knee, foot with its crank, and one of heel, shin and tarsus, that the rod leaves
        (
            "cassie_v2",
            18,
            ["right-plantar-foot-joint: translation along z", "left-plantar-foot-joint: translation along z"],
        ),
        # the same, but the triangle of the left knee is not at its dead point by 0.0008 rad, and holds the shin
        ("cassie", 17, ["right-plantar-foot-joint: translation along z", "left-shin-spring-joint: rotation about x"]),
    ],
)
def test_mobility_of_cassie_as_published(tmp_path, name, mobility, redundant):
    _, system = cassie(tmp_path, name, exact=False)
    report = system.mobility_report
    assert report.true == mobility
    assert {*redundant} <= {*report.redundant}
    assert sum(couple.ratio != 0 for couple in system._model.couples) == (10 if name == "cassie" else 0)


@pytest.mark.repeats(2)
@pytest.mark.parametrize("kept", [False, True], ids=["fix", "keep"])
@pytest.mark.parametrize(
    ("name", "redundant", "idle"),
    [
        # of the constraints of each loop three hold in the plane anyway
        ("five_bar", 3, ["closedloop1_A"]),
        ("delta", 9, ["closedloop1_A", "closedloop2_B", "closedloop3_A"]),
    ],
)
def test_parallel_robots_against_pinocchio(name, redundant, idle, kept):
    """Two motors; and if they are kept, the idle turns of what is welded between two hinges with one axis."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    path = ROBOTS / name / "robot.urdf"
    model = mt.load(path, idle="keep" if kept else "fix")
    assert [note.names for note in model.notes if "idle" in note.kind] == ([] if kept else [tuple(idle)])
    closures = read_closures(path.with_name("robot.yaml"))
    for closure in closures.loops:
        model.cut(f"{closure.first}-{closure.second}")
    system = model.build()
    assert (system.mobility, len(system.mobility_report.redundant)) == (2 + kept * len(idle), redundant)
    state = system.start(velocities={"mot1" if name == "five_bar" else "mot1_rod1": 0.7})

    peer = pin.buildModelFromUrdf(str(path))
    if not kept:
        peer = pin.buildReducedModel(peer, [peer.getJointId(joint) for joint in idle], pin.neutral(peer))
    data = peer.createData()
    names = [row.joint for row in system.velocities]
    order = [names.index(joint) for joint in list(peer.names)[1:]]
    q = pin.integrate(peer, pin.neutral(peer), state.q[order])
    M = np.array(pin.crba(peer, data, q))
    M = np.triu(M) + np.triu(M, 1).T
    bias = pin.rnea(peer, data, q, state.v[order], np.zeros(peer.nv))
    rows, right = constraints(pin, peer, q, state.v[order], closures.loops)
    scale = 1 / np.sqrt(np.diag(M))  # inertias of rods and of the small balls between them differ by 1e8
    U, sizes, W = np.linalg.svd(rows * scale, full_matrices=False)
    kept = sizes > 1e-9 * sizes[0]
    G, c = W[kept], (U.T @ right)[kept] / sizes[kept]
    K = np.block([[scale[:, None] * M * scale, G.T], [G, np.zeros((len(G), len(G)))]])
    expected = scale * np.linalg.solve(K, np.hstack([-bias * scale, c]))[: peer.nv]
    found = system.forward_dynamics(state.q, state.v)[order]
    # measured by the inertia that each joint moves: a torque of 1e-17 N m turns the balls by 1e-6 rad/s2
    assert np.abs((found - expected) / scale).max() < 1e-9 * np.abs(expected / scale).max()


def constraints(pin, peer, q, v, loops):
    """G and c of G vdot = c, for frames that are welded."""
    data = peer.createData()
    pin.forwardKinematics(peer, data, q, v, np.zeros(peer.nv))
    pin.computeJointJacobians(peer, data, q)
    pin.updateFramePlacements(peer, data)
    rows, right = [], []
    axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for closure in loops:
        ends = [peer.getFrameId(name) for name in (closure.first, closure.second)]
        first, second = (pin.getFrameJacobian(peer, data, end, axes) for end in ends)
        a, b = (pin.getFrameClassicalAcceleration(peer, data, end, axes).vector for end in ends)
        rows.append(second - first)
        right.append(a - b)
    return np.vstack(rows), np.hstack(right)


SLIDERS = ["left-shin-spring-joint", "right-shin-spring-joint"]
FIVE = {  # mobility, rows that are redundant, and settings that are not the default ones
    "cassie_sdf/cassie_v2.sdf": (18, ["left-plantar-foot-joint: translation along z"], {}),
    # each knee spring closes a triangle of two hinges and a slider, which is rigid, and almost at its dead point
    "cassie_sdf/cassie.sdf": (17, ["left-shin-spring-joint: rotation about x"], {"rtol": 1e-6, "atol": 1e-6}),
    "cassie_sdf/cassie.sdf without sliders": (20, ["right-plantar-foot-joint: translation along z"], {}),
    "robotiq_2f85/2f85.xml": (3, ["connect_0: translation along x", "connect_1: translation along x"], {}),
    "xarm7_hand/hand.xml": (1, ["connect_0: translation along x", "connect_1: translation along x"], {}),
    "five_bar/robot.urdf": (2, ["mot2: translation along z", "mot2: rotation about x"], {}),
    "delta/robot.urdf": (2, ["mot1_rod2: translation along z", "mot1_rod2: rotation about x"], {}),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (not name.startswith("five"))) for name in FIVE]
)
def test_published_robots_with_loops_load_assemble_and_simulate_one_second(name):
    if name.endswith(".xml"):
        pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    mobility, redundant, settings = FIVE[name]
    file, without, _ = name.partition(" without")
    options = {"inertia_check": "warn"} if file.endswith("cassie.sdf") else {}
    system = mt.load(ROBOTS / file, **options, **({"without": SLIDERS} if without else {})).build()
    assert system.mobility == mobility
    assert {*redundant} <= {*system.mobility_report.redundant}
    start = system.start()
    assert start.closure_error < 1e-6  # right angles of Cassie are rounded, so redundant rows stay open a little
    run = system.simulate(start, t_end=1.0, **settings)
    assert run.end.reason == "arrived"
    assert run.closure_error.max() < 1e-7
    weak = [side for side in ("left", "right") if any(f"'{side}-shin-spring-joint" in each for each in run.warnings)]
    assert weak == (["left", "right"] if name.endswith("cassie.sdf") else [])


@pytest.mark.long
def test_the_delta_robot_passes_its_flat_parallelograms_without_drives():
    system = mt.load(ROBOTS / "delta" / "robot.urdf", idle="keep").build(code="rolled")
    run = system.simulate(t_end=0.2)
    assert run.end.reason == "arrived"
    assert run.closure_error.max() < 1e-12
    assert not run.warnings  # energy is balanced to 4e-8
    assert any(abs(toggle.t - 0.0918) < 1e-4 for toggle in system.toggles(run))
