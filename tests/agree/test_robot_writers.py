"""Written robot files against what was written: by our own readers, by MuJoCo (MJCF) and by Pinocchio (URDF).

Random trees of every joint type in general frames, partly reversed, of the size of robots, watches and cranes.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import dense_sdf
import momentree as mt
from mechanisms import bennett, delta_robot, hexapod, random_loops
from momentree.model.expressions.expression import Reference
from robot_trips import SCALES, differences, general_frame, layout, random_robot, random_state, relative, trip

TREE = ["Revolute", "Prismatic", "Fixed", "Revolute", "Cylindrical", "Universal", "PinSlot", "Planar", "Screw", "Free"]
KINDS = {
    ".urdf": TREE,
    ".xml": [*TREE, "Spherical"],
    ".sdf": ["Revolute", "Prismatic", "Fixed", "Revolute", "Universal", "Screw", "Spherical", "Free"],
}
ROUND_OFF = 1e-12


def robot(ending: str, seed: int, length: float = 1.0, mass: float = 1.0) -> tuple[np.random.Generator, mt.Model]:
    random = np.random.default_rng(seed)
    return random, random_robot(random, [str(kind) for kind in random.permutation(KINDS[ending])], length, mass)


@pytest.mark.parametrize("ending", KINDS)
@pytest.mark.parametrize(("length", "mass"), SCALES)
@pytest.mark.long
def test_mass_matrix_and_bias_are_the_same_when_it_is_read_again(tmp_path, ending, length, mass):
    random, model = robot(ending, 11, length, mass)
    ours, theirs = model.build(code="rolled"), trip(model, tmp_path / f"robot{ending}").build(code="rolled")
    assert max(differences(random, ours, theirs, length)) < ROUND_OFF


# --- peers -----------------------------------------------------------------------------------------------------------


def in_mujoco(mujoco, path: Path, ours: mt.System, q: np.ndarray, v: np.ndarray):
    """M and the bias forces by MuJoCo, in our velocities."""
    m = mujoco.MjModel.from_xml_path(str(path))
    m.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    d = mujoco.MjData(m)
    G, drift = np.zeros((m.nv, ours.nv)), np.zeros(m.nv)
    at = {str(r).replace(".", "_"): i for i, r in enumerate(ours.mechanism.coordinates)}
    v_at = {str(r).replace(".", "_").rstrip("'"): i for i, r in enumerate(ours.mechanism.velocities)}
    bodies = {body.joint.name: body for body in ours.mechanism.bodies}
    for i in range(m.njnt):
        name, a, dof = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_JOINT, i), m.jnt_qposadr[i], m.jnt_dofadr[i]
        if m.jnt_type[i] in (0, 1):  # free, ball
            body = bodies[name]
            values = q[body.q]
            count = len(values) - 1
            d.qpos[a : a + count + 1] = [*values[:-4], values[-1], *values[-4:-1]]
            block = np.eye(count)
            if count == 6:  # velocities in axes of the world there
                R = block[:3, :3] = Rotation.from_quat(values[3:]).as_matrix()
                drift[dof : dof + 3] = R @ np.cross(v[body.v][3:], v[body.v][:3])
            G[dof : dof + count, body.v] = block
        else:
            factor = 1.0
            if name not in at:  # the slide of a screw
                name = name.removesuffix("_slide")
                factor = bodies[name].joint.type.advance
            d.qpos[a] = factor * q[at[name]]
            G[dof, v_at[name]] = factor
    d.qvel[:] = G @ v
    mujoco.mj_forward(m, d)
    M = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, d, M)
    return G.T @ M @ G, G.T @ (d.qfrc_bias - d.qfrc_passive + M @ drift)


@pytest.mark.parametrize(("length", "mass"), SCALES)
@pytest.mark.repeats(1)
def test_mujoco_compiles_what_is_written(tmp_path, length, mass):
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    random, model = robot(".xml", 5, length, mass)
    ours = model.build(code="rolled")
    trip(model, tmp_path / "robot.xml")
    q, v = random_state(random, ours, length)
    M, bias = in_mujoco(mujoco, tmp_path / "robot.xml", ours, q, v)
    assert relative(ours.mass_matrix(q), M) < ROUND_OFF
    assert relative(ours.bias(q, v), bias) < ROUND_OFF


@pytest.mark.parametrize(("length", "mass"), SCALES)
@pytest.mark.repeats(1)
def test_pinocchio_reads_what_is_written(tmp_path, length, mass):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    random = np.random.default_rng(7)
    kinds = [kind for kind in TREE if kind != "Planar"]  # whose velocities are in other axes there
    model = random_robot(random, [str(kind) for kind in random.permutation(kinds)], length, mass)
    ours = model.build(code="rolled")
    trip(model, tmp_path / "robot.urdf")
    peer = pin.buildModelFromUrdf(str(tmp_path / "robot.urdf"))
    data, rest = peer.createData(), np.zeros(peer.nv)
    q, v = random_state(random, ours, length)
    G, step, q_peer = np.zeros((peer.nv, ours.nv)), np.zeros(peer.nv), pin.neutral(peer)
    at = {str(r).replace(".", "_"): i for i, r in enumerate(ours.mechanism.coordinates)}
    v_at = {str(r).replace(".", "_").rstrip("'"): i for i, r in enumerate(ours.mechanism.velocities)}
    bodies = {body.joint.name: body for body in ours.mechanism.bodies}
    for number, name in enumerate(peer.names[1:], 1):
        place, size = peer.idx_vs[number], peer.nvs[number]
        if size == 6:
            G[place : place + 6, bodies[name].v] = np.eye(6)
            continue
        leader = name if name in at else name.removesuffix("_slide")
        G[place, v_at[leader]] = 1.0 if name in at else bodies[leader].joint.type.advance
        step[place] = G[place, v_at[leader]] * q[at[leader]]
    q_peer = pin.integrate(peer, q_peer, step)
    for number, name in enumerate(peer.names[1:], 1):
        if peer.nvs[number] == 6:
            q_peer[peer.idx_qs[number] : peer.idx_qs[number] + 7] = q[bodies[name].q]
    M = np.array([pin.rnea(peer, data, q_peer, rest, column) for column in np.eye(peer.nv)]).T
    gravity = pin.rnea(peer, data, q_peer, rest, rest)
    assert relative(ours.mass_matrix(q), G.T @ (M - gravity[:, None]) @ G) < ROUND_OFF
    assert relative(ours.bias(q, np.zeros(ours.nv)), G.T @ gravity) < ROUND_OFF
    assert relative(ours.bias(q, v), G.T @ pin.rnea(peer, data, q_peer, G @ v, rest)) < ROUND_OFF


def flat(text: str) -> str:
    """The model in a text of SDF with all poses in its own frame, by 4x4 matrices."""
    model = ElementTree.fromstring(text).find("world/model")
    links = {link.get("name"): link for link in model.findall("link")}

    def placed(name: str) -> np.ndarray:
        element = links[name].find("pose")
        T = dense_sdf.pose(None if element is None else element.text)
        return T if element is None or not element.get("relative_to") else placed(element.get("relative_to")) @ T

    places = {name: placed(name) for name in links}
    for name, T in places.items():
        yaw, pitch, roll = Rotation.from_matrix(T[:3, :3]).as_euler("ZYX")
        for element in links[name].findall("pose"):
            links[name].remove(element)
        said = ElementTree.SubElement(links[name], "pose")
        said.text = " ".join(repr(float(x)) for x in (*T[:3, 3], roll, pitch, yaw))
    for joint in model.findall("joint"):
        joint.set("type", joint.get("type").replace("continuous", "revolute"))
    sdf = ElementTree.Element("sdf")
    sdf.append(model)
    return ElementTree.tostring(sdf, encoding="unicode")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.repeats(1)
def test_a_dense_build_of_sdf_agrees(tmp_path, seed):
    random = np.random.default_rng(seed)
    m = mt.Model("tree")
    bodies = [m.body("b0", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1.1, 1.2))]
    m.joint("root", mt.Free(), m.ground, bodies[0])
    for i in range(1, 6):
        bodies.append(
            m.body(f"b{i}", mass=1.0 + i, com=tuple(random.standard_normal(3)), inertia=(1, 1.1, 1.2, 0.1, 0, 0))
        )
        kind = (mt.Revolute, mt.Prismatic)[i % 2].random(random)
        ends = [general_frame(random, end, 1.0) for end in (bodies[random.integers(i)], bodies[i])]
        m.joint(f"j{i}", kind, *(ends if random.uniform() < 0.6 else ends[::-1]))
    m.save(tmp_path / "x.sdf")
    ours = m.build(code="rolled")
    q, v = random_state(random, ours)
    dense = dense_sdf.DenseSdf(flat((tmp_path / "x.sdf").read_text()), ours, "b0")
    assert relative(ours.mass_matrix(q), dense.mass_matrix(q)) < ROUND_OFF
    vdot = np.linalg.solve(ours.mass_matrix(q), -ours.bias(q, v))
    T, J, V, dJv = dense.swept(q, v)
    force = np.zeros(ours.nv)
    for name, link in dense.links.items():
        inertia = dense.spatial(T[name], link)
        momentum = inertia @ V[name]
        weight = np.array([0, 0, -9.81, 0, 0, 0])
        force -= J[name].T @ (inertia @ (dJv[name] - weight) - dense_sdf.cross(V[name]).T @ momentum)
    assert np.abs(np.linalg.solve(dense.mass_matrix(q), force) - vdot).max() < 1e-10 * np.abs(vdot).max()


# --- everything that a format can say, and loops ---------------------------------------------------------------------


def test_options_of_joints_and_couplings_stay(tmp_path):
    m = mt.Model("options", gravity=(0.1, 0, -9.81))
    bodies = [m.body(f"b{i}", mass=1.0 + i, com=(0.1, 0.2, 0), inertia=(0.1, 0.1, 0.1)) for i in range(4)]
    m.joint("A", mt.Revolute((1, 2, 3), spring=5.0, rest=0.2, damping=0.3, limits=(-0.4, 1.5)), m.ground, bodies[0])
    m.joint("B", mt.Prismatic("x", damping=0.5, limits=(-1, math.inf)), m.ground.at((0, 1, 0)), bodies[1])
    m.joint("C", mt.Revolute("y"), bodies[0].at((0, 0, 1)), bodies[2])
    m.joint("D", mt.Revolute("z"), bodies[2].at((0, 0, 1)), bodies[3])
    m.couple("C", "A", ratio=-2.5, offset=0.1)
    m.torque("B", "-0.75*tanh(B'/0.01)")
    random, ours = np.random.default_rng(1), m.build()
    for ending in (".xml", ".sdf"):
        again = trip(m, tmp_path / f"x{ending}")
        theirs = again.build()
        assert max(differences(random, ours, theirs)) < ROUND_OFF
        read = {joint.name: joint.type for joint in again.joints}
        assert read["A"].limits == (-0.4, 1.5)
        assert read["B"].limits[0] == -1
        (mine,), (other,) = ours.mechanism.constraints, theirs.mechanism.constraints
        at = {Reference("A"): 0.3, Reference("C"): -0.8}
        assert mine.expression.evaluate(at) == pytest.approx(other.expression.evaluate(at), abs=1e-15)


def closed(model: mt.Model, again: mt.Model) -> tuple[mt.System, mt.System]:
    ours, theirs = model.build(), again.build()
    assert theirs.mobility == ours.mobility
    return ours, theirs


def four_bar() -> mt.Model:
    m = mt.Model("four-bar")
    sizes = {"crank": 1.0, "coupler": 2.0, "rocker": 2.0}
    crank, coupler, rocker = (m.body(name, mt.rod(1.0, length, 0.05)) for name, length in sizes.items())
    m.joint("A", mt.Revolute("y"), m.ground, crank)
    m.joint("B", mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint("D", mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint("C", mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    m.start_at({"A": 0.7}, guess={"D": -1.0})
    return m


@pytest.mark.parametrize("ending", [".urdf", ".xml"])
def test_a_hinge_that_closes_a_loop_is_a_hinge(tmp_path, ending):
    """A body on a ball and a hinge beside it stands still; on two balls it would turn about the line between them."""
    m = mt.Model("held")
    held = m.body("held", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1, 1))
    m.joint("ball", mt.Spherical(), m.ground, held)
    m.joint("hinge", mt.Revolute((0, 1, 1)), m.ground.at((1, 0, 0)), held.at((1, 0, 0)))
    m.cut("hinge")
    how = {"closures": tmp_path / "x.yaml"} if ending == ".urdf" else {}
    ours, _ = closed(m, trip(m, tmp_path / f"x{ending}", **how))
    assert ours.mobility == 0


@pytest.mark.long
def test_loops_accelerate_as_before(tmp_path):
    """Of the crank, by the equations of each file at one configuration; SDF counts angles from the start."""
    m = four_bar()
    for ending, how in ((".sdf", {}), (".xml", {}), (".urdf", {"closures": tmp_path / "x.yaml"})):
        ours, theirs = closed(m, trip(m, tmp_path / f"x{ending}", **how))
        start = ours.start()
        shift = start.q[ours.mechanism.by_joint["A"].q][0] if ending == ".sdf" else 0.0
        assert shift == (0.7 if ending == ".sdf" else 0.0)
        given, speed = {"A": 0.7 - shift}, {"A": 0.4}
        states = ours.assemble({"A": 0.7}, speed, guess={"D": -1.0}), theirs.assemble(given, speed, guess={"D": -1.0})
        found = []
        for system, state in zip((ours, theirs), states, strict=True):
            vdot = system.forward_dynamics(state.q, state.v)
            found.append([vdot[system.mechanism.by_joint[name].v][0] for name in "ABD"])
        assert np.abs(np.subtract(*found)).max() < 1e-9


def test_the_start_is_a_keyframe(tmp_path):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    random = np.random.default_rng(3)
    m = random_robot(random, ["Free", "Revolute", "Spherical", "Cylindrical"])
    system = m.build()
    q, v = random_state(random, system)
    names = {body.joint.name: body for body in system.mechanism.bodies}
    m.start_at(
        {name: tuple(q[body.q]) if body.q.stop - body.q.start > 1 else q[body.q][0] for name, body in names.items()},
        {name: tuple(v[body.v]) if body.v.stop - body.v.start > 1 else v[body.v][0] for name, body in names.items()},
    )
    theirs = trip(m, tmp_path / "x.xml").build()
    place, G = layout(m.build(), theirs)
    start = theirs.start()
    assert np.abs(start.q - q[place]).max() < 1e-14
    assert np.abs(start.v - G @ v).max() < 1e-14


@pytest.mark.parametrize("kind", ["Revolute", "Spherical", "Fixed"])
def test_the_loops_of_mujoco_are_closed_where_ours_are(tmp_path, kind):
    """Residuals of its equalities, which are explicit about both frames: a hinge of two balls, a ball, a weld."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    m = four_bar()
    m.joints.pop()
    _, coupler, rocker = m.bodies
    if kind == "Fixed":
        end = m.body("end", mass=0.1, inertia=(0.1, 0.1, 0.1))
        m.joint("C", mt.Revolute("y"), rocker.at((2, 0, 0)), end)
        m.joint("weld", mt.Fixed(), coupler.at((2, 0, 0), mt.turn("y", 0.4)), end.at((0, 0, 0), mt.turn("y", -0.3)))
        m.cut("weld")
    else:
        m.joint(
            "C", mt.Revolute("y") if kind == "Revolute" else mt.Spherical(), coupler.at((2, 0, 0)), rocker.at((2, 0, 0))
        )
    trip(m, tmp_path / "x.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    assert mj.neq == (2 if kind == "Revolute" else 1)
    assert max(openings(mujoco, mj)) < 1e-9
    data = mujoco.MjData(mj)
    data.qpos[0] = 0.3  # and open where they are open
    mujoco.mj_forward(mj, data)
    assert np.abs(data.efc_pos).max() > 0.1


def openings(mujoco, mj):
    """By how much the equalities are open at qpos0, which viewers begin with, and in each keyframe (m, rad)."""
    data = mujoco.MjData(mj)
    for key in range(-1, mj.nkey):
        if key >= 0:
            mujoco.mj_resetDataKeyframe(mj, data, key)
        mujoco.mj_forward(mj, data)
        yield np.abs(data.efc_pos[: data.ne]).max(initial=0.0)


SPATIAL = ["Revolute", "Universal", "Prismatic", "Screw", "Cylindrical", "Revolute", "Planar", "PinSlot"]


def guessed(model: mt.Model, q: np.ndarray) -> mt.Model:
    """The model with a start near these coordinates."""
    bodies = model.build().mechanism.bodies
    at = {body.joint.name: tuple(q[body.q]) for body in bodies}
    model.start_at(guess={name: x[0] if len(x) == 1 else x for name, x in at.items() if x})
    return model


def geared() -> mt.Model:
    """A coupling of two joints and one of three, which do not hold where all coordinates are zero; a massless body."""
    m = mt.Model("geared")
    for i, x in enumerate((0.0, 1.0, 2.0)):
        carrier = m.body(f"carrier{i}", massless=True)
        wheel = m.body(f"wheel{i}", mt.cylinder(mass=1.0, radius=0.3, length=0.1))
        m.joint(f"tilt{i}", mt.Revolute("x"), m.ground.at((x, 0, 0)), carrier)
        m.joint(f"spin{i}", mt.Revolute("z", limits=(-3, 4), spring=1.0, rest=0.2), carrier.at((0, 0.1, 0.2)), wheel)
    m.couple("tilt0", "spin1", ratio=0.5, offset=0.3)
    m.couple("spin2", {"spin0": 2.0, "tilt2": -1.0}, offset=0.7)
    m.start_at({"tilt1": 0.6}, guess={"spin1": 0.4})
    return m


def loop_of(seed: int) -> mt.Model:
    random = np.random.default_rng(seed)
    kinds = [str(kind) for kind in random.permutation([*SPATIAL, *["Spherical", "Free"] * (seed % 2)])]
    return guessed(*random_loops(random, kinds, ["Spherical", "Fixed", "Revolute"][: 1 + seed % 3]))


def without_start(model: mt.Model) -> mt.Model:
    model.start = None
    return model


OPEN_AT_ZERO = {
    "four-bar": lambda: without_start(four_bar()),
    "legs": lambda: guessed(hexapod(), np.array([])),
    "delta": delta_robot,
    "bennett": bennett,
    "geared": geared,
    **{f"random {seed}": (lambda seed=seed: loop_of(seed)) for seed in range(12)},
}


@pytest.mark.parametrize("name", OPEN_AT_ZERO)
def test_loops_are_closed_when_mujoco_opens_the_file(tmp_path, name):
    """At qpos0 and in the keyframe; and hinges and slides keep their coordinates: by the mass matrix at any of them."""
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    m = OPEN_AT_ZERO[name]()
    again = trip(m, tmp_path / "x.xml", lossy=True)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "x.xml"))
    assert mj.neq
    assert max(openings(mujoco, mj)) < 1e-9
    ours, theirs = m.build(), again.build()
    assert theirs.mobility == ours.mobility
    if {"Spherical", "Free"} & {body.joint.type.kind for body in ours.mechanism.bodies}:
        return  # balls count from the start, free bodies from the world
    assert differences(np.random.default_rng(1), ours, theirs)[0] < ROUND_OFF
    here, there, place = ours.start().q, theirs.start().q, layout(ours, theirs)[0]
    screws = np.array(["_slide" in str(reference) for reference in theirs.mechanism.coordinates])
    assert np.abs(there - here[place])[~screws].max() < 1e-9


@pytest.mark.long
def test_coordinates_of_sdf_count_from_the_start_where_loops_are_open(tmp_path):
    """The same mass matrix at coordinates that differ by those of the start: of sliders, screws, Cardan joints."""
    m = mt.Model("loop")
    a, b, c, d = (m.body(name, mass=1.0, com=(0.1, 0.2, 0), inertia=(1, 1.1, 1.2, 0.1, 0, 0)) for name in "abcd")
    m.joint("A", mt.Universal((1, 1, 0), "z"), m.ground, a)
    m.joint("B", mt.Prismatic("x", limits=(-3, 4)), a.at((1, 0, 0), mt.turn("y", 0.3)), b.at((0, 0.1, 0)))
    m.joint("C", mt.Screw("x", pitch=0.3), c.at((0, 0, 0.2)), b.at((0.3, 0, 0)))
    m.joint("D", mt.Universal("y", "x"), m.ground.at((2, 1, 0)), d)
    m.joint("ball", mt.Spherical(), c.at((1, 0.3, 0)), d.at((0.2, 0.5, 0)))
    m.couple("A.angle2", "B", ratio=0.5, offset=0.2)
    m.start_at(guess={"A.angle1": 0.4, "D.angle1": 0.3, "D.angle2": -0.4})
    ours, again = m.build(code="rolled"), trip(m, tmp_path / "x.sdf")
    theirs = again.build(code="rolled")
    zero = ours.start().q
    assert min(abs(zero)) > 1e-3
    place, G = layout(ours, theirs)
    random = np.random.default_rng(4)
    for shift in (np.zeros(ours.nq), random.standard_normal(ours.nq)):
        M = G.T @ theirs.mass_matrix(shift[place]) @ G
        assert relative(ours.mass_matrix(zero + shift), M) < ROUND_OFF
    B = zero[[str(r) for r in ours.mechanism.coordinates].index("B")]
    assert next(joint.type for joint in again.joints if joint.name == "B").limits == pytest.approx((-3 - B, 4 - B))
    (rule,) = theirs.mechanism.constraints
    assert rule.expression.evaluate(dict.fromkeys(theirs.mechanism.coordinates, 0.0)) == pytest.approx(0, abs=1e-9)
    assert theirs.mobility == ours.mobility
