"""Names of a model do no harm in whatever is written of it: pages, pictures, tables, LaTeX, CSV, NetCDF, TOML, C.

A new writer of text gets a line here: a function of the model, system, state or run that gives its text.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import zipfile
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

import momentree as mt
from momentree.look.graph_picture import draw_graph
from momentree.look.graph_tables import graph_report
from momentree.look.run_tables import run_data
from momentree.look.tables import structure_data, structure_report
from momentree.look.viewer import run_page
from momentree.results.programme_run import load_programme_run

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</svg></text>&lt;&#60;&amp;]]>-->",
    r"$\input{/etc/passwd}$\end{document}",
    "100% of #1 & {that} ~^_",
    "=1+1",
    "@SUM(A1:A9)",
    "+cmd|' /C calc'!A0",
    '=HYPERLINK("http://x.y/","a")',
    '*/ system("x"); /*',
    "javascript:alert(1)",
    "שלום, עולם",
    "日本語 🙂",
    "%s {0} ${HOME} `".rstrip("` "),
    "../../etc/passwd",
    "long " * 2000,
]
REFUSED = ["two\nlines", "two\r\nlines", "a\tb", "nul\0", "right\u202eto left", "\x1b[31mred", "line\u2028end", "a`b"]


@dataclass
class Written:
    """A model of which everything has a hostile name, and what is made of it."""

    model: mt.Model
    system: mt.System
    state: mt.State
    run: mt.Run
    programme_run: mt.ProgrammeRun


def hostile_model() -> mt.Model:
    """A four-bar and a slider of each other name, with torques, a coupling and a constraint."""
    names = iter(HOSTILE)
    m = mt.Model(HOSTILE[0])
    crank, coupler, rocker = (
        m.body(name, mt.rod(mass=1.0, length=l)) for name, l in zip(names, (1, 2, 2), strict=False)
    )
    A, B, D, C = HOSTILE[:4]
    m.joint(A, mt.Revolute("y"), m.ground, crank)
    m.joint(B, mt.Revolute("y"), crank.at((1, 0, 0)), coupler)
    m.joint(D, mt.Revolute("y"), m.ground.at((2.5, 0, 0)), rocker)
    m.joint(C, mt.Revolute("y"), coupler.at((2, 0, 0)), rocker.at((2, 0, 0)))
    for name in HOSTILE[4:]:
        m.joint(name, mt.Prismatic("x"), m.ground, m.body(name, mt.sphere(mass=1.0, radius=0.1)))
        m.torque(name, "0.1*sin(t)")
    m.couple(HOSTILE[5], HOSTILE[6], ratio=2.0, name=f"{HOSTILE[1]} 2")
    m.constrain(f"`{HOSTILE[7]}` = `{HOSTILE[8]}`", name=f"{HOSTILE[0]} 2")
    return m


@pytest.fixture(scope="module")
def written() -> Written:
    m = hostile_model()
    system = m.build()
    state = system.assemble({HOSTILE[0]: 1.0}, velocities={HOSTILE[4]: 1.0})
    run = system.simulate(state, 0.02, every=0.01, events=dict.fromkeys(HOSTILE, "t - 0.01"))
    assert run.end.reason == "arrived"
    names = tuple(HOSTILE)
    columns = {name: run.q[:, : len(names)] for name in ("q", "qd", "u", "constraint_error")}
    texts = names[: columns["q"].shape[1]]
    programme_run = mt.ProgrammeRun(names[0], texts, texts, run.t, **columns, size=run.t, stopped=names[1])
    return Written(m, system, state, run, programme_run)


def shown(name: str) -> str:
    """As far as a long name is shown."""
    return name if len(name) < 500 else name[:40]


# --- pages and pictures ---

TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "img", "br", "bdi", "iframe"}
ATTRIBUTES = {"class", "style", "colspan", "alt", "src", "title", "sandbox", "loading", "srcdoc"}
# of a page in a file
TAGS_OF_A_FILE = {"html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "footer", "a"}
TAGS_OF_A_FILE |= {"h1", "h2", "dl", "dt", "dd", "ul", "li", "figure", "figcaption", "details", "summary", "pre"}
ATTRIBUTES_OF_A_FILE = {"id", "href", "lang", "charset", "name", "content", "http-equiv"}


class Page(HTMLParser):
    """Texts, pictures and frames of a page; anything but tags and attributes of ours is refused."""

    tags, attributes, kinds = TAGS, ATTRIBUTES, ("data:image/svg+xml;base64",)

    def __init__(self, page: str):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.pictures, self.frames = list[str](), list[str](), list[bytes](), list[str]()
        self.feed(page)
        self.close()
        assert self.open == [], "every tag is closed"

    def handle_starttag(self, tag, attributes):
        assert tag in self.tags
        for name, value in attributes:
            assert name in self.attributes
            if name == "href":
                assert re.fullmatch(r"#s\d+", value)
            if name == "srcdoc":
                assert dict(attributes)["sandbox"] == "allow-scripts"
                self.frames.append(value)
            if name == "src":
                kind, content = value.split(",")
                assert kind in self.kinds
                found = base64.b64decode(content, validate=True)
                self.pictures += [found] if "svg" in kind else []
        if tag not in ("img", "br", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def unexpected(self, *what):
        raise AssertionError(what)

    handle_comment = handle_decl = handle_pi = unknown_decl = unexpected


class FilePage(Page):
    """The same of a page in a file, where a picture of very many lines is made of pixels."""

    tags, attributes = TAGS | TAGS_OF_A_FILE, ATTRIBUTES | ATTRIBUTES_OF_A_FILE
    kinds = ("data:image/svg+xml;base64", "data:image/png;base64")

    def handle_decl(self, declaration):
        assert declaration == "doctype html"


def check_player(page: str) -> None:
    """Of names, the page of a player has the model's in its title, and no other script or tag than that of any run."""
    m = mt.Model("plain")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
    system = m.build()
    plain = run_page(system.simulate(system.start(), t_end=0.1, every=0.05))
    embedded = re.compile(r'__VISER_EMBED_DATA__="[A-Za-z0-9+/=]*"')
    assert len(embedded.findall(page)) == 1
    without = [embedded.sub("", re.sub("<title>[^<>]*</title>", "", text)) for text in (page, plain)]
    assert without[0] == without[1]


def check_svg(content: bytes) -> str:
    """All text of a picture in which nothing can be run, and that asks for nothing from elsewhere."""
    root = ElementTree.fromstring(content)
    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        assert tag.lower() not in ("script", "foreignobject", "iframe", "a", "image", "animate", "set")
        for name, value in element.attrib.items():
            local = name.rpartition("}")[2].lower()
            assert not local.startswith("on")
            assert local != "href" or value.startswith("#")
            assert not re.search(r"url\((?!#)|javascript:", value) or local == "resource"
    return " ".join(text for text in root.itertext())


PAGES = {
    "model": lambda w: w.model,
    "system": lambda w: w.system,
    "state": lambda w: w.state,
    "run": lambda w: w.run,
    "graph": lambda w: w.system.structure.graph,
    "coordinates": lambda w: w.system.coordinates,
    "velocities": lambda w: w.system.velocities,
    "programme run": lambda w: w.programme_run,
}


@pytest.mark.parametrize("what", [*list(PAGES)[:-1], pytest.param("programme run", marks=pytest.mark.long)])
@pytest.mark.repeats(2)
def test_pages_have_no_tag_or_attribute_from_a_name(written, what):
    page = Page(PAGES[what](written)._repr_html_())
    text = "".join(page.texts)
    if what in ("system", "state", "coordinates", "velocities"):
        names = HOSTILE if what in ("system", "state") else [*HOSTILE[:3], *HOSTILE[4:]]  # the fourth closes the loop
        assert [name for name in names if shown(name) not in text] == [], "names are shown as they are"
    for picture in page.pictures:
        check_svg(picture)
    assert len(page.pictures) == (what in ("model", "run", "graph", "programme run"))
    assert len(page.frames) == (what == "run")


@pytest.mark.long
@pytest.mark.filterwarnings("error")
def test_reports_have_no_tag_or_attribute_from_a_name(written, tmp_path):
    """The page, the player in it, and its pictures, those of system.draw and run.draw among them."""
    written.run.report(tmp_path / "out.html", title=HOSTILE[1])
    page = FilePage((tmp_path / "out.html").read_text(encoding="utf-8"))
    text = "".join(page.texts)
    assert [name for name in HOSTILE if shown(name) not in text] == [], "names are shown as they are"
    assert "cannot be drawn" not in text
    assert len(page.pictures) >= 6
    for picture in page.pictures:
        check_svg(picture)
    (frame,) = page.frames
    check_player(frame)


@pytest.mark.long
def test_reports_of_programmes_have_no_tag_or_attribute_from_a_name(written, tmp_path):
    written.programme_run.report(tmp_path / "out.html", title=HOSTILE[1])
    page = FilePage((tmp_path / "out.html").read_text(encoding="utf-8"))
    assert [name for name in written.programme_run.constraints if shown(name) not in "".join(page.texts)] == []
    for picture in page.pictures:
        check_svg(picture)


@pytest.mark.long
def test_saved_pages_have_no_tag_or_script_from_a_name(written, tmp_path):
    written.run.look(save=tmp_path / "run.html")
    check_player((tmp_path / "run.html").read_text(encoding="utf-8"))


def test_a_model_that_cannot_be_built_shows_its_problems():
    m = mt.Model(HOSTILE[0])
    for name in (*HOSTILE, *REFUSED):
        m.joint(name, mt.Revolute("y"), m.ground, name)
    page = Page(m._repr_html_())
    assert f"there is no body '{HOSTILE[0]}'" in "".join(page.texts)
    assert all(c.isprintable() for text in page.texts for c in text)


PICTURES = {
    "run.plot": lambda w, path: w.run.plot(path),
    "run.plot of joints": lambda w, path: w.run.plot(path, joints=HOSTILE[4:]),
    "draw_graph": lambda w, path: draw_graph(w.system.structure, path),
    "programme": lambda w, path: w.programme_run.plot(path),
    "system.draw": lambda w, path: w.system.draw(path, w.state),
    "run.draw": lambda w, path: w.run.draw(path),
}


@pytest.mark.long
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("what", PICTURES)
def test_pictures_have_no_element_from_a_name(written, tmp_path, what):
    """As files; those in the pages above are the same."""
    PICTURES[what](written, tmp_path / "picture.svg")
    text = check_svg((tmp_path / "picture.svg").read_bytes())
    assert HOSTILE[0][:7] in text


# --- tables of text ---

TEXTS = {
    "print(system)": lambda w: str(w.system),
    "print(state)": lambda w: str(w.state),
    "print(run)": lambda w: str(w.run),
    "structure": lambda w: structure_report(w.system.structure, w.system.mobility_report),
    "graph": lambda w: graph_report(w.system.structure.named_graph(force_arcs=True)),
    "coordinates": lambda w: str(w.system.coordinates),
    "programme run": lambda w: str(w.programme_run),
    "repr": lambda w: f"{w.model!r} {w.system!r} {w.state!r} {w.run!r}",
    "equations": lambda w: str(equations()),
}


@pytest.mark.parametrize("what", TEXTS)
def test_tables_of_text_have_only_printable_characters(written, what):
    text = TEXTS[what](written)
    assert all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.parametrize("name", REFUSED, ids=ascii)
def test_names_that_no_line_of_text_can_show_are_refused(name):
    for build in (
        lambda m: m.body(name, mt.rod(mass=1.0, length=1.0)),
        lambda m: m.joint(name, mt.Revolute("y"), m.ground, m.body("b", mt.rod(mass=1.0, length=1.0))),
        lambda m: m.constrain("t = t", name=name),
    ):
        m = mt.Model("m")
        build(m)
        problems = [str(problem) for problem in m.check()]
        assert any("printable" in text for text in problems)
        assert all(c.isprintable() for text in problems for c in text)


def test_json_has_the_names_as_they_are(written):
    w = written
    data = json.loads(json.dumps([structure_data(w.system.structure, w.system.mobility_report), run_data(w.run)]))
    assert {body["name"] for body in data[0]["bodies"]} >= {*HOSTILE[4:]}


# --- files ---


def check_csv(path) -> list[str]:
    """The names of columns; no cell of text begins a formula, and all lines are equally long."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file, strict=True)
    assert {len(line) for line in lines} == {len(header)}
    assert not any(name.startswith(("=", "+", "-", "@", "\t", "\r")) for name in header)
    for line in lines:
        for cell in line:
            float(cell)
    return header


def test_csv_has_no_formulas_and_no_broken_lines(written, tmp_path):
    path = tmp_path / "run.csv"
    written.run.to_csv(path)
    header = check_csv(path)
    assert "`=1+1` [m]" in header
    written.programme_run.to_csv(path)
    assert "'=1+1" in check_csv(path)
    assert "`=1+1`" in written.run.to_pandas().columns


def test_netcdf_gives_the_names_back(written, tmp_path):
    written.run.save(tmp_path / "run.nc")
    again = mt.load_run(tmp_path / "run.nc")
    assert again.mechanism.name == HOSTILE[0]
    assert {*again.mechanism.by_joint} == {*HOSTILE}
    assert [*again.energy.work] == [*written.run.energy.work]
    written.programme_run.save(tmp_path / "programme.nc")
    assert load_programme_run(tmp_path / "programme.nc").coordinates == written.programme_run.coordinates


def test_toml_gives_the_model_back(written, tmp_path):
    written.model.save(tmp_path / "model.toml")
    assert mt.load(tmp_path / "model.toml") == written.model


@cache
def equations():
    """Of a pendulum of each name."""
    m = mt.Model(HOSTILE[4])
    for name in HOSTILE:
        m.joint(name, mt.Revolute("y"), m.ground, m.body(name, mt.rod(mass=1.0, length=1.0)))
    return m.build().equations()


def test_latex_has_no_command_from_a_name(tmp_path):
    equations().latex(tmp_path / "equations.tex")
    document = (tmp_path / "equations.tex").read_text(encoding="utf-8")
    for text in (document, equations()._repr_latex_()):
        plain = re.sub(r"\\[\\#$%&_{}~^]", "", text)  # what is escaped
        assert plain.count("{") == plain.count("}")
        commands = {*re.findall(r"\\([A-Za-z]+)", plain)}
        assert not commands & {"input", "include", "write", "def", "openin", "catcode", "immediate"}
        assert "%" not in plain
        assert "#" not in plain
    assert document.count(r"\end{document}") == 1
    assert "$" not in re.sub(r"\\[\\#$%&_{}~^]", "", equations()._repr_latex_())


def test_c_has_names_only_in_comments(written, tmp_path):
    written.system.export_c(tmp_path / "code.c", "bias")
    for file in ("code.c", "code.h"):
        text = (tmp_path / file).read_text(encoding="utf-8")
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        assert code.isascii()
        assert not re.search(r"system|script|passwd|HYPERLINK|\*/", code)


def test_an_fmu_has_names_only_as_texts_of_its_description(written, tmp_path):
    written.system.export_fmu(tmp_path / "it.fmu", start=written.state, binary="none")
    with zipfile.ZipFile(tmp_path / "it.fmu") as archive:
        assert all(re.fullmatch(r"[\w/]+\.(xml|c|h)", name, re.ASCII) for name in archive.namelist())
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
    root = ElementTree.fromstring(texts.pop("modelDescription.xml"))
    assert root.get("modelName") == HOSTILE[0]
    names = [variable.get("name") for variable in root.iter("Float64")]
    assert len(names) == len({*names})
    assert {f"{body.name}.position.x" for body in written.model.bodies} <= {*names}
    for text in texts.values():
        code = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        assert code.isascii()
        assert not re.search(r"passwd|HYPERLINK|\*/", code)


def test_no_text_of_a_cell_is_lost_by_csv():
    """What was done to the names is undone by dropping an apostrophe."""
    from momentree.files.csv_text import csv_text

    (header, _) = csv.reader(io.StringIO(csv_text(HOSTILE, [[0.0] * len(HOSTILE)])))
    assert [cell.removeprefix("'") for cell in header] == [name.removeprefix("'") for name in HOSTILE]
