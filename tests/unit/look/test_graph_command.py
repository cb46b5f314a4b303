"""`momentree graph` as a user meets it: bare arcs, files of arcs, models, questions, mistakes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import momentree as mt
from command_line import command
from momentree.look.graph_file import graph_of_file

EXAMPLES = Path(__file__).parents[3] / "examples"
LECTURE = "0-1 1-2 1-3 3-4"


def graph(*words, cwd=None):
    return command("graph", *words, cwd=cwd)


@pytest.fixture
def stages(tmp_path):
    """The file of two stages that four pushers drive apart."""
    m = mt.Model("stages", gravity=(0, 0, 0))
    lower, upper = (m.body(name, mt.box(mass=1.0, size=(1, 1, 1))) for name in ("lower", "upper"))
    m.joint("lower", mt.Free(), m.ground, lower)
    m.joint("upper", mt.Free(), m.ground.at((0, 0, 1)), upper)
    for x in (-0.4, -0.2, 0.2, 0.4):
        m.contact(upper.at((x, 0, 0)), lower, stiffness=1e3)
    m.save(tmp_path / "stages.toml")
    return tmp_path / "stages.toml"


def test_bare_arcs_print_the_report():
    done = graph("--arcs", LECTURE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{mt.Graph(LECTURE)}\n"


def test_it_starts_as_a_process():
    words = [sys.executable, "-m", "momentree", "graph", "--arcs", LECTURE, "--path", "2-4"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "path from s2 to s4: s2, u2, s1, u3, s3, u4, s4\n" in done.stdout


def test_questions_are_answered_instead(tmp_path):
    done = graph("--arcs", LECTURE, "--path", "2-4", "--path", "s1,s4", "--body", 3, "--arc", 2, "--walk", "0-1-3")
    assert done.returncode == 0
    for words in ("path from s2 to s4", "path from s1 to s4", "s3\n  incident with u3, u4", "u2 leaves s1", ": a path"):
        assert words in done.stdout
    assert "S0 =" not in done.stdout


def test_json_has_everything_and_the_answers():
    data = json.loads(graph("--arcs", LECTURE, "--json", "--path", "3-4").stdout)
    assert data["S0"] == [1, 0, 0, 0]
    assert data["T"][0] == [-1, -1, -1, -1]
    assert data["answers"][0]["path"]["arcs"] == [4]
    assert [one["new_numbers"] for one in data["peeling"]] == [[4, 3], [2], [1]]
    assert "answers" not in json.loads(graph("--arcs", LECTURE, "--json").stdout)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("arcs.txt", "# the lecture's tree\n0-1\n1-2, 1-3\n3-4\n"),
        ("arcs", "0-1 1-2 1-3 3-4"),
        ("arcs.toml", 'name = "lecture"\narcs = "0-1 1-2 1-3 3-4"\n'),
        ("pairs.toml", "arcs = [[0, 1], [1, 2],\n        [1, 3], [3, 4]]\n"),
        ("texts.toml", 'arcs = ["0-1", "1-2", "1->3", "3-4"]\n'),
        ("toml.txt", 'arcs = "0-1 1-2 1-3 3-4"\n'),
    ],
)
def test_files_of_arcs(name, text, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = graph(tmp_path / name)
    assert (done.stdout, done.stderr, done.returncode) == (f"{mt.Graph(LECTURE)}\n", "", 0)


def test_models_have_names():
    file = EXAMPLES / "08_four_bar" / "model.toml"
    done = graph(file)
    assert "u1   A     Revolute" in done.stdout
    assert "s1    crank" in done.stdout
    by_name, by_number = (graph(file, "--path", pair).stdout for pair in ("crank, rocker", "1-3"))
    assert by_name == by_number
    assert graph(file, "--path", "crank-rocker").stdout == by_number
    assert json.loads(graph(file, "--json").stdout)["names"]["bodies"] == ["ground", "crank", "coupler", "rocker"]
    assert graph_of_file(file, lambda path: mt.load(path).build()).joints == ("A", "B", "D", "C")


def test_forces_are_counted_on_request(stages):
    assert "2 arcs: a tree" in graph(stages).stdout
    counted = graph(stages, "--forces").stdout
    assert "3 arcs: connected, 1 loop" in counted
    assert "u3   4 contacts  force" in counted
    data = json.loads(graph(stages, "--forces", "--json").stdout)
    assert data["force_arcs"] == [3]
    assert data["S_full"] == [[1, 1, 0], [-1, 0, -1], [0, -1, 1]]


@pytest.mark.parametrize("words", [["--arcs", LECTURE], ["--forces"]])
def test_pictures(words, stages, tmp_path):
    words = [stages, *words] if words == ["--forces"] else words
    done = graph(*words, "--picture", tmp_path / "graph.svg")
    assert (done.returncode, done.stderr) == (0, f"picture written to {tmp_path / 'graph.svg'}\n")
    text = (tmp_path / "graph.svg").read_text(encoding="utf-8")
    assert text.count("u2") >= 1


def test_a_graph_that_is_not_connected_is_shown_and_then_refused(tmp_path):
    for words in ([], ["--json"], ["--path", "2-3"]):
        done = graph("--arcs", "0-1 2-3", "--picture", tmp_path / "graph.svg", *words)
        assert done.returncode == 1
        assert done.stdout
        assert done.stderr.startswith("bodies 2, 3: no path to the external body 0. Add an arc from 0")
        assert not (tmp_path / "graph.svg").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--arcs", "0-1 1-1"], "--arcs: arc 2: self-loop at body 1"),
        (["--arcs", "0-1 1-0"], "--arcs: arc 2: arc 1 joins bodies 1 and 0 already"),
        (["--arcs", "0-1 3-1"], "--arcs: body 2: no arc names it"),
        (["--arcs", "1-2"], "--arcs: no arc names the external body 0"),
        (["--arcs", "a-b"], "--arcs: arc 1: 'a-b' is not an arc"),
        (["--arcs", "0-1", "--path", "0-7"], "--path 0-7: there is no body 7; bodies are numbered 0 to 1"),
        (["--arcs", "0-1", "--path", "crank-rod"], "--path 'crank-rod': is not a pair of bodies. Write it as 3-4"),
        (["--arcs", "0-1", "--body", "7"], "--body: there is no body 7"),
        (["--arcs", "0-1", "--arc", "0"], "--arc: there is no arc 0; arcs are numbered 1 to 1"),
        (["--arcs", "0-1", "--walk", "s1 u1"], "walk: it ends with an arc"),
        (["--arcs", "0-1", "--forces"], "--arcs: bare arcs have no forces. Give a model file, or omit --forces"),
        (["--arcs", "0-1", "--picture", "graph.gif"], "graph.gif: not a kind of picture"),
        (["nowhere.toml"], "nowhere.toml: does not exist"),
        (["list.txt"], "list.txt:2: arc 2: '12' is not an arc"),
        (["key.toml"], "key.toml:2: unknown key 'nmae'. Did you mean 'name'?"),
        (["kind.toml"], "kind.toml:1: arcs are neither a text nor a list"),
        (["pair.toml"], "pair.toml:2: arc 2: '[1, 2, 3]' is not an arc"),
        (["float.toml"], "float.toml:1: arc 1: '0-1.5' is not an arc"),
        (["empty.txt"], "empty.txt: there is no arc"),
    ],
)
def test_mistakes_have_a_way_out(words, message, tmp_path):
    texts = {
        "list.txt": "0-1\n12\n",
        "key.toml": 'arcs = "0-1"\nnmae = "x"\n',
        "kind.toml": "arcs = 3\n",
        "pair.toml": "arcs = [[0, 1],\n  [1, 2, 3]]\n",
        "float.toml": "arcs = [[0, 1.5]]\n",
        "empty.txt": "\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = graph(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [[], ["a.toml", "--arcs", "0-1"], ["--arcs", "0-1", "--body", "x"], ["--wrong"]])
def test_wrong_command_lines_have_status_2(words):
    assert graph(*words).returncode == 2
