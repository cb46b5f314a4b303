"""Texts of MJCF files for tests: one with every feature that has a counterpart, one with what has none."""

EVERY = """<mujoco model="every">
  <compiler angle="degree" autolimits="true"/>
  <option gravity="0 0 -9.8"/>
  <default>
    <joint damping="0.1"/>
    <default class="strong"><joint damping="0.5" armature="0.02"/></default>
  </default>
  <asset><material name="red" rgba="1 0 0 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="2 1 0.1"/>
    <body name="base" pos="0 0 1">
      <geom type="box" size="0.1 0.2 0.3" material="red"/>
      <site name="eye" pos="0 0 0.3" zaxis="1 0 0"/>
      <body name="arm" pos="0 0 0.3" euler="0 0 90">
        <joint name="yaw" type="hinge" axis="0 0 1" ref="30" range="-90 120" class="strong"/>
        <joint name="pitch" type="hinge" axis="0 1 0" stiffness="2" springref="10"/>
        <joint name="reach" type="slide" axis="1 0 0" pos="0 0 0.1" ref="0.2" frictionloss="0.3"/>
        <geom type="capsule" size="0.05 0.2" pos="0.2 0 0" rgba="0 0 1 1"/>
        <body name="hand" pos="0.4 0 0">
          <joint name="wrist" type="ball" damping="0.2"/>
          <geom type="cylinder" size="0.03 0.1" pos="0 0 0.1"/>
          <geom type="sphere" size="0.02" group="3"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="1 2 3">
      <freejoint name="flight"/>
      <geom type="sphere" size="0.1"/>
    </body>
    <body pos="0 1 0">
      <joint axis="0 0 1"/>
      <geom type="box" size="0.1 0.1 0.1" pos="0.2 0 0"/>
      <body name="tip" pos="0.4 0 0">
        <joint name="b" axis="0 0 1"/>
        <geom type="box" size="0.1 0.1 0.1" pos="0.2 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
WITHOUT = """<mujoco model="rest">
  <compiler angle="radian"/>
  <option density="1.2"/>
  <worldbody>
    <light name="sun" pos="0 0 3"/>
    <camera name="view"/>
    <geom type="plane" size="0 0 1"/>
    <body name="ground" mocap="true"><geom size="0.1"/></body>
    <body name="a">
      <joint name="turn" type="ball" stiffness="1" armature="0.1" frictionloss="0.2" range="0 1" limited="true"/>
      <geom type="ellipsoid" size="0.1 0.2 0.3"/>
      <site name="end" pos="0 0 1"/>
    </body>
    <body name="b" pos="1 0 0">
      <joint name="hinge"/>
      <joint name="slider" type="slide"/>
      <geom size="0.1"/>
      <site name="other"/>
    </body>
  </worldbody>
  <tendon>
    <spatial name="string"><site site="end"/><site site="other"/></spatial>
    <fixed name="cable" limited="true" range="0 1" frictionloss="1" armature="0.1">
      <joint joint="hinge" coef="1"/></fixed>
  </tendon>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/></sensor>
  <equality>
    <connect name="idle" body1="a" body2="b" anchor="0 0 0" active="false"/>
    <tendon name="stretch" tendon1="string"/>
  </equality>
  <keyframe>
    <key name="home" qpos="1 0 0 0 0.5 0.25" qvel="0 0 0 1 0"/>
    <key name="away" qpos="1 0 0 0 0.5 0.25"/>
  </keyframe>
</mujoco>
"""
LOOPS = """<mujoco model="loops">
  <compiler angle="radian"/>
  <worldbody>
    <site name="pivot" pos="1 0 0"/>
    <body name="crank">
      <joint name="crank" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02"/>
      <body name="coupler" pos="0 0 0.3">
        <joint name="coupler" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 1 0 0.2" size="0.02"/>
        <body name="rocker" pos="1 0 0.2">
          <joint name="rocker" axis="0 1 0" ref="0.1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02"/>
          <site name="foot" pos="0 0 -0.5"/>
        </body>
      </body>
    </body>
    <body name="free" pos="0 2 0"><freejoint/><geom size="0.1"/></body>
    <body name="p"><joint name="p" ref="0.2"/><geom size="0.1" pos="1 0 0"/></body>
    <body name="q"><joint name="q" ref="0.3"/><geom size="0.1" pos="1 0 0"/></body>
    <body name="r"><joint name="r"/><geom size="0.1" pos="1 0 0"/></body>
    <body name="s"><joint name="s"/><geom size="0.1" pos="1 0 0"/></body>
  </worldbody>
  <tendon>
    <fixed name="sum"><joint joint="r" coef="1"/><joint joint="s" coef="2"/></fixed>
  </tendon>
  <equality>
    <connect name="pin" site1="foot" site2="pivot"/>
    <weld name="held" body1="free" body2="p" anchor="0.1 0 0"/>
    <joint name="geared" joint1="p" joint2="q" polycoef="0.1 -2 0 0 0"/>
    <joint name="cam" joint1="r" joint2="q" polycoef="0 0.5 0.25 0 0"/>
    <tendon tendon1="sum" polycoef="0.4 0 0 0 0"/>
  </equality>
</mujoco>
"""
