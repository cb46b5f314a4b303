"""The architecture: imports point backwards along the rooms, heavy libraries load when used, public names have docs."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import momentree

PACKAGE = Path(momentree.__file__).parent
ROOT = PACKAGE.parents[1]
# a room may use the rooms before it
ROOMS = ["spatial", "model", "files", "structure", "equations", "symbols", "compile", "integrate", "assembly"]
ROOMS += ["simulate", "results", "analyse", "look", "export"]
ORDER = [*ROOMS, "system", "programmes", "__init__", "cli", "__main__"]
FIRST = ("errors", "activity")  # these import nothing, and every room may use them
# where an early room reaches for a later one, inside a method: a model is saved and built by its own methods, a run is
# drawn and printed by its own, and shows a bar while it is computed; a notebook asks things for their own page
BRIDGES = {("model/model.py", "files"), ("model/model.py", "system")}
BRIDGES |= {("results/run.py", "look"), ("results/run.py", "__init__"), ("results/recorder.py", "look")}
BRIDGES |= {("results/recorder.py", "__init__"), ("analyse/compare.py", "look"), ("results/programme_run.py", "look")}
BRIDGES |= {("model/model.py", "look"), ("assembly/state.py", "look"), ("structure/graph.py", "look")}
BRIDGES |= {("results/run_views.py", "look"), ("analyse/mobility.py", "look")}
BRIDGES |= {("results/run_export.py", "look"), ("look/report.py", "__init__"), ("export/fmu_export.py", "__init__")}
BRIDGES |= {("analyse/studies/description.py", "__init__")}
# a run by a programme names the types of what it is a run by, and of what its certificate is
BRIDGES |= {("results/programme_run.py", "programmes"), ("results/programme_run.py", "analyse")}
# one of many motions as a run
BRIDGES |= {("simulate/motion_quantities.py", "results")}
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES, MOST_LINES_OF_A_FUNCTION = 500, 60
every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))


def room(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


class Facts(NamedTuple):
    """What tests ask about a file, which is parsed once.

    | field     | meaning                                                                                     |
    |-----------|---------------------------------------------------------------------------------------------|
    | imports   | the rooms that it imports, and whether only inside a function or for type checking           |
    | functions | how many lines each has, by name                                                            |
    | calls     | the names of what it calls                                                                  |
    | docstring | what it says about itself                                                                   |
    | lines     | how many there are                                                                          |
    """

    imports: set[tuple[str, bool]]
    functions: dict[str, int]
    calls: set[str]
    docstring: str
    lines: int


@cache
def facts(path: Path) -> Facts:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    lazy, functions, calls, rooms = set(), {}, set(), set()
    for node in ast.walk(tree):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if function:
            functions[node.name] = max(node.end_lineno - node.lineno + 1, functions.get(node.name, 0))
        if function or typing_only:
            lazy.update(id(inner) for inner in ast.walk(node) if isinstance(inner, (ast.Import, ast.ImportFrom)))
        if isinstance(node, ast.Call):
            calls.add(node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", ""))
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
        for name in names:  # a node comes after those that it is part of
            parts = name.split(".")
            if parts[0] == "momentree":
                rooms.add((parts[1] if len(parts) > 1 else "__init__", id(node) in lazy))
    return Facts(rooms, functions, calls, ast.get_docstring(tree) or "", len(text.splitlines()))


@every_module
def test_imports_point_only_backwards(path):
    here = room(path)
    if here in FIRST:
        assert not facts(path).imports
        return
    for other, lazy in facts(path).imports:
        if other in FIRST or other == here:
            continue
        allowed = ORDER.index(other) < ORDER.index(here)
        name = str(path.relative_to(PACKAGE))
        assert allowed or (lazy and ((name, other) in BRIDGES or other == "system")), f"{name} imports {other}"


def test_every_room_is_named_by_the_architecture():
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms == set(ROOMS)


def test_every_bridge_is_used():
    used = {(str(path.relative_to(PACKAGE)), other) for path in MODULES for other, lazy in facts(path).imports if lazy}
    assert used >= BRIDGES


@every_module
def test_files_and_functions_fit_on_a_screen(path):
    assert facts(path).lines <= MOST_LINES
    assert [name for name, lines in facts(path).functions.items() if lines > MOST_LINES_OF_A_FUNCTION] == []


def test_dir_lists_what_is_public_and_nothing_else():
    code = "import momentree, momentree.system; print(*dir(momentree))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert listed == dir(momentree) == sorted([*momentree.__all__, "__all__", "__doc__", "__version__"])
    assert {"load", "Event", "Model", "System", "Run", "compare"} <= {*listed}
    assert all(hasattr(momentree, name) for name in listed)
    assert not hasattr(momentree, "Hinge")


def test_every_page_that_the_sources_name_exists():
    named = [(path, page) for path in MODULES for page in re.findall(r"docs/[\w/-]+\.md", path.read_text("utf-8"))]
    assert len(named) > 10
    assert [(path.name, page) for path, page in named if not (ROOT / page).is_file()] == []


@pytest.mark.long
def test_a_wheel_has_types_gallery_and_docs(tmp_path):
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed: pip install hatchling")
    with zipfile.ZipFile(next(wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path)))) as file:
        names = {*file.namelist()}
    assert "momentree/py.typed" in names
    assert "momentree/docs/NOTATION.md" in names
    for folder, inside in (("examples", "gallery"), ("docs", "docs")):
        pages = [path.relative_to(ROOT / folder).as_posix() for path in (ROOT / folder).rglob("*.md")]
        assert [page for page in pages if f"momentree/{inside}/{page}" not in names] == []
    assert {f"momentree/{path.relative_to(PACKAGE).as_posix()}" for path in MODULES} <= names


def test_importing_momentree_loads_no_heavy_library():
    heavy = ["sympy", "scipy", "matplotlib", "typer", "rich", "xarray", "pandas", "h5netcdf", "h5py", "llvmlite"]
    heavy += ["trimesh", "viser"]
    code = f"import sys, momentree; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_loads_only_what_it_uses(tmp_path):
    model = ROOT / "examples" / "08_four_bar" / "model.toml"
    heavy = [
        "sympy",
        "scipy",
        "matplotlib",
        "rich",
        "xarray",
        "pandas",
        "h5netcdf",
        "h5py",
        "trimesh",
        "viser",
        "pydantic",
    ]
    looks = ["movie", "report", "html", "player", "viewer", "mechanism_drawing", "graph_picture", "run_picture"]
    files = ["mjcf_reader", "sdf_reader", "urdf_reader", "xacro_files", "mjcf_writer", "sdf_writer", "urdf_writer"]
    unused = [*heavy, *(f"momentree.look.{name}" for name in looks), *(f"momentree.files.{name}" for name in files)]
    unused += [
        "momentree.symbols",
        "momentree.analyse.programmes",
        "momentree.analyse.studies",
        "momentree.export.c_export",
    ]
    code = (
        "import sys\nfrom momentree.cli import main\n"
        f"sys.argv = ['momentree', 'run', {str(model)!r}, '--t-end', '0.001']\n"
        f"try: main()\nexcept SystemExit as end: assert not end.code\n"
        f"print([name for name in {unused} if name in sys.modules])"
    )
    assert {name for name in unused if name.startswith("momentree.")} <= {*_modules()}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def _modules():
    """The names of all modules and packages."""
    return [
        ".".join(("momentree", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        for path in MODULES
    ]


def test_every_public_name_is_documented():
    for name in momentree.__all__:
        thing = getattr(momentree, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    assert inspect.getdoc(getattr(thing, member)) or inspect.getdoc(value), f"{name}.{member}"


def test_the_names_of_the_interface_are_there():
    joints = "Revolute Prismatic Screw Cylindrical Universal Spherical Planar Free Fixed"
    promised = {
        momentree: f"Model Graph load load_run resume_run {joints} rod box sphere cylinder disc capsule polygon mesh",
        momentree.System: "structure nq nv mobility assemble branches position simulate coordinates velocities",
        momentree.Run: "t q v position energy closure_error reactions data plot save to_csv to_pandas report",
        momentree.Model: "body shape joint torque force spring contact constrain parameter build save cut split check",
    }
    for thing, names in ((thing, text.split()) for thing, text in promised.items()):
        assert [name for name in names if not hasattr(thing, name)] == []


@pytest.mark.parametrize("module", [m.name for m in pkgutil.walk_packages([str(PACKAGE)], "momentree.")])
@pytest.mark.repeats(10)
def test_docstring_examples_run(module):
    if module.endswith("__main__"):
        return
    result = doctest.testmod(importlib.import_module(module))
    assert result.failed == 0


@every_module
def test_the_first_line_of_a_file_says_what_it_holds(path):
    first, *_ = facts(path).docstring.splitlines() or [""]
    assert first.endswith((".", ":")), "a sentence, on one line"
    assert len(first.split()) >= 3


def test_user_text_is_never_run():
    forbidden = {"eval", "exec", "sympify", "parse_expr", "literal_eval", "__import__"}
    assert {str(path): facts(path).calls & forbidden for path in MODULES if facts(path).calls & forbidden} == {}


def test_the_readme_example_runs_and_prints_what_it_says(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```\n```\n(.*?)```", text, re.S)
    assert len(examples) == 2
    names: dict[str, object] = {}
    for code, printed in examples:
        exec(compile(code, "README.md", "exec"), names)  # our own text, not a user's
        assert capsys.readouterr().out.strip() == printed.strip()


def test_the_documented_model_file_is_a_model():
    text = (ROOT / "docs" / "model-file.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", text, re.S)
    assert len(blocks) >= 4
    import tomllib

    for block in blocks:
        tomllib.loads(block)


def test_the_commands_of_the_readme_are_those_of_the_makefile_and_of_ci():
    readme, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "Makefile"))
    for target in ("demo", "test"):
        assert f"`make {target}`" in readme
        assert re.search(rf"^{target}:", makefile, re.M)
    ci = [
        line
        for line in (ROOT / ".ci" / "run").read_text().splitlines()
        if line and not line.startswith(("#", "set", "cd"))
    ]
    assert ci == ["make test", "make test-long"]
