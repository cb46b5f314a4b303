"""Every broken model gives errors that name the culprit, its line and the way out, all at once and nothing else."""

import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
FOLDER = HERE / "bad_models"
EXAMPLES = HERE.parents[1] / "examples"
SHORTHAND = {
    "@FOUR_BAR@": (EXAMPLES / "08_four_bar" / "model.toml").read_text(encoding="utf-8").partition("\n\n")[2],
    "@LONG@": "1" + "+1" * 6000,
    "@DEEP@": "(" * 200 + "1" + ")" * 200,
    "@HUGE@": "1" + "0" * 400,
}


class BadModel(NamedTuple):
    """A broken model; `problems` are the line and the words of each, line 0 for what only assembly can find."""

    name: str
    text: str
    problems: list[tuple[int, list[str]]]


def bad_models(path):
    """The models of one file of the folder; its README says how they are written."""
    for section in re.split(r"^#### ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        name, _, text = section.partition("\n")
        for short, long in SHORTHAND.items():
            text = text.replace(short, long)
        expected = []
        for i, line in enumerate(text.split("\n"), 1):
            _, *assembly = line.split("#~ ")
            _, *here = line.split("#! ")
            expected += [(0, words) for words in assembly] + [(i, words) for words in here]
        yield BadModel(f"{path.stem}: {name}", text, [(i, words.strip().split(" | ")) for i, words in expected])


BAD_MODELS = [model for path in sorted(FOLDER.glob("*.toml")) for model in bad_models(path)]
