"""tests/unit mirrors src/momentree: who looks for the tests of a file finds them, or where else it is proved."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

import momentree

PACKAGE = Path(momentree.__file__).parent
TESTS = Path(__file__).parents[1]
UNIT = TESTS / "unit"
MODULES = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")) if not path.name.startswith("__")]
MIRRORS = [path.relative_to(UNIT) for path in sorted(UNIT.rglob("test_*.py"))]

# files without a test of their own: where they are proved, and why there
ELSEWHERE = {
    "equations/*": ("agree", "laws"),  # formalisms are proved by each other, by laws of mechanics and by peers
    "compile/trace/*": ("agree", "unit/compile/emit"),  # what is traced is proved by the code that is emitted from it
    "compile/emit/*": ("agree", "unit/compile"),  # rolled code against straight-line code, against floats
    "compile/execute/*": ("contract/test_calls.py", "unit/compile/execute"),  # whatever a function is called with
    "integrate/*": ("unit/integrate",),  # parts of integrators, by the order of the whole
    "assembly/*": ("unit/assembly", "agree/test_loops.py", "laws/test_closure.py"),  # parts of assemble and branches
    "simulate/*": ("unit/simulate", "agree/test_motions.py"),  # parts of a simulation
    "results/*": ("unit/results", "contract/test_kill.py"),  # parts of recorded runs and of their files
    "structure/*": ("unit/structure", "agree/test_loop_solve.py"),  # parts of the frozen mechanism
    "symbols/*": ("unit/symbols", "agree/test_energy_form.py"),  # equations against numbers, term by term
    "model/*": ("unit/model", "contract/test_bad_models.py"),  # every mistake of a model, with its message
    "look/*": ("unit/look", "unit/test_cli.py", "gallery"),  # tables and pages as they are printed
    "spatial/*": ("unit/spatial",),  # vectors with rotations, motions with transforms
    "export/*": ("unit/export",),  # files as other programs read them
    "analyse/*": ("unit/analyse", "textbook"),  # what books say of their linkages
    "files/*": ("unit/files", "contract/test_bad_models.py"),  # every mistake of a file, with its line
    "system.py": ("agree", "laws", "textbook"),  # the front door: every other test comes through it
}


def names_of(folder: Path) -> set[str]:
    """The modules and packages of a room."""
    return {path.stem for path in folder.glob("*.py")} | {path.name for path in folder.iterdir() if path.is_dir()}


@pytest.mark.parametrize("path", MIRRORS, ids=str)
def test_unit_tests_are_those_of_a_file_of_src(path):
    """test_NAME.py or test_NAME_ASPECT.py in the room of NAME; NAME may be the room, or have become NAME_PART.py."""
    room, subject = PACKAGE / path.parent, path.stem.removeprefix("test_")
    assert room.is_dir(), f"there is no room {path.parent}"
    names = names_of(room) | {room.name}
    assert any(f"{subject}_".startswith(f"{name}_") or name.startswith(f"{subject}_") for name in names)


@pytest.mark.parametrize("path", MODULES, ids=str)
def test_files_of_src_have_tests_of_their_own_or_are_proved_elsewhere(path):
    own = [mirror for mirror in (UNIT / path.parent).glob("test_*.py") if mirror.stem.startswith(f"test_{path.stem}")]
    proofs = [place for pattern, places in ELSEWHERE.items() if fnmatch(str(path), pattern) for place in places]
    assert own or proofs
    assert all((TESTS / place).exists() for place in proofs)
