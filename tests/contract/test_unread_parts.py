"""Nothing that changes the motion is passed over: what a robot file says more changes the model, or is noted.

Into a small robot of each format goes one element or attribute at a time, with a value that has an effect: all those of
the formats that bear on dynamics (URDF: urdfdom and what Bullet and Drake add; SDF 1.4 to 1.12; MJCF of MuJoCo). The
model must differ from the robot without it, or its notes must. For MJCF, every number of a compiled model that belongs
to bodies, joints, tendons or equalities must also be known here, so that a new MuJoCo cannot add one unseen.
"""

from __future__ import annotations

import warnings

import pytest

import momentree as mt
from momentree.files import dumps

INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
URDF = f"""<robot name="r"><link name="base"/>
  <link name="a"><inertial><mass value="1"/>{INERTIA}<!--inertial--></inertial><!--link--></link>
  <link name="b"><inertial><mass value="1"/>{INERTIA}</inertial></link>
  <joint name="A" type="TYPE"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/><!--joint--></joint>
  <joint name="B" type="continuous"><parent link="base"/><child link="b"/><axis xyz="0 0 1"/></joint>
  <!--robot--></robot>"""
DYNAMICS = ("damping", "friction", "spring_stiffness", "spring_reference", "armature")
IN_URDF = {
    "joint": [
        *(f'<dynamics {name}="0.5"/>' for name in DYNAMICS),
        *('<limit lower="-1" upper="1"/>', '<origin xyz="1 0 0"/>', '<origin rpy="1 0 0"/>'),
        *('<origin quat_xyzw="0 0 0.6 0.8"/>', '<origin quaternion="0 0 0.6 0.8"/>'),
        *('<mimic joint="B"/>', '<limit lower="-1" upper="1" stiffness="100"/>', "<physics/>", "<gear_ratio/>"),
    ],
    "link": [
        *('<contact><inertia_scaling value="3"/></contact>', "<gravity>0</gravity>", "<velocity_decay/>"),
        '<collision><geometry><sphere radius="1"/></geometry></collision>',
    ],
    "inertial": ['<origin xyz="1 0 0"/>', "<fluid_added_mass><xx>1</xx></fluid_added_mass>"],
    "robot": [
        *("<transmission/>", "<gazebo/>", "<mujoco/>", "<loop_joint/>", "<drake:bushing xmlns:drake='d'/>"),
        "<ball_constraint/>",
    ],
}
SDF = """<sdf version="VERSION"><world name="w"><!--world--><model name="r"><!--model-->
  <link name="a"><inertial><mass>1</mass><!--inertial--></inertial><!--link--></link>
  <link name="b"><inertial><mass>1</mass></inertial></link>
  <joint name="A" type="TYPE"><parent>world</parent><child>a</child>
    <axis><xyz>0 0 1</xyz><!--axis--></axis><axis2><xyz>1 0 0</xyz></axis2><!--joint--></joint>
  <joint name="B" type="revolute"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
</model></world></sdf>"""
IN_SDF = {
    "world": [
        *("<gravity>0 0 -1</gravity>", "<include><uri>model://x</uri></include>", "<plugin name='p'/>", "<actor/>"),
        *("<state><time>1</time></state>", "<population/>", "<road/>", "<frame name='f'/><joint_state/>"),
    ],
    "model": [
        *("<static>1</static>", "<pose>1 0 0 0 0 0</pose>", "<enable_wind>true</enable_wind>", "<plugin name='p'/>"),
        *("<gripper/>", "<include><uri>model://x</uri></include>"),
    ],
    "link": [
        *("<gravity>false</gravity>", "<enable_wind>1</enable_wind>", "<kinematic>true</kinematic>", "<battery/>"),
        *("<velocity_decay><linear>0.1</linear></velocity_decay>", "<projector/>", "<pose>1 0 0 0 0 0</pose>"),
        *("<collision name='c'><geometry/></collision>", "<particle_emitter/>"),
    ],
    "inertial": [
        *("<pose>1 0 0 0 0 0</pose>", "<fluid_added_mass><xx>1</xx></fluid_added_mass>"),
        "<inertia><ixx>2</ixx></inertia>",
    ],
    "axis": [
        *(f"<dynamics><{name}>0.5</{name}></dynamics>" for name in ("damping", "friction", "spring_stiffness")),
        *("<dynamics><spring_stiffness>1</spring_stiffness><spring_reference>1</spring_reference></dynamics>",),
        *("<limit><lower>-1</lower></limit>", "<limit><upper>1</upper></limit>", "<mimic joint='B'/>"),
        *("<limit><upper>1</upper><stiffness>5</stiffness></limit>", "<initial_position>1</initial_position>"),
        *("<limit><upper>1</upper><dissipation>5</dissipation></limit>", "<armature>1</armature>"),
    ],
    "joint": ["<pose>1 0 0 0 0 0</pose>", "<physics><ode><cfm_damping>1</cfm_damping></ode></physics>"],
}
MJCF = """<mujoco><option OPTION/><default><geom size=".1" contype="0" conaffinity="0"/></default>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/><!--worldbody-->
  <body name="a" BODY><joint name="A" TYPE JOINT/><geom name="g" GEOM/><site name="s"/>
    <body name="b" pos="1 0 0"><joint name="B"/><geom/><site name="u"/></body></body>
  <body name="still" mocap="MOCAP"/></worldbody>
  <tendon><fixed name="T" TENDON><joint joint="A" coef="1"/><joint joint="B" coef="2"/></fixed><!--tendon--></tendon>
  <!--mujoco--></mujoco>"""
IN_MJCF = {
    "OPTION": ["gravity='0 0 -1'", "density='1'", "viscosity='1'"],
    "BODY": ["gravcomp='1'", "pos='1 0 0'", "sleep='init'"],
    "GEOM": ["mass='3'", "density='3'", "contype='1'", "size='.2'"],
    "JOINT": [
        *("stiffness='1'", "stiffness='1 2 3'", "stiffness='1' springref='1'", "damping='1'", "damping='0 2 3'"),
        *("armature='1'", "frictionloss='1'", "range='-1 1' limited='true'", "pos='1 0 0'", "springdamper='1 1'"),
        "range='-1 1' limited='true' margin='.1'",
        "range='-1 1' limited='true' solreflimit='-100 -1'",
    ],
    "BALL": [
        *("stiffness='1'", "damping='1'", "armature='1'", "frictionloss='1'", "range='0 1' limited='true'"),
        *("damping='1 2 3'", "pos='1 0 0'"),
    ],
    "TENDON": [
        *("stiffness='1'", "damping='1'", "range='-1 1' limited='true'", "frictionloss='1'", "armature='1'"),
        *("stiffness='1 2 3'", "stiffness='1' springlength='.1'", "damping='1 2 3'"),
    ],
    "tendon": ["<spatial><site site='s'/><site site='u'/></spatial>"],
    "mujoco": [
        *("<actuator><motor joint='A'/></actuator>", "<actuator><position joint='A' kp='1'/></actuator>"),
        *("<equality><connect body1='b' anchor='0 0 0'/></equality>", "<equality><weld body1='b'/></equality>"),
        *("<equality><joint joint1='A'/></equality>", "<equality><tendon tendon1='T'/></equality>"),
        "<equality><joint joint1='A' active='false'/></equality>",
        "<equality><joint joint1='A' joint2='B' polycoef='0 1 2 0 0'/></equality>",
        *("<contact><pair geom1='g' geom2='floor'/></contact>", "<keyframe><key qpos='1 0'/></keyframe>"),
        *("<keyframe><key qvel='1 0'/></keyframe>", "<keyframe><key mpos='1 0 0'/></keyframe>"),
        "<option><flag gravity='disable'/></option>",
    ],
    "worldbody": ["<flexcomp name='f' type='grid' count='3 3 1' spacing='.1 .1 .1' radius='.01' dim='2' mass='1'/>"],
}


def loaded(path, text):
    path.write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(path)
    return dumps(model), {(note.kind, note.names, note.count) for note in model.notes}


def at(where, parts):
    return [
        pytest.param(place, part, id=f"{where}-{place}-{part[:40]}")
        for place, listed in parts.items()
        for part in listed
    ]


def check_change(path, plain, changed):
    assert changed != plain, "the part is not in the text"
    model, notes = loaded(path, plain)
    other, more = loaded(path, changed)
    assert other != model or more - notes, "passed over without a note"


OF_JOINTS = [param for param in at("urdf", {"joint": IN_URDF["joint"]}) if "mimic" not in param.id]


@pytest.mark.parametrize(
    ("type", "place", "part"),
    [pytest.param("revolute", *param.values, id=param.id) for param in at("urdf", IN_URDF)]
    + [pytest.param(t, *param.values, id=f"{t}-{param.id}") for t in ("planar", "floating") for param in OF_JOINTS],
)
def test_urdf(tmp_path, type, place, part):
    plain = URDF.replace("TYPE", type)
    check_change(tmp_path / "r.urdf", plain, plain.replace(f"<!--{place}-->", part, 1))


@pytest.mark.parametrize("type", ["revolute", "universal"])
@pytest.mark.parametrize(("place", "part"), at("sdf", IN_SDF))
def test_sdf(tmp_path, place, part, type):
    plain = SDF.replace("TYPE", type).replace("VERSION", "1.9")
    check_change(tmp_path / "r.sdf", plain, plain.replace(f"<!--{place}-->", part, 1))


@pytest.mark.parametrize("version", ["1.4", "1.5"])
def test_gravity_of_old_sdf_is_that_of_its_physics(tmp_path, version):
    physics = "<physics type='ode'><gravity>0 0 -1.5</gravity></physics>"
    text = SDF.replace("TYPE", "revolute").replace("VERSION", version)
    (tmp_path / "r.sdf").write_text(text.replace("<!--world-->", physics))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert mt.load(tmp_path / "r.sdf").gravity == (0.0, 0.0, -1.5)
        (tmp_path / "r.sdf").write_text(text)
        assert mt.load(tmp_path / "r.sdf").gravity == (0.0, 0.0, -9.8)  # of SDF worlds that say nothing


@pytest.mark.parametrize(("place", "part"), at("mjcf", IN_MJCF))
def test_mjcf(tmp_path, place, part):
    pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    plain = MJCF.replace("TYPE", "type='ball'" if place == "BALL" else "")
    if place == "BALL":  # a fixed tendon names hinges and slides only
        plain, place = plain.replace('<joint joint="A" coef="1"/>', ""), "JOINT"
    plain = plain.replace(' mocap="MOCAP"', ' mocap="true"' if "mpos" in part else "")
    mark = f"<!--{place}-->" if place.islower() else place
    changed = plain.replace(mark, part, 1)
    for word in ("OPTION", "BODY", "JOINT", "GEOM", "TENDON"):
        plain, changed = plain.replace(word, ""), changed.replace(word, "")
    check_change(tmp_path / "r.xml", plain, changed)


READ = """body_parentid body_weldid body_mocapid body_jntnum body_jntadr body_geomnum body_geomadr body_pos body_quat
    body_ipos body_iquat body_mass body_inertia body_gravcomp jnt_type jnt_qposadr jnt_dofadr jnt_actuatorid jnt_limited
    jnt_solref jnt_pos jnt_axis jnt_stiffness jnt_stiffnesspoly jnt_range jnt_margin jnt_plasticadr dof_frictionloss
    dof_armature dof_damping dof_dampingpoly dof_invweight0 tendon_adr tendon_num tendon_limited tendon_lengthspring
    tendon_stiffness tendon_stiffnesspoly tendon_damping tendon_dampingpoly tendon_armature tendon_frictionloss
    tendon_plasticadr tendon_length0 eq_type eq_obj1id eq_obj2id eq_objtype eq_active0 eq_data tree_sleep_policy"""
OF_WHAT_IS_NOTED = """jnt_springyield tendon_springyield tendon_range tendon_margin tendon_solref_lim tendon_solimp_lim
    tendon_solref_fri tendon_solimp_fri body_plugin body_margin body_contype body_conaffinity tendon_actuatorid
    tendon_actfrclimited tendon_actfrcrange jnt_actfrclimited jnt_actfrcrange jnt_actgravcomp"""
SOFTNESS = "jnt_solimp dof_solref dof_solimp eq_solref eq_solimp"  # docs/robots-mjcf.md, "What differs from MuJoCo"
DERIVED = """body_rootid body_dofnum body_dofadr body_treeid body_simple body_sameframe body_subtreemass body_invweight0
    body_bvhadr body_bvhnum body_user jnt_bodyid jnt_group jnt_user dof_bodyid dof_jntid dof_parentid dof_treeid
    dof_Madr dof_simplenum dof_M0 dof_length tendon_matid tendon_group tendon_treenum tendon_treeid tendon_width
    tendon_rgba tendon_user tendon_invweight0 tendon_type tree_bodyadr tree_bodynum tree_dofadr tree_dofnum"""


def test_every_number_of_a_compiled_mjcf_is_known():
    mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install 'momentree[mjcf]'")
    known = {*" ".join((READ, OF_WHAT_IS_NOTED, SOFTNESS, DERIVED)).split()}
    groups = ("body_", "jnt_", "dof_", "tendon_", "eq_", "tree_")
    assert {name for name in dir(mujoco.MjModel) if name.startswith(groups)} <= known
