"""The [study] table of a file: of a model file itself, or of a study file beside it, which names the model.

    model = "model.toml"              # of a study file; a model file has its own model

    [study]
    design = "latin_hypercube"        # or grid (default), points, random
    motions = 1000                    # of a design that is drawn; and its seed
    seed = 1
    every = 0.01                      # s; t_end and all other settings of a simulation
    path = "results.zarr"

    [study.over]
    a = { normal = [1.0, 0.01] }      # or [low, high] of a design that is drawn; of others a list of values,
    b = { from = 1, to = 2, count = 5 } # or evenly spaced ones, or with spacing = "log" in equal ratios

    [study.outputs]
    peak = "max(C.force)"             # or { of = "max(C.force)", units = "N", long_name = "peak force at C" }

[study.given], [study.velocities], [study.guess], [study.parameters] and [study.events] are those of `momentree.study`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from momentree.analyse.studies.designs import Design, Normal, Uniform, grid, latin_hypercube, points, random
from momentree.errors import MomentreeError, all_choices, suggestion
from momentree.files import load
from momentree.files.model_bytes import printed_name
from momentree.files.toml_reader import Document, read_document
from momentree.model import Model
from momentree.model.expressions.expression import parse
from momentree.simulate.settings import Settings

DESIGNS: Mapping[str, Callable[..., Design]] = {
    "grid": grid,
    "points": points,
    "random": random,
    "latin_hypercube": latin_hypercube,
}
DRAWN = ("random", "latin_hypercube")
SPACINGS = ("linear", "log")
TABLES = ("given", "velocities", "guess", "parameters", "events")
SETTINGS = tuple(field.name for field in dataclasses.fields(Settings))
KEYS = ("over", "outputs", "design", "motions", "seed", "path", "chunk", "together", *TABLES, *SETTINGS)


def read_study(
    path: str | os.PathLike[str], how_to_load: Mapping[str, Any] | None = None
) -> tuple[Model, dict[str, Any]]:
    """The model, and the arguments of `momentree.study`, in a file; an error with its line where something is wrong."""
    document = read_document(path)
    return _StudyReader(document, Path(path)).read(how_to_load or {})


class _StudyReader:
    """Reads one file."""

    def __init__(self, document: Document, path: Path):
        self.document, self.path, self.name = document, path, printed_name(os.fsdecode(path))

    def read(self, how_to_load: Mapping[str, Any]) -> tuple[Model, dict[str, Any]]:
        data = self.document.data
        beside = data.get("model")
        if "study" not in data:
            self.refuse("there is no [study] in it. docs/studies.md shows one.")
        if beside is None:
            model = load(self.path, **how_to_load)
        else:
            self.check_keys(data, ("model", "study"), "a study file", ())
            if not isinstance(beside, str) or not beside:
                self.refuse('model is the name of a model file: model = "model.toml".', "model")
            model = load(self.path.parent / beside, **how_to_load)
        return model, self.arguments(self.table(data, "study"))

    def arguments(self, table: dict[str, Any]) -> dict[str, Any]:
        self.check_keys(table, KEYS, "[study]", ("study",))
        found: dict[str, Any] = {"over": self.design(table)}
        outputs = self.table(table, "outputs", "study")
        found["outputs"] = {name: self.output(name, given) for name, given in outputs.items()}
        found |= {key: self.table(table, key, "study") for key in TABLES if key in table}
        found |= {key: table[key] for key in ("chunk", "together", *SETTINGS) if key in table}
        if "path" in table:
            if not isinstance(table["path"], str) or not table["path"]:
                self.refuse("path is the name of a folder for the results.", "study", "path")
            found["path"] = self.path.parent / table["path"]
        return found

    def design(self, table: dict[str, Any]) -> Design:
        kind = table.get("design", "grid")
        if not isinstance(kind, str) or kind not in DESIGNS:
            self.refuse(f"there is no design {kind!r}.{all_choices(str(kind), [*DESIGNS])}", "study", "design")
        given = {name: self.values(name, raw) for name, raw in self.table(table, "over", "study").items()}
        how: dict[str, Any] = {}
        first: list[Any] = []
        for key in ("motions", "seed"):
            if key in table and kind not in DRAWN:
                self.refuse(f"{key} belongs to a design that is drawn: random or latin_hypercube.", "study", key)
        if kind in DRAWN:
            if "motions" not in table:
                self.refuse(f"a {kind} design needs motions, their number.", "study", "design")
            first, how = [table["motions"]], {"seed": table.get("seed", 0)}
        try:
            return DESIGNS[kind](*first, given, **how)
        except MomentreeError as error:
            self.refuse(str(error), "study", "over")

    def values(self, name: str, raw: Any) -> Any:
        """Numbers, evenly spaced numbers, or a distribution."""
        where = ("study", "over", name)
        if not isinstance(raw, dict):
            return [self.number(one, *where) for one in raw] if isinstance(raw, list) else self.number(raw, *where)
        try:
            if {"from", "to", "count"} <= {*raw} <= {"from", "to", "count", "spacing"}:
                return self.spaced(raw, *where)
            if "normal" in raw and {*raw} <= {"normal", "low", "high"}:
                limits = {key: self.number(raw[key], *where) for key in ("low", "high") if key in raw}
                return Normal(*self.pair(raw["normal"], *where), **limits)
            if {*raw} == {"uniform"}:
                return Uniform(*self.pair(raw["uniform"], *where))
        except MomentreeError as error:
            self.refuse(str(error).removeprefix(f"{self._at(where)}: "), *where)
        example = "{ from = 1, to = 2, count = 5 }, { normal = [1, 0.01] } or { uniform = [1, 2] }"
        self.refuse(f"'{name}' is none of {example}.", *where)

    def spaced(self, raw: dict[str, Any], *where: str) -> Any:
        """Numbers at equal distances, or in equal ratios."""
        count, spacing = raw["count"], raw.get("spacing", "linear")
        begin, end = self.number(raw["from"], *where), self.number(raw["to"], *where)
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            self.refuse("count is a whole number of at least 1.", *where)
        if spacing not in SPACINGS:
            self.refuse(f"there is no spacing {spacing!r}.{all_choices(str(spacing), SPACINGS)}", *where)
        if spacing == "log" and not (begin > 0 and end > 0):
            self.refuse("logarithmic spacing is one of positive numbers.", *where)
        return np.geomspace(begin, end, count) if spacing == "log" else np.linspace(begin, end, count)

    def pair(self, raw: Any, *where: str) -> tuple[float, float]:
        if not isinstance(raw, list) or len(raw) != 2:
            self.refuse("a distribution has two numbers, in a list.", *where)
        return self.number(raw[0], *where), self.number(raw[1], *where)

    def number(self, raw: Any, *where: str) -> float:
        """A number, or an expression of numbers: "30*deg"."""
        if isinstance(raw, str):
            value = parse(raw).value
            if value is None:
                self.refuse(f"'{raw}' is not a number.", *where)
            return float(value)
        if isinstance(raw, bool) or not isinstance(raw, (int, float)):
            self.refuse(f"{raw!r} is not a number.", *where)
        return float(raw)

    def output(self, name: str, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        self.check_keys(given, ("of", "units", "long_name"), f"output '{name}'", ("study", "outputs", name))
        if "of" not in given:
            self.refuse(
                'an output is a text, or a table with one: { of = "max(A)", units = "rad" }.', "study", "outputs", name
            )
        return given["of"], {key: value for key, value in given.items() if key != "of"}

    # --- what is wrong ---

    def table(self, within: Mapping[str, Any], key: str, *where: str) -> dict[str, Any]:
        found = within.get(key, {})
        if not isinstance(found, dict):
            self.refuse(f"{key} is a table.", *where, key)
        return dict(found)

    def check_keys(self, table: Mapping[str, Any], known: tuple[str, ...], what: str, where: tuple[str, ...]) -> None:
        for key in table:
            if key not in known:
                self.refuse(f"{what} has no '{key}'.{suggestion(key, known)}", *where, key)

    def refuse(self, message: str, *where: str) -> NoReturn:
        raise MomentreeError(f"{self._at(where)}: {message}")

    def _at(self, where: tuple[str, ...]) -> str:
        line = self.document.line(where) if where else None
        return f"{self.name}:{line}" if line else self.name
