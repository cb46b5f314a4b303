"""Xacro: refused unless trusted, expanded as the package does it, packages found, any failure one error."""

from __future__ import annotations

import sys
import warnings

import pytest

import momentree as mt
from command_line import command

XACRO = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="2"/>
  <xacro:property name="length" value="${0.1 * 5}"/>
  <xacro:macro name="arm" params="name parent">
    <link name="${name}"><inertial><origin xyz="${length / 2} 0 0"/><mass value="$(arg mass)"/>
      <inertia ixx="0.1" iyy="${pi / 30}" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/>
      <origin xyz="${length} 0 0"/><axis xyz="0 1 0"/></joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:arm name="upper" parent="base"/>
  <xacro:arm name="lower" parent="upper"/>
</robot>
"""


@pytest.fixture
def written(tmp_path):
    def write(text=XACRO, name="arm.urdf.xacro"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@pytest.fixture
def xacro():
    return pytest.importorskip("xacro", reason="xacro is not installed: pip install 'momentree[xacro]'")


def test_it_is_not_expanded_unless_it_is_trusted(written, tmp_path):
    """An expression that would write a file writes none."""
    told = tmp_path / "told"
    path = written(f'<robot name="r"><link name="${{[].__class__}}"/><a b="$(eval {told})"/></robot>')
    with pytest.raises(mt.MomentreeError, match=r"arm.urdf.xacro:1: .*whatever you can.*trust=True\.$"):
        mt.load(path)
    with pytest.raises(mt.MomentreeError, match="trust=True"):
        mt.load(path, trust="yes")  # type: ignore[arg-type]
    told = command("check", path.name, cwd=tmp_path)
    assert (told.returncode, "trust=True" in told.stderr) == (1, True)


def test_macros_properties_and_arguments_are_those_of_xacro(xacro, written):
    path = written()
    for arguments, mass in (({}, 2.0), ({"mass": 3}, 3.0)):
        model = mt.load(path, trust=True, arguments=arguments)
        assert [body.name for body in model.bodies] == ["base", "upper", "lower"]
        assert model.bodies[2].mass == mass
        assert model.bodies[2].com == (0.25, 0.0, 0.0)
        assert model.joints[2].first.position == (0.5, 0.0, 0.0)
    assert model.build().nv == 2


def test_the_command_line_takes_trust_and_arguments(xacro, written, tmp_path):
    words = ("check", written().name, "--load", "trust=true", "--load")
    assert "3 bodies" in command(*words, "arguments=mass:=4", cwd=tmp_path).stdout
    assert "write arguments=NAME:=VALUE" in command(*words, "arguments=mass=4", cwd=tmp_path).stderr
    assert "write trust=true or trust=false" in command("check", "x.xacro", "--load", "trust=1", cwd=tmp_path).stderr


def test_packages_are_found_in_the_search_path(xacro, written, tmp_path):
    written(name="elsewhere/arm_description/macros.xacro")
    include = '<xacro:include filename="$(find arm_description)/macros.xacro"/>'
    path = written(f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{include}</robot>', "in/r.xacro")
    before = {name for name in sys.modules if "ament" in name}
    with pytest.raises(mt.MomentreeError, match=r"no package 'arm_description'.*packages=\[FOLDER\]"):
        mt.load(path, trust=True)
    assert len(mt.load(path, trust=True, packages=[tmp_path / "elsewhere"]).bodies) == 3
    assert {name for name in sys.modules if "ament" in name} == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot", r"xacro:1: is not XML"),
        ('<!DOCTYPE r [<!ENTITY a "b">]><robot name="&a;"/>', "document type"),
        ('<robot><a b="${1/0}"/></robot>', r"xacro:1: cannot be expanded: .*division by zero"),
        ('<robot><a b="${nothing}"/></robot>', "cannot be expanded: .*nothing"),
        ('<robot><a b="$(arg nothing)"/></robot>', r"arguments=\{\"NAME\": VALUE\}"),
        ('<robot><a b="${().__class__}"/></robot>', "has no <link>|cannot be expanded"),
        ("<launch/>", r"<launch>: is what it expands to; <robot> or <sdf>"),
        ('<robot name="r">\n<link name="a">\n<inertial><mass value="x"/></inertial></link></robot>', "expanded.*mass"),
    ],
)
def test_whatever_fails_is_one_error(xacro, written, text, words):
    with pytest.raises(mt.MomentreeError, match=words):
        mt.load(written(text.replace("<robot", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"')), trust=True)


def test_an_sdf_is_expanded_too_and_what_xacro_says_is_noted(xacro, written):
    link = '<link name="a"><inertial><mass>${2*2}</mass></inertial></link>'
    says = '<xacro:property name="s" value="${sorted([2, 1])}"/>'
    space = 'xmlns:xacro="http://www.ros.org/wiki/xacro"'
    text = f'<sdf version="1.7" {space}>{says}<model name="m">{link}<frame name="${{s[0]}}"/></model></sdf>'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = mt.load(written(text, "m.sdf.xacro"), trust=True, floating=False)
    assert model.bodies[0].mass == 4
    assert any("sorted" in name for note in model.notes if note.kind == "xacro says" for name in note.names)


def test_other_files_take_no_trust(written):
    with pytest.raises(mt.MomentreeError, match="is no file that takes trust="):
        mt.load(written('<robot name="r"><link name="a"/></robot>', "r.urdf"), trust=True)
