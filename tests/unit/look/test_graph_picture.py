"""The picture of a graph: whole files, every name as it is, no two words on one place, the same bytes each time."""

import itertools
import subprocess
import sys
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

import momentree as mt
from momentree.errors import GraphError, MomentreeError
from momentree.look.graph_layout import COUPLING, FORCE, GREY, NAMED, NUMBERED, PAIR, Chord, lay_out
from momentree.look.graph_picture import LONGEST_NAME, _constraint_chords, _force_chords, draw_graph, short
from momentree.structure.force_arcs import NamedGraph
from momentree.structure.graph import Graph

PIN = mt.Revolute("y")
PNG, PDF = b"\x89PNG\r\n", b"%PDF-"


def structure(bodies, joints, splits=()):
    model = mt.Model("model")
    handles = {name: model.body(name, mt.box(mass=1.0, size=(1.0, 0.2, 0.2))) for name in bodies}
    handles["ground"] = model.ground
    for name, joint, first, second in joints:
        model.joint(name, joint, handles[first], handles[second])
    for body, joint in splits:
        model.split(body, joint)
    return model.build().structure


def four_bar():
    joints = [("A", PIN, "ground", "crank"), ("B", PIN, "crank", "coupler"), ("D", PIN, "ground", "rocker")]
    return structure(["crank", "coupler", "rocker"], [*joints, ("C", PIN, "coupler", "rocker")])


def walker():
    """Ivanov 2022: the legs of a walking mechanism are split."""
    turn, guide = mt.Revolute("x"), mt.PinSlot("z", "x")
    joints = [("hull", mt.Planar("x"), "ground", "hull"), ("crank", turn, "hull", "disc")]
    joints += [("guide 1", guide, "hull", "leg 1"), ("guide 2", guide, "hull", "leg 2")]
    joints += [("pin 1", turn, "disc", "leg 1"), ("pin 2", turn, "disc", "leg 2")]
    return structure(["hull", "disc", "leg 1", "leg 2"], joints, [("leg 1", "pin 1"), ("leg 2", "pin 2")])


def star():
    legs = [f"leg {i}" for i in range(1, 9)]
    hips = [(f"hip {i}", PIN, "hull", leg) for i, leg in enumerate(legs, 1)]
    return structure(["hull", *legs], [("float", mt.Free(), "ground", "hull"), *hips])


def planted_star():
    """Every leg pinned to the ground too: eight loops that all end in one place."""
    legs = [f"leg {i}" for i in range(1, 9)]
    joints = [("float", mt.Free(), "ground", "hull")]
    joints += [(f"hip {i}", PIN, "hull", leg) for i, leg in enumerate(legs, 1)]
    return structure(["hull", *legs], joints + [(f"foot {i}", PIN, "ground", leg) for i, leg in enumerate(legs, 1)])


def chain():
    links = [f"link {i}" for i in range(1, 13)]
    pairs = itertools.pairwise(["ground", *links])
    return structure(links, [(f"hinge {i}", PIN, first, second) for i, (first, second) in enumerate(pairs, 1)])


def squeezer():
    """Seven bodies and three loops, joined as in Andrews' squeezer mechanism."""
    pairs = {"O": (0, 1), "F": (1, 2), "B": (0, 3), "E": (2, 3), "E4": (3, 4), "A5": (0, 5), "G": (4, 5)}
    pairs |= {"E6": (3, 6), "A7": (0, 7), "H": (6, 7)}
    names = ["ground", *(f"K{i}" for i in range(1, 8))]
    return structure(names[1:], [(joint, PIN, names[i], names[j]) for joint, (i, j) in pairs.items()])


def parallel():
    hinges = [("upper hinge", PIN, "frame", "door"), ("lower hinge", PIN, "frame", "door")]
    return structure(["frame", "door"], [("base", mt.Free(), "ground", "frame"), *hinges])


def binary_tree():
    names = ["ground", *(f"branch {i}" for i in range(1, 32))]
    return structure(names[1:], [(f"fork {i}", PIN, names[i // 2], names[i]) for i in range(1, 32)])


def short_bodies_long_joints():
    return structure("abcdef", [(f"hinge that holds body {name}", PIN, "ground", name) for name in "abcdef"])


def rolling():
    """A cart on four wheels, two of them geared, one of them on a rod to the ground."""
    m = mt.Model("cart")
    cart = m.body("cart", mt.box(mass=5.0, size=(1, 0.5, 0.2)))
    m.joint("floating", mt.Free(), m.ground, cart)
    for i in range(1, 5):
        wheel = m.body(f"wheel {i}", mass=0.5, inertia=(0.01, 0.02, 0.01))
        m.joint(f"axle {i}", mt.Revolute("y"), cart.at((0.1 * i, 0, 0)), wheel)
        m.roll(wheel, radius=0.1, disc="y")
    m.gear("axle 1", "axle 3", ratio=2)
    m.constrain("`axle 2` + `axle 3` = 2*`axle 4`", "of three")
    m.distance(m.ground.at((0, 0, 1)), cart.at((0, 0, 0.1)), length=1.0)
    return m.build().structure


def sprung():
    """A crank, a rod on two springs to the ground, a block on a spring to the rod and a contact with the ground."""
    m = mt.Model("sprung", gravity=(0, 0, 0))
    crank, rod, block = (m.body(name, mt.box(mass=1.0, size=(1, 0.1, 0.1))) for name in ("crank", "rod", "block"))
    m.joint("A", PIN, m.ground, crank)
    m.joint("B", PIN, crank.at((1, 0, 0)), rod)
    m.joint("F", mt.Free(), m.ground, block)
    m.spring(m.ground, rod, stiffness=1.0)
    m.spring(rod.at((1, 0, 0)), m.ground, stiffness=1.0)
    m.spring(rod, block, stiffness=1.0)
    m.contact(block, m.ground, stiffness=1.0)
    return m.build().structure


CASES = [
    four_bar,
    walker,
    star,
    planted_star,
    chain,
    squeezer,
    parallel,
    binary_tree,
    short_bodies_long_joints,
    rolling,
    sprung,
]


def boxes_of_words(figure):
    """Name and box (left, bottom, right, top) of each text, in pixels."""
    renderer = figure.canvas.get_renderer()
    return [(text.get_text(), text.get_window_extent(renderer).extents) for text in figure.texts]


def apart(first, second):
    return bool(first[2] <= second[0] or second[2] <= first[0] or first[3] <= second[1] or second[3] <= first[1])


def written_words(path):
    """Every text of an SVG file, line by line."""
    return ["".join(text.itertext()) for text in ET.parse(path).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.repeats(1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_words_lie_apart_inside_the_figure_and_off_the_lines(case):
    figure = draw_graph(case())
    width, height = figure.bbox.size
    words = boxes_of_words(figure)
    assert len(words) > 5
    assert [(a, b) for (a, p), (b, q) in itertools.combinations(words, 2) if not apart(p, q)] == []
    assert [text for text, box in words if not (box >= 0).all()] == []
    assert [text for text, box in words if box[2] > width or box[3] > height] == []
    for line in figure.findobj(matplotlib.lines.Line2D):
        points = line.get_transform().transform(line.get_xydata())
        t = np.linspace(0, 1, 20)[:, None, None]
        points = ((1 - t) * points[:-1] + t * points[1:]).reshape(-1, 2)
        for text, box in words:
            assert not ((points > box[:2]) & (points < box[2:])).all(axis=1).any(), f"a line runs through '{text}'"


def test_higher_pairs_and_couplings_are_drawn_between_their_bodies(tmp_path):
    draw_graph(rolling(), tmp_path / "graph.svg")
    words = " ".join(written_words(tmp_path / "graph.svg"))
    for name in (*(f"roll {i} (Rolling)" for i in range(1, 5)), "gear 1", "of three", "distance 1 (Distance)"):
        assert words.count(name) == 1, name
    assert all(text in words for text in ("higher pair", "coupling or expression"))
    assert "cut joint" not in words
    chords = list(_constraint_chords(rolling(), 0))
    ends = [(chord.first, chord.second) for chord in chords]
    assert ends == [(0, 2), (0, 3), (0, 4), (0, 5), (0, 1), (3, 4), (4, 5), (2, 4)]
    assert {chord.dash for chord in chords} == {PAIR, COUPLING}


def dashes(figure):
    """How often lines of each color and dash pattern are drawn; the pattern in points."""
    lines = figure.findobj(matplotlib.lines.Line2D)
    return [(line.get_color(), tuple(x / line.get_linewidth() for x in line._dash_pattern[1] or ())) for line in lines]


def test_springs_and_contacts_are_dashed_lines_between_their_bodies(tmp_path):
    draw_graph(sprung(), tmp_path / "graph.svg")
    words = written_words(tmp_path / "graph.svg")
    assert {"2 springs", "spring 3", "contact 1 of block", "spring or contact"} <= {*words}
    assert "cut joint" not in words
    found = dashes(draw_graph(sprung()))
    assert found.count((GREY, FORCE)) == 4, "three and the one in the legend"
    assert [(chord.first, chord.second, chord.directed) for chord in _force_chords(sprung())] == [
        (0, sprung().numbering["rod"], False),
        (sprung().numbering["rod"], sprung().numbering["block"], False),
        (sprung().numbering["block"], 0, False),
    ]


def test_counted_force_arcs_are_dashed_arrows_in_the_tree_or_not(tmp_path):
    counted = sprung().named_graph(force_arcs=True)
    assert (counted.graph.cut, counted.forces) == ((4, 5), (4, 5)), "the contact acts through the Free joint"
    draw_graph(counted, tmp_path / "graph.svg")
    words = written_words(tmp_path / "graph.svg")
    assert {"u4: 2 springs", "u5: spring 3", "force arc", "u1: A"} <= {*words}
    assert dashes(draw_graph(counted)).count((GREY, FORCE)) == 3
    floating = Graph("0-1 0-2 1-2", weights=[0, 2, 1])
    in_the_tree = NamedGraph(floating, ("ground", "a", "b"), ("A", "B", "spring"), ("Free", "Free", "force"))
    assert dashes(draw_graph(in_the_tree)).count((GREY, FORCE)) == 2


@pytest.mark.repeats(1)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_svg_holds_every_name_and_number(case, tmp_path):
    mechanism = case()
    draw_graph(mechanism, tmp_path / "graph.svg")
    words = written_words(tmp_path / "graph.svg")
    assert {*mechanism.bodies[1:]} <= {*words}
    assert {str(number) for number in range(1, len(mechanism.bodies))} <= {*words}
    assert "0 ground" in words
    for joint in mechanism.joints:
        assert any(text == joint or text.startswith(f"{joint} (") for text in words), joint


def test_what_closes_loops_is_labelled_and_explained(tmp_path):
    draw_graph(four_bar(), tmp_path / "cut.svg")
    assert {"C (Revolute), 5 constraints", "joint of the tree", "cut joint"} <= {*written_words(tmp_path / "cut.svg")}
    draw_graph(walker(), tmp_path / "split.svg")
    words = written_words(tmp_path / "split.svg")
    assert {"leg 1 (image)", "leg 2 (image)", "split body and its image"} <= {*words}
    assert words.count("6 constraints") == 2
    assert "cut joint" not in words
    draw_graph(chain(), tmp_path / "tree.svg")
    assert "joint of the tree" not in written_words(tmp_path / "tree.svg")


@pytest.mark.repeats(1)
@pytest.mark.parametrize("suffix", ["svg", "png", "pdf", "SVG"])
def test_same_model_same_bytes(suffix, tmp_path):
    draw_graph(walker(), tmp_path / f"first.{suffix}")
    draw_graph(walker(), str(tmp_path / f"second.{suffix}"))
    first = (tmp_path / f"first.{suffix}").read_bytes()
    assert first == (tmp_path / f"second.{suffix}").read_bytes()
    assert first.startswith({"png": PNG, "pdf": PDF}.get(suffix, b"<?xml"))


def test_png_is_not_blank(tmp_path):
    draw_graph(four_bar(), tmp_path / "graph.png")
    picture = imread(tmp_path / "graph.png")
    assert min(picture.shape[:2]) > 200
    dark = (picture[..., :3].sum(axis=2) < 1.0).mean()
    assert 0.01 < dark < 0.3


def test_names_are_drawn_as_they_are(tmp_path):
    names = ["$x_1$", "__init__ & <b>", "50 % \\frac{1}{2}"]
    joints = [("$\\alpha$", PIN, "ground", names[0]), ("a_{2}", PIN, names[0], names[1])]
    joints += [("c^3", PIN, "ground", names[2]), ("loop $ -->", PIN, names[1], names[2])]
    draw_graph(structure(names, joints), tmp_path / "odd.svg")
    words = written_words(tmp_path / "odd.svg")
    assert {*names, "$\\alpha$", "a_{2}", "c^3", "loop $ --> (Revolute), 5 constraints"} <= {*words}
    draw_graph(structure(names, joints), tmp_path / "odd.png")


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("crank", "crank"),
        ("Кривошип β′", "Кривошип β′"),
        ("机体 1", "… 1"),
        ("rocket 🚀", "rocket …"),
        ("two\nlines", "two lines"),
        ("bell\x07", "bell…"),
        ("a" * 24, "a" * 24),
        ("a" * 25, "a" * 23 + "…"),
        ("word " * 9, "word word word word wor…"),
    ],
)
def test_names_are_shortened(name, drawn):
    assert short(name) == drawn
    assert len(drawn) <= LONGEST_NAME


@pytest.mark.parametrize("path", ["graph.bmp", "graph", "graph.svg.txt", ".svg"])
def test_other_suffixes_are_refused(path, tmp_path):
    with pytest.raises(MomentreeError, match=r"\.svg, \.png, \.pdf"):
        draw_graph(four_bar(), tmp_path / path)
    assert not (tmp_path / path).exists()


def test_folder_that_is_not_there(tmp_path):
    with pytest.raises(MomentreeError, match=r"nowhere.*cannot be written"):
        draw_graph(four_bar(), tmp_path / "nowhere" / "graph.svg")


def test_too_many_bodies_are_refused():
    with pytest.raises(MomentreeError, match="2001 bodies would not be readable"):
        draw_graph(Graph.from_parents(range(2001)))


def test_many_bodies_have_numbers_only():
    closed = Graph([*((i, i + 1) for i in range(151)), (151, 0)])
    figure = draw_graph(closed)
    words = [text.get_text() for text in figure.texts]
    assert words == [*(str(i) for i in range(1, 152)), "0 ground", "joint of the tree", "cut joint"]
    assert min(text.get_fontsize() for text in figure.texts) < 6


@pytest.mark.long
def test_deep_chain_is_drawn():
    assert len(draw_graph(Graph.from_parents(range(2000))).texts) == 2001


def test_bare_graph_has_numbers():
    graph = Graph([(0, 1), (1, 2), (0, 3), (2, 3), (3, 4), (4, 1)]).split([(3, 4)])
    words = [text.get_text() for text in draw_graph(graph).texts]
    assert {"1", "2", "3", "4", "5", "image of 3", "u1", "0 ground"} <= {*words}
    assert [text for text, _ in boxes_of_words(draw_graph(Graph([], n=0)))] == ["0 ground"]


def test_floating_bodies_are_refused():
    with pytest.raises(GraphError, match="no path to the external body"):
        draw_graph(Graph([(1, 2)]))


def test_arrows_run_as_the_arcs_do():
    """Arc 1 leaves the ground, arc 2 enters body 1; both lie in the tree, body 2 above body 1."""
    sheet = lay_out(Graph([(0, 1), (2, 1)]), NAMED, [""] * 3, {}, [])
    (first, second), (low, high) = sheet.lines, (body.box for body in sheet.bodies)
    assert first.points[0, 1] == 0
    assert first.points[-1, 1] == pytest.approx(low[1])
    assert second.points[0, 1] == pytest.approx(high[1])
    assert second.points[-1, 1] == pytest.approx(low[3])


def test_children_stand_where_chords_areshort():
    """Bodies 2 and 5 are joined over 3 and 4: they come to stand side by side."""
    graph = Graph([(0, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 5)])
    sheet = lay_out(graph, NAMED, [""] * 6, {}, [Chord(2, 5, "", "black")])
    order = sorted((2, 3, 4, 5), key=lambda k: sheet.bodies[k - 1].box[0])
    assert abs(order.index(2) - order.index(5)) == 1


@pytest.mark.parametrize("style", [NAMED, NUMBERED])
@pytest.mark.parametrize("seed", range(5))
def test_bodies_of_random_trees_lie_apart(style, seed):
    rng = np.random.default_rng(seed)
    graph = Graph.from_parents([int(rng.integers(max(0, body - 6), body)) for body in range(1, 60)])
    names = [f"body {k}" * (style is NAMED) for k in range(60)]
    bodies = [body.box for body in lay_out(graph, style, names, {}, []).bodies]
    assert all(apart(p, q) for p, q in itertools.combinations(bodies, 2))


@pytest.mark.long
def test_nothing_of_matplotlib_is_left_changed(tmp_path):
    settings = [key for key in matplotlib.rcParams if key != "backend"]  # looking at that one changes it
    before = [matplotlib.rcParams[key] for key in settings]
    draw_graph(four_bar(), tmp_path / "graph.svg")
    assert [matplotlib.rcParams[key] for key in settings] == before
    script = "import sys; from momentree.look.graph_picture import draw_graph; early = 'matplotlib' in sys.modules;"
    script += "from momentree.structure.graph import Graph; draw_graph(Graph([(0, 1)]));"
    script += "sys.exit(early or 'matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
