"""XML of robot files: lines in every error, nothing expanded or fetched, no file too deep or too large to refuse."""

from __future__ import annotations

import pytest

import momentree as mt
from momentree.files.robot_xml import DEEPEST, parse_xml

ARM = b"""<?xml version="1.0"?>
<robot name="arm" xmlns:x="http://example.org">
  <link name="one"/>
  <x:link name="two">text <b/>more</x:link>
  <origin xyz="1 2,3" bad="1 two 3" lonely="4" grouped="1_0" arabic="&#x663;"/>
</robot>
"""


@pytest.fixture
def robot():
    return parse_xml(ARM, "arm.urdf", "robot")


def test_elements_have_tags_attributes_text_and_lines(robot):
    assert (robot.tag, robot.attributes["name"], robot.line) == ("robot", "arm", 2)
    one, two = robot.all("link")
    assert (one.line, two.line, two.text, two.children[0].tag) == (3, 4, "text more", "b")
    assert [element.tag for element in robot.inside()] == ["link", "link", "b", "origin"]
    assert robot.first("origin").vector("xyz") == (1.0, 2.0, 3.0)
    assert robot.first("nothing") is None


@pytest.mark.parametrize(
    ("read", "told"),
    [
        (lambda e: e.vector("bad"), "arm.urdf:5: <origin>: bad is '1 two 3'; 3 numbers are expected"),
        (lambda e: e.vector("lonely"), "lonely is '4'; 3 numbers are expected"),
        (lambda e: e.number("xyz"), "xyz is '1 2,3'; a number is expected"),
        (lambda e: e.number("grouped"), "grouped is '1_0'; a number is expected"),
        (lambda e: e.number("arabic"), "arabic is '\u0663'; a number is expected"),
        (lambda e: e.get("xzy"), "xzy is missing. Did you mean 'xyz'?"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(robot, read, told):
    with pytest.raises(mt.ModelError) as caught:
        read(robot.first("origin"))
    assert told in str(caught.value)


BOMB = b'<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>\n<robot>&b;</robot>'
FETCH = b'<!DOCTYPE r SYSTEM "http://example.org/x.dtd">\n<robot/>'


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (BOMB, "arm.urdf:1: has a document type"),
        (FETCH, "arm.urdf:1: has a document type"),
        (b"<robot>" * (DEEPEST + 1), f"more than {DEEPEST} elements inside each other"),
        (b"", "arm.urdf:1: is not XML"),
        (b"\n\n<robot>", "arm.urdf:3: is not XML"),
        (b"<robot>\n<link></robot>", "arm.urdf:2: is not XML: mismatched tag"),
        (b"<mujoco/>", "arm.urdf:1: begins with <mujoco>; <robot> is expected"),
        (b"\x00\x01\x02", "is not XML"),
        (b"<?xml version='1.0' encoding='klingon'?><robot/>", "is not XML"),
        (b"<robot>&undefined;</robot>", "is not XML"),
    ],
)
def test_bad_files_are_refused(data, told):
    with pytest.raises(mt.ModelError) as caught:
        parse_xml(data, "arm.urdf", "robot")
    assert told in str(caught.value)


@pytest.mark.parametrize("text", ["1", "-1.5", "+.5", "2.", "1e-3", "1E+3", "-0"])
def test_numbers(text):
    assert parse_xml(f'<a x="{text}"/>'.encode(), "a", "a").number("x") == float(text)


def test_blank_lines_before_the_declaration_are_read_over():
    robot = parse_xml(b" \n\n" + ARM, "arm.urdf", "robot")
    assert [element.line for element in (robot, *robot.all("link"))] == [4, 5, 6]
    with pytest.raises(mt.ModelError, match=r"arm.urdf:4: is not XML: mismatched tag"):
        parse_xml(b"\n\n<?xml version='1.0'?>\n<robot><link></robot>", "arm.urdf", "robot")
    with pytest.raises(mt.ModelError, match=r"arm.urdf:2: has a document type"):
        parse_xml(b"\n<!DOCTYPE r><r/>", "arm.urdf", "r")
