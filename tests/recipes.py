"""The recipes of docs/EXTENDING.md, carried out in a copy of the source: the files they touch, and their commands.

A section of the page is a recipe. Its fenced blocks are
- `python file=PATH`: a new file with this text, of the source or a new test;
- `diff file=PATH`: an edit; the lines that begin with a space or a minus stand in the file once, and become those that
  begin with a space or a plus;
- `console`: commands after `$ `, run at the root of the repository with the copy in front of the installed package.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "EXTENDING.md"


@dataclass
class Recipe:
    """A section of the page: new files, edits and commands, in the order of the page."""

    title: str
    files: dict[str, str] = field(default_factory=dict)
    edits: list[tuple[str, str]] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)

    @property
    def touched(self) -> list[str]:
        """The files of the source that the recipe makes or changes."""
        paths = dict.fromkeys([*self.files, *(path for path, _ in self.edits)])
        return [path for path in paths if path.startswith("src/")]

    @property
    def lines(self) -> int:
        """How many lines of source it adds."""
        added = sum(line.startswith("+") for _, hunk in self.edits for line in hunk.splitlines())
        return added + sum(len(text.splitlines()) for path, text in self.files.items() if path.startswith("src/"))

    def carry_out(self, folder: Path) -> None:
        """Make a copy of the source in an empty folder, with the recipe carried out."""
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for path, text in self.files.items():
            assert not (folder / path).exists(), f"{path} is there already"
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        for path, hunk in self.edits:
            edited = apply((folder / path).read_text(encoding="utf-8"), hunk, path)
            (folder / path).write_text(edited, encoding="utf-8")

    def run(self, folder: Path) -> list[str]:
        """The output of each command; one that fails is an error."""
        outputs = []
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "src"), str(ROOT / "tests")])}
        for command in self.commands:
            words = shlex.split(command)
            words = [str(folder / word) if word in self.files else word for word in words]
            words = [sys.executable if word == "python" else word for word in words]
            done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, f"$ {command}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
            outputs.append(done.stdout)
        return outputs


def recipes() -> list[Recipe]:
    """All sections of the page that have commands."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.M)[1:]:
        recipe = Recipe(section.splitlines()[0])
        for info, body in re.findall(r"^```(\w+[^\n]*)\n(.*?)^```", section, flags=re.M | re.S):
            language, _, path = info.partition(" file=")
            if language == "python" and path:
                recipe.files[path] = body
            elif language == "diff":
                recipe.edits.append((path, body))
            elif language == "console":
                recipe.commands += [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        if recipe.commands:
            found.append(recipe)
    return found


def apply(text: str, hunk: str, path: str) -> str:
    """A file with an edit made, where its old lines stand in the file exactly once."""
    lines = hunk.splitlines()
    old = "\n".join(line[1:] for line in lines if not line.startswith("+")) + "\n"
    new = "\n".join(line[1:] for line in lines if not line.startswith("-")) + "\n"
    assert text.count(old) == 1, f"{path} has these lines {text.count(old)} times, not once:\n{old}"
    return text.replace(old, new)


def main() -> None:
    """Carry out every recipe and print what it touches: python tests/recipes.py."""
    import tempfile

    for recipe in recipes():
        with tempfile.TemporaryDirectory() as folder:
            recipe.carry_out(Path(folder))
            recipe.run(Path(folder))
        files = ", ".join(recipe.touched)
        print(f"{recipe.title}: {len(recipe.touched)} files ({files}), {recipe.lines} lines, no test edited")


if __name__ == "__main__":
    main()
