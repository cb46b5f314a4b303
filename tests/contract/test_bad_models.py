"""Every broken model gives errors that name the culprit, its line and the way out, all at once and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import momentree as mt
from momentree import AssemblyError, ModelError, MomentreeError, cli

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
FOUR_BAR = (EXAMPLES / "08_four_bar" / "model.toml").read_text(encoding="utf-8")
FOUR_BAR = re.sub(r"^\[start\]\n(?:.+\n)*", "", FOUR_BAR, flags=re.MULTILINE)  # each model below may have its own
WALKER = (EXAMPLES / "13_walking_mechanism" / "model.toml").read_text(encoding="utf-8")


def _gears():
    """Bodies on joints of many types, for couplings and rolling."""
    types = {"A": "Revolute", "B": "Revolute", "arm": "Revolute", "S": "Prismatic", "ball": "Spherical", "hull": "Free"}
    bodies = [f'[[body]]\nname = "body {name}"\nsphere = {{ mass = 1, radius = 0.1 }}\n' for name in types]
    joint = '[[joint]]\nname = "{}"\ntype = "{}"\nfrom = "ground"\nto = "body {}"\n'
    return "\n".join([*bodies, *(joint.format(name, kind, name) for name, kind in types.items())])


SHORTHAND = {
    "@FOUR_BAR@": FOUR_BAR.partition("\n\n")[2],
    "@LONG@": "1" + "+1" * 6000,
    "@DEEP@": "(" * 200 + "1" + ")" * 200,
    "@GEARS@": _gears(),
    "@HUGE@": "1" + "0" * 400,
}


class BadModel(NamedTuple):
    """A broken model; `problems` are the line and the words of each, line 0 where no line is to blame."""

    name: str
    text: str
    problems: list[tuple[int, list[str]]]


def bad_models(path):
    """The models of one file; bad_models/README.md says how they are written."""
    for section in re.split(r"^#### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, text = section.partition("\n")
        for short, long in SHORTHAND.items():
            text = text.replace(short, long)
        told = []
        for number, line in enumerate(text.split("\n"), 1):
            told += [(0 if line.startswith("#~") else number, words) for words in re.split("#[!~] ", line)[1:]]
        yield BadModel(f"{path.stem}: {name}", text, [(i, words.strip().split(" | ")) for i, words in told])


BAD_MODELS = [model for path in sorted((HERE / "bad_models").glob("*.toml")) for model in bad_models(path)]


# what is not yet as it should be, and where it has to be mended
def each_model(models):
    return [pytest.param(model, id=model.name) for model in models]


def problems_of(path):
    """What is wrong with the model in a file: (line, message) of each problem, line 0 where there is none."""
    try:
        model = mt.load(path)
        system = model.build()
    except ModelError as error:
        places = [problem.place.removeprefix(str(path)) for problem in error.problems]
        return [(int(place[1:] or 0), str(problem)) for place, problem in zip(places, error.problems, strict=True)]
    with pytest.raises(AssemblyError) as caught:
        assert system.mobility_report is None, "this model has no mistake"
    place = model.place_of(*caught.value.culprit) if caught.value.culprit else f"{path}:0"
    return [(int(place.removeprefix(f"{path}:")), str(caught.value))]


@pytest.mark.parametrize("model", each_model(BAD_MODELS))
@pytest.mark.repeats(1)
def test_every_mistake_is_told_once_on_its_line(model, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(model.text, encoding="utf-8")
    found = problems_of(path)
    for line, words in model.problems:
        right = [(at, message) for at, message in found if at == line and all(word in message for word in words)]
        assert right, f"nothing says {words} of line {line}, but: {found}"
        found.remove(right[0])
        assert all(line.isprintable() for line in right[0][1].split("\n"))
    assert not found, "more is told than is wrong"
    assert model.problems


def test_a_file_with_many_mistakes_tells_them_in_the_order_of_its_lines(tmp_path):
    model = next(model for model in BAD_MODELS if model.name == "documents: everything at once")
    path = tmp_path / "model.toml"
    path.write_text(model.text, encoding="utf-8")
    lines = [line for line, _ in problems_of(path)]
    assert lines == sorted(lines)
    assert len(lines) == len(model.problems) >= 12


def test_there_are_many_broken_models_and_no_two_are_the_same():
    assert len({model.text for model in BAD_MODELS}) == len({model.name for model in BAD_MODELS}) == len(BAD_MODELS)
    assert len(BAD_MODELS) >= 200


# --- files that are not even TOML -----------------------------------------------------------------------------------

BAD_FILES = {
    "empty": (b"", 0, ["is empty"]),
    "only comments": (b"# a model\n\n# some day\n", 0, ["is empty", "no model in it"]),
    "binary": (b"\x7fELF\x02\x01\x01\x00\x00", 1, ["is binary", "UTF-8"]),
    "not UTF-8": ('name = "Käfer"\n'.encode("latin-1"), 1, ["is not UTF-8", "0xe4", "Save it as UTF-8"]),
    "UTF-16": (FOUR_BAR.encode("utf-16"), 0, ["UTF-16", "Save it as UTF-8"]),
    "nested 10 000 deep": (b"mass = " + b"[" * 10_000 + b"]" * 10_000, 1, ["nested too deeply"]),
    "a key of 10 000 parts": (b"\na" + b".a" * 10_000 + b" = 1", 2, ["nested too deeply"]),
    "prose": (b"The crank is one metre long.\n", 1, ["is not TOML", "The crank is one metre long"]),
    "no quotes": (b"[[body]]\nname = bob\n", 2, ["is not TOML", "name = bob"]),
    "a quote not closed": (b'[[body]]\nname = "bob\nmass = 1\n', 2, ["is not TOML", 'name = "bob']),
    "a bracket not closed": (b"gravity = [0, 0, -9.81\n", 1, ["is not TOML"]),
    "no value": (b"[[body]]\nname =\n", 2, ["is not TOML", "name ="]),
    "a decimal comma": (b'[[body]]\nname = "bob"\nmass = 1,5\n', 3, ["is not TOML", "mass = 1,5"]),
    "the same key twice": (b'[[body]]\nname = "bob"\nmass = 1\nmass = 2\n', 4, ["is not TOML", "mass = 2"]),
    "the same table twice": (b"[ground]\n[parameters]\nk = 1\n[ground]\n", 4, ["is not TOML", "[ground]"]),
    "JSON": (b'{"name": "four-bar", "body": []}\n', 1, ["is not TOML", "looks like JSON"]),
    "URDF": (b'<?xml version="1.0"?>\n<robot name="arm"></robot>\n', 1, ["is not TOML", "looks like URDF"]),
    "YAML": (b"name: four-bar\nbodies:\n  - name: crank\n", 1, ["is not TOML", "looks like YAML"]),
    "a control character": (b'name = "a\x01b"\n', 1, ["is not TOML"]),
}


@pytest.mark.parametrize(("content", "line", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_model_file(content, line, words, tmp_path):
    path = tmp_path / "model.toml"
    path.write_bytes(content)
    ((found, message),) = problems_of(path)
    assert found == line
    assert all(word in message for word in words), message
    assert len(message) < 400 + len(str(path))


def test_a_file_of_50_megabytes(tmp_path):
    path = tmp_path / "large.toml"
    with open(path, "wb") as file:
        file.truncate(50_000_000)
    ((_, message),) = problems_of(path)
    assert "larger than 32 MB" in message


def test_a_folder(tmp_path):
    (tmp_path / "four-bar.toml").touch()
    ((_, message),) = problems_of(tmp_path)
    assert "is a folder" in message
    assert "'four-bar.toml'" in message


def test_a_file_that_does_not_exist(tmp_path):
    (tmp_path / "four-bar.toml").touch()
    ((_, message),) = problems_of(tmp_path / "fuor-bar.toml")
    assert "does not exist" in message
    assert "Did you mean 'four-bar.toml'?" in message
    ((_, message),) = problems_of(tmp_path / "nowhere" / "four-bar.toml")
    assert "nowhere" in message


# --- the command line -----------------------------------------------------------------------------------------------

IN_A_PROCESS = (
    "bodies: mass negative, with an inertia below it",
    "documents: everything at once",
    "elements: a constraint that is not affine in the velocities",
    "joints: a joint with a line break in its name",
    "loops: a loop whose lengths cannot close",
    "parameters: parameters defined in a circle",
)


@pytest.mark.parametrize("model", each_model(model for model in BAD_MODELS if model.name not in IN_A_PROCESS))
def test_the_check_command_fails_with_a_message(model, tmp_path, monkeypatch, capfd):
    path = tmp_path / "model.toml"
    path.write_text(model.text, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["momentree", "check", str(path)])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    told = capfd.readouterr()
    assert_refused(stopped.value.code, told.out, told.err, path, model.problems)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("model", each_model(model for model in BAD_MODELS if model.name in IN_A_PROCESS))
def test_the_check_command_fails_with_a_message_in_a_process_of_its_own(model, tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(model.text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "momentree", "check", str(path)],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )
    assert_refused(done.returncode, done.stdout, done.stderr, path, model.problems)


def assert_refused(status, out, err, path, problems):
    assert status == 1
    assert out == ""
    assert "Traceback" not in err
    assert "Warning" not in err
    assert all(line.isprintable() for line in err.split("\n"))
    for line, words in problems:
        assert f"{path}:{line}: " in err if line else f"{path}: " in err
        assert all(word in err for word in words)
    # nothing but the problems, each on a line, with at most an expression and the place in it below
    beginnings = [line for line in err.splitlines() if not line.startswith("    ")]
    assert len(beginnings) == len(problems)
    assert all(line.startswith(str(path)) for line in beginnings)


def test_the_check_command_on_what_is_no_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "binary.toml").write_bytes(b"\0\1\2")
    for name in ("binary.toml", "missing.toml", "."):
        monkeypatch.setattr(sys, "argv", ["momentree", "check", str(tmp_path / name)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        told = capsys.readouterr()
        assert (stopped.value.code, told.out) == (1, "")
        assert str(tmp_path) in told.err


def test_one_bad_file_among_good_ones(tmp_path, monkeypatch, capsys):
    (tmp_path / "bad.toml").write_text(BAD_MODELS[0].text, encoding="utf-8")
    (tmp_path / "good.toml").write_text(FOUR_BAR, encoding="utf-8")
    names = [str(tmp_path / name) for name in ("bad.toml", "good.toml")]
    monkeypatch.setattr(sys, "argv", ["momentree", "check", *names])
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    told = capsys.readouterr()
    assert stopped.value.code == 1
    assert names[1] in told.out
    assert names[0] in told.err
    assert names[0] not in told.out


# --- mistakes made in Python ------------------------------------------------------------------------------------------


def pendulum():
    m = mt.Model("pendulum")
    bob = m.body("bob", mt.rod(mass=1, length=1))
    m.joint("A", mt.Revolute("y"), m.ground, bob)
    return m, bob


def of_another_model(m, bob):
    m.joint("B", mt.Revolute("y"), bob, mt.Model().body("stranger", mass=1))


def with_itself(m, bob):
    m.joint("B", mt.Revolute("y"), bob, bob.at((1, 0, 0)))


def no_joint(m, bob):
    m.joint("B", "Revolute", m.ground, bob)
    m.torque("B", "-B")
    m.cut("B")
    m.split(bob, "B")


def not_called(m, bob):
    m.joint("B", mt.Revolute, m.ground, bob)
    m.torque("B", [1, 2, 3])


IN_PYTHON = {
    # what is done to a pendulum of body 'bob' on joint 'A', and the words of each problem that it must have
    "matrix of wrong shape": (lambda m, bob: m.body("b", mass=1, inertia=np.ones((2, 2))), ["body 'b' | inertia has"]),
    "array of wrong length": (lambda m, bob: m.body("b", mass=1, com=np.zeros(4)), ["body 'b' | com is | 3 numbers"]),
    "array of no dimension": (lambda m, bob: m.body("b", mass=np.array([[1.0]])), ["body 'b' | mass is ((1.0,),)"]),
    "array of NaN": (lambda m, bob: m.body("b", mass=1, com=np.full(3, np.nan)), ["body 'b' | com is nan"]),
    "complex mass": (lambda m, bob: m.body("b", mass=1 + 2j), ["body 'b' | mass is (1+2j) | a number"]),
    "complex array": (lambda m, bob: m.body("b", mass=1, com=np.zeros(3, complex)), ["body 'b' | com is 0j"]),
    "object as mass": (lambda m, bob: m.body("b", mass=object()), ["body 'b' | mass is <object object"]),
    "bytes as mass": (lambda m, bob: m.body("b", mass=b"1"), ["body 'b' | mass is b'1'"]),
    "dictionary as mass": (lambda m, bob: m.body("b", mass={"kg": 1}), ["body 'b' | mass is {'kg': 1}"]),
    "set as centre of mass": (lambda m, bob: m.body("b", mass=1, com={1, 2, 3}), ["body 'b' | com is {1, 2, 3}"]),
    "number as shape": (lambda m, bob: m.body("b", 3.0), ["body 'b' | shape is 3.0 | mt.rod"]),
    "function as shape": (lambda m, bob: m.body("b", mt.rod), ["body 'b' | shape is <function rod | mt.rod"]),
    "two wrong sizes": (lambda m, bob: m.body("b", mt.rod(-1, 0)), ["mass is -1 kg", "length is 0 m"]),
    "massless in words": (lambda m, bob: m.body("b", massless="no"), ["body 'b' | massless is 'no' | true or false"]),
    "name None": (lambda m, bob: m.body(None, mass=1, inertia=(1, 1, 1)), ["body None | name is None"]),
    "list as name": (lambda m, bob: m.force(m.body([1], mass=1)), ["name is [1]", "there is no body [1]"]),
    "list as name of a joint": (lambda m, bob: m.joint(["B"], mt.Fixed(), bob, m.body("b", mass=1)), ["name is ['B']"]),
    "model name": (lambda m, bob: setattr(m, "name", None), ["name is None | printable strings"]),
    "None as body": (lambda m, bob: m.joint("B", mt.Fixed(), None, bob), ["None is not a frame | body.at"]),
    "number as body": (lambda m, bob: m.force(3, (0, 0, 1)), ["3 is not a frame | body.at"]),
    "joint as body": (lambda m, bob: m.force(m.joints[0], (0, 0, 1)), ["is not a frame | body.at"]),
    "body of another model": (of_another_model, ["joint 'B' | there is no body 'stranger' | 'ground' or 'bob'"]),
    "joint with itself": (with_itself, ["joint 'B' | connects 'bob' with itself"]),
    "text as joint": (no_joint, ["joint 'B' | 'Revolute' is not a joint type | mt.Revolute('z')"]),
    "joint that is not called": (not_called, ["joint 'B' | Revolute'> is not a joint type | mt.Revolute('z')"]),
    "position of wrong shape": (lambda m, bob: m.force(bob.at(np.eye(3)), (0, 0, 1)), ["force 1 | position is"]),
    "position None": (lambda m, bob: m.force(bob.at(None), (0, 0, 1)), ["force 1 on 'bob' | position is missing"]),
    "rotation of zeros": (lambda m, bob: m.force(bob.at((0, 0, 0), np.zeros((3, 3)))), ["not orthogonal"]),
    "rotation as object": (lambda m, bob: m.force(bob.at((0, 0, 0), object())), ["rotation is neither"]),
    "torque on None": (lambda m, bob: m.torque(None, 1), ["torque on None | there is no joint None"]),
    "torque on a list": (lambda m, bob: m.torque(["A"], 1), ["there is no joint | 'A'"]),
    "torque of another model": (lambda m, bob: m.torque("C", 1), ["torque on 'C' | there is no joint 'C' | 'A'"]),
    "law of unknown names": (lambda m, bob: m.torque("A", lambda B, t: B * t), ["torque on 'A' | unknown name 'B'"]),
    "law of all arguments": (lambda m, bob: m.torque("A", lambda *all: 1), ["takes *all | Name its arguments"]),
    "law that returns nothing": (lambda m, bob: m.torque("A", lambda A: None), ["returns nothing | return"]),
    "law that compares": (lambda m, bob: m.torque("A", lambda A: 1 if A > 0 else 0), ["momentree.select"]),
    "law that raises": (lambda m, bob: m.torque("A", lambda A: A.angle), ["cannot be called with symbols | angle"]),
    "law of NumPy": (lambda m, bob: m.torque("A", np.ones((2, 2))), ["torque on 'A' | has 2 laws"]),
    "complex law": (lambda m, bob: m.torque("A", 1j), ["torque on 'A' | law is 1j"]),
    "force None": (lambda m, bob: m.force(bob, None), ["force 1 on 'bob' | law needs three components"]),
    "axes None": (lambda m, bob: m.force(bob, axes=None), ["force 1 on 'bob' | axes is None"]),
    "stiffness None": (lambda m, bob: m.spring(m.ground, bob, None), ["spring 1 | stiffness is missing"]),
    "constraint None": (lambda m, bob: m.constrain(None), ["constraint 'constraint 1' | is missing"]),
    "constraint of an array": (lambda m, bob: m.constrain(np.zeros(2)), ["constraint 'constraint 1' | (0.0, 0.0)"]),
    "equation twice": (lambda m, bob: m.constrain("A = 1 = 2"), ["constraint 'constraint 1' | one sign of equality"]),
    "couple of None": (lambda m, bob: m.couple(None, None), ["couple 'couple 1' | joint is missing"]),
    "couple of a list": (lambda m, bob: m.couple("A", [{}]), ["couple 'couple 1' | to is"]),
    "couple of an array": (lambda m, bob: m.couple("A", {"A": np.ones(2)}), ["couple 'couple 1' | named twice"]),
    "gear of numbers": (lambda m, bob: m.gear(1, 2, ratio=1), ["gear 'gear 1' | first is 1; the name of a joint"]),
    "gear without a name": (lambda m, bob: m.gear("A", "A", ratio=1, name=5), ["gear 5 | name is 5", "both first"]),
    "planets in a string": (
        lambda m, bob: m.planetary("A", None, m.couple("A", "B"), (1, 2), "P"),
        ["couple 'couple 1' | there is no joint 'B'", "planetary 'planetary 1' | there is no joint 'couple 1'"],
    ),
    "coupled joint of no type": (
        lambda m, bob: [m.joint("B", "Revolute", m.ground, bob), m.gear("A", "B", ratio=2)],
        ["joint 'B' | 'Revolute' is not a joint type"],
    ),
    "roll of None": (lambda m, bob: m.roll(None), ["None is not a frame"]),
    "roll of nothing": (lambda m, bob: m.roll(bob), ["roll 'roll 1' | radius is missing"]),
    "surface of None": (lambda m, bob: m.on_surface(bob, None), ["surface 'surface 1' | expression is missing"]),
    "curve of one": (lambda m, bob: m.on_curve(bob, "z"), ["curve 'curve 1' | two equations"]),
    "distance None": (lambda m, bob: m.distance(bob, m.ground, None), ["distance 'distance 1' | length is missing"]),
    "frame without a name": (lambda m, bob: m.frame(None, bob), ["frame None | name is None"]),
    "parameter twice": (lambda m, bob: [m.parameter("k", 1), m.parameter("k", 2)], ["parameter 'k' | 2 times"]),
    "parameter without a name": (lambda m, bob: m.parameter("", 1), ["name '' is empty"]),
    "parameter that is a list": (lambda m, bob: m.parameter(["k"], 1), ["not a Reference"]),
    "parameter that is None": (lambda m, bob: m.parameter("k", None), ["parameter 'k' | is missing"]),
    "cut of an object": (lambda m, bob: m.cut(object()), ["cut | there is no joint <object"]),
    "cut of a body": (lambda m, bob: m.cut(bob), ["cut | there is no joint 'bob' | 'A'"]),
    "split of None": (lambda m, bob: m.split(None, "A"), ["split of None | there is no body None"]),
    "split of a list": (lambda m, bob: m.split(["bob"], "A"), ["there is no body"]),
    "split by half the joint": (lambda m, bob: m.split(bob, "A", None), ["split of 'bob' | share is missing"]),
    "ground that moves to nowhere": (lambda m, bob: m.ground.moves(5), ["ground | position needs three laws"]),
    "gravity None": (lambda m, bob: setattr(m, "gravity", None), ["gravity is missing | 3 numbers"]),
    "gravity an array": (lambda m, bob: setattr(m, "gravity", np.zeros((3, 1))), ["gravity is"]),
    "contact that is soft": (lambda m, bob: m.contact(bob, stiffness="soft"), ["contact 1 | unknown name 'soft'"]),
}


def spoiled(spoil):
    m, bob = pendulum()
    spoil(m, bob)
    return m.build()


@pytest.mark.parametrize(("spoil", "problems"), IN_PYTHON.values(), ids=IN_PYTHON)
def test_mistakes_made_in_python_are_told_at_once(spoil, problems):
    with pytest.raises(MomentreeError) as caught:
        spoiled(spoil)
    found = [str(problem) for problem in getattr(caught.value, "problems", [caught.value])]
    assert len(found) == len(problems), found
    for message, words in zip(found, problems, strict=True):
        assert all(word in message for word in words.split(" | ")), message


def test_a_list_that_contains_itself_is_a_mistake():
    numbers = [1, 2]
    numbers.append(numbers)
    with pytest.raises(MomentreeError):
        spoiled(lambda m, bob: m.body("b", mass=1, com=numbers))


def test_what_is_left_free_must_be_a_parameter():
    m, _ = pendulum()
    m.parameter("stiffness", 1)
    with pytest.raises(ModelError, match=r"there is no parameter 'stifness'.* Did you mean 'stiffness'"):
        m.build(free=["stifness"])


# --- damage -----------------------------------------------------------------------------------------------------------

TOKEN = re.compile(r'"[^"\n]*"|\w[\w.+-]*|\s+|.', re.DOTALL)
VALUES = [
    *["0", "-1", "nan", "-inf", "1e400", "1e308", "1e-320", "-0.0", "true", "[]", "{}", "[[]]", "1979-05-27"],
    *['""', '"ground"', '"t"', '"1/0"', '"crank"', '"x"', '"Fixed"', '"Free"', '"Screw"', '"((("', '"é\\n\\u0007"'],
    *["[1, 2, 3]", '["t", "t"]', "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "{ a = 1 }", '{ body = "leg 1" }'],
]
RUBBISH = ['"', "'", "#", "\n", "=", ",", ".", "[", "]", "{", "}", "", "name", "type", "motion", "massless", "spring"]


@st.composite
def damaged(draw):
    """One of the examples after a few strokes: values replaced or exchanged, lines lost, doubled or exchanged."""
    text = draw(st.sampled_from([FOUR_BAR, WALKER]))
    for _ in range(draw(st.integers(1, 4))):
        stroke = draw(st.sampled_from(["value", "value", "swap values", "lose", "double", "swap", "rubbish"]))
        pieces = (
            TOKEN.findall(text) if stroke in ("value", "swap values", "rubbish") else text.splitlines(keepends=True)
        )
        known = '["0-9]' if "value" in stroke else "."
        i, j = (
            draw(st.sampled_from([k for k, piece in enumerate(pieces) if re.match(known, piece)])) for _ in range(2)
        )
        match stroke:
            case "lose":
                del pieces[i]
            case "double":
                pieces.insert(j, pieces[i])
            case "swap" | "swap values":
                pieces[i], pieces[j] = pieces[j], pieces[i]
            case _:
                pieces[i] = draw(st.sampled_from(VALUES if stroke == "value" else RUBBISH))
        text = "".join(pieces)
    return text


def verdict(text):
    try:
        return f"mobility {mt.loads(text).build().mobility}"
    except MomentreeError as error:
        return str(error)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(damaged())
@pytest.mark.long
def test_a_damaged_example_works_or_says_what_is_wrong(text):
    assert len(verdict(text)) > 9


@pytest.mark.long
@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged())
def test_a_thousand_damaged_examples_work_or_say_what_is_wrong(text):
    assert len(verdict(text)) > 9
