"""Robot files that are mutated by a seed, in every format: what a stranger, an editor or a bad disk makes of them.

`mutated(seed)` gives the kind of the mutation and the files by name; the first is the one to load.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from mjcf_texts import EVERY, LOOPS

INERTIAL = """<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 0 0.5"/><mass value="2"/>
      <inertia ixx="0.11" iyy="0.12" izz="0.13" ixy="0.01" ixz="-0.02" iyz="0.005"/></inertial>"""
URDF = f"""<?xml version="1.0"?>
<robot name="arm">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="upper">{INERTIAL}
    <visual><origin xyz="0 0 0.5"/><geometry><cylinder radius="0.05" length="1"/></geometry>
      <material name="red"/></visual></link>
  <link name="slide">{INERTIAL}<visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
  <link name="finger">{INERTIAL}</link>
  <link name="tip"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/><axis xyz="1 2 2"/>
    <limit lower="-2" upper="1.5" effort="10" velocity="1"/><dynamics damping="0.4" friction="0.25"/></joint>
  <joint name="rail" type="prismatic">
    <parent link="upper"/><child link="slide"/><axis xyz="0 0 1"/><limit lower="0.1" upper="1"/></joint>
  <joint name="grip" type="continuous">
    <parent link="slide"/><child link="finger"/><origin xyz="0 0.1 0"/><axis xyz="0 -1 0"/>
    <mimic joint="shoulder" multiplier="-0.5" offset="0.2"/></joint>
  <joint name="end" type="fixed"><parent link="finger"/><child link="tip"/></joint>
  <gazebo reference="upper"/>
</robot>
"""
BARS = f"""<robot name="bars">
  <link name="base"/><link name="crank">{INERTIAL}</link><link name="coupler">{INERTIAL}</link>
  <link name="rocker">{INERTIAL}</link><link name="end_A"/><link name="end_B"/>
  <joint name="A" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 0 1"/></joint>
  <joint name="B" type="continuous"><parent link="crank"/><child link="coupler"/><origin xyz="1 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="C" type="continuous"><parent link="base"/><child link="rocker"/><origin xyz="2 0 0"/>
    <axis xyz="0 0 1"/></joint>
  <joint name="F" type="fixed"><parent link="coupler"/><child link="end_A"/><origin xyz="1 1 0"/></joint>
  <joint name="G" type="fixed"><parent link="rocker"/><child link="end_B"/><origin xyz="0 1 0"/></joint>
</robot>
"""
YAML = """# loops
closed_loop: [['end_A', 'end_B']]
type: ['3d']
name_mot: ['A']
joint_name: ['F', 'G']
joint_type: ['FIXED', 'FIXED']
"""
MOMENTS = "<ixx>0.11</ixx><iyy>0.12</iyy><izz>0.13</izz><ixy>0.01</ixy>"
BODY = f"<inertial><pose>0.1 0 0 0 0 0.5</pose><mass>2</mass><inertia>{MOMENTS}</inertia></inertial>"
SDF = f"""<?xml version="1.0"?>
<sdf version="1.7">
  <world name="lab"><gravity>0 0 -9.81</gravity>
    <model name="bench"><static>true</static><link name="top"><pose>1 0 0 0 0 0</pose></link></model>
    <model name="bars">
      <frame name="corner" attached_to="crank"><pose>0 1 0 0 0 0.2</pose></frame>
      <link name="crank">{BODY}<visual name="v"><geometry><cylinder><radius>0.05</radius><length>1</length></cylinder>
        </geometry></visual></link>
      <link name="coupler"><pose relative_to="corner">0 0 0 0 0 0</pose>{BODY}</link>
      <link name="rocker"><pose>2 0 0 0 0 0</pose>{BODY}</link>
      <link name="wheel"><pose>2 0 1 0 0 0</pose>{BODY}</link>
      <joint name="A" type="revolute"><parent>world</parent><child>crank</child><axis><xyz>0 0 1</xyz>
        <limit><lower>-3</lower><upper>3</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
      <joint name="B" type="ball"><parent>crank</parent><child>coupler</child></joint>
      <joint name="C" type="universal"><parent>rocker</parent><child>coupler</child>
        <axis><xyz>0 0 1</xyz></axis><axis2><xyz expressed_in="corner">1 0 0</xyz></axis2></joint>
      <joint name="D" type="revolute"><parent>world</parent><child>rocker</child><axis><xyz>0 0 1</xyz></axis></joint>
      <joint name="E" type="screw"><parent>world</parent><child>wheel</child><axis><xyz>0 0 1</xyz></axis>
        <screw_thread_pitch>0.1</screw_thread_pitch></joint>
      <joint name="gear" type="gearbox"><parent>crank</parent><child>rocker</child><axis><xyz>0 0 1</xyz></axis>
        <gearbox_ratio>2</gearbox_ratio><gearbox_reference_body>world</gearbox_reference_body></joint>
      <plugin name="control"/>
    </model>
  </world>
</sdf>
"""
BOMB = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
BOMB = f'<!DOCTYPE bomb [<!ENTITY e0 "ha">{BOMB}]>'
NUMBERS = ("nan", "inf", "-inf", "1e308", "-1", "0", "", "1 2", "0x10", "1e-308", "9" * 400, "1,5", "--1", "x", "٣")
NAMES = ("", "ground", "world", "a b", "`", "'", '"', "x" * 5000, "ä☃\u202e", "t", "sin", "deg", "A", "__class__", "::")
FORMATS = {
    "arm.urdf": lambda: {"arm.urdf": URDF},
    "bars.urdf": lambda: {"bars.urdf": BARS, "bars.yaml": YAML},
    "bars.sdf": lambda: {"bars.sdf": SDF},
    "every.xml": lambda: {"every.xml": EVERY},
    "loops.mjcf": lambda: {"loops.mjcf": LOOPS},
}
New = Callable[[str], str]
Mutation = Callable[[str, random.Random], "str | bytes"]
TAG = re.compile(r"<(/?)(\w+)")
ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*</\2>")
NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(?![\w.\"?])")
QUOTED = re.compile(r"""(?<=["'])[^"'<>\n]*(?=["'])""")
ATTRIBUTE = re.compile(r"""\s\w+=(?:"[^"]*"|'[^']*')""")


def replaced(
    text: str, pattern: re.Pattern[str], chance: random.Random, new: Callable[[str], str], most: int = 3
) -> str:
    """Some matches of a pattern made into something else."""
    found = list(pattern.finditer(text))
    for match in sorted(chance.sample(found, min(len(found), chance.randint(1, most))), key=lambda m: -m.start()):
        text = text[: match.start()] + new(match[0]) + text[match.end() :]
    return text


def truncated(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text))]


def renamed(text: str, chance: random.Random) -> str:
    return replaced(text, QUOTED, chance, lambda old: chance.choice([*NAMES, old * 2]).replace('"', "&quot;"))


def swapped_names(text: str, chance: random.Random) -> str:
    """Cyclic trees, bodies that carry themselves, types that are names."""
    values = sorted({*QUOTED.findall(text)}) or ["x"]
    return replaced(text, QUOTED, chance, lambda old: chance.choice(values))


def swapped_tags(text: str, chance: random.Random) -> str:
    tags = sorted({match[2] for match in TAG.finditer(text)}) or ["x"]
    old, new = chance.choice(tags), chance.choice([*tags, "nothing", "include", "compiler", "replicate"])
    return re.sub(rf"(</?){old}\b", rf"\g<1>{new}", text, count=chance.choice([0, 2]))


def numbers(text: str, chance: random.Random) -> str:
    return replaced(text, NUMBER, chance, lambda old: chance.choice(NUMBERS))


def dropped_attributes(text: str, chance: random.Random) -> str:
    return replaced(text, ATTRIBUTE, chance, lambda old: "")


def dropped_elements(text: str, chance: random.Random) -> str:
    return replaced(text, ELEMENT, chance, lambda old: "")


def doubled_elements(text: str, chance: random.Random) -> str:
    return replaced(text, ELEMENT, chance, lambda old: old * chance.choice([2, 3, 50]))


def deep(text: str, chance: random.Random) -> str:
    """Many elements inside each other, somewhere."""
    tag = chance.choice([match[2] for match in TAG.finditer(text)] or ["x"])
    depth, at = chance.choice([100, 5000, 100_000]), chance.choice([m.start() for m in re.finditer("<", text)] or [0])
    return text[:at] + f"<{tag}>" * depth + f"</{tag}>" * depth * chance.choice([0, 1]) + text[at:]


def huge(text: str, chance: random.Random) -> str:
    """One element a thousand times, each under another name; or one very long attribute or text."""
    kind = chance.randrange(3)
    if kind == 0:
        return replaced(
            text,
            ELEMENT,
            chance,
            lambda old: "".join(re.sub(r'name="', f'name="n{i}_', old) for i in range(1000)),
            most=1,
        )
    if kind == 1:
        return replaced(text, QUOTED, chance, lambda old: old + " 1" * 500_000, most=1)
    return text.replace(">", f">{'x' * 2_000_000}", 1)


def bomb(text: str, chance: random.Random) -> str:
    """Entities of entities, and one that is a file."""
    head, sep, rest = text.partition("?>") if text.startswith("<?") else ("", "", text)
    kind = chance.randrange(3)
    declared = BOMB if kind else '<!DOCTYPE r [<!ENTITY e11 SYSTEM "file:///etc/hostname">]>'
    rest = replaced(rest, QUOTED, chance, lambda old: "&e11;") if kind < 2 else rest.replace("</", "&e11;</", 1)
    return head + sep + declared + rest


def bytes_flipped(text: str, chance: random.Random) -> bytes:
    data = bytearray(text.encode())
    for _ in range(chance.choice([1, 4, 30])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def encoded(text: str, chance: random.Random) -> bytes:
    """In another encoding than it says, or with a mark at the beginning."""
    name = chance.choice(["utf-16", "utf-32", "utf-8-sig", "cp037"])
    data = text.encode(name)
    return data if chance.randrange(2) else b'<?xml version="1.0" encoding="latin-9"?>' + data


def shuffled(text: str, chance: random.Random) -> str:
    """Some lines in another order."""
    lines = text.splitlines(keepends=True)
    i, j = sorted(chance.sample(range(len(lines)), 2))
    middle = lines[i : j + 1]
    chance.shuffle(middle)
    return "".join(lines[:i] + middle + lines[j + 1 :])


def spliced(text: str, chance: random.Random) -> str:
    """A piece somewhere else, or characters that mean something."""
    i, j = sorted(chance.sample(range(len(text)), 2))
    piece = chance.choice(
        [text[i : min(j, i + 60)], "<", ">", '"', "&", "\0", "]]>", "<!--", "<![CDATA[", "[" * 50, ": -"]
    )
    at = chance.randrange(len(text))
    return text[:at] + piece + text[at:]


MUTATIONS: tuple[Mutation, ...] = (
    *(truncated, renamed, swapped_names, swapped_tags, numbers, numbers, dropped_attributes, dropped_elements),
    *(doubled_elements, deep, huge, bomb, bytes_flipped, encoded, shuffled, spliced),
)


def mutated(seed: int) -> tuple[str, dict[str, bytes]]:
    """What was done, and the files by name; every format and every mutation has its turn."""
    chance = random.Random(seed)
    format = [*FORMATS][seed % len(FORMATS)]
    mutation = MUTATIONS[(seed // len(FORMATS)) % len(MUTATIONS)]
    files = FORMATS[format]()
    victim = chance.choice([*files])
    text = files[victim]
    for _ in range(chance.choice([1, 1, 2])):
        if isinstance(text, str) and text:
            text = mutation(text, chance)
    files[victim] = text
    made = {
        name: text if isinstance(text, bytes) else text.encode(errors="surrogatepass") for name, text in files.items()
    }
    return f"{victim}: {getattr(mutation, '__name__', '')}", made
