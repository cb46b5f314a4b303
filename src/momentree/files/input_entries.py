"""Inputs and outputs in model files: [[input]] has its default, which the model keeps with its parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol

from momentree.model import Model
from momentree.model.inputs import Input, default_of
from momentree.model.values import plain

NO_DEFAULT = 0.0


class Reader(Protocol):
    """What reads the entries of a file, as far as it is needed here."""

    aliases: dict[tuple[str | int, ...], tuple[str | int, ...]]
    broken: set[tuple[str | int, ...]]

    def keys(self, entry: Mapping[str, Any], known: Any, where: str, *path: str | int) -> dict[str, Any]: ...

    def name(self, entry: Mapping[str, Any], kind: str, where: str, *path: str | int) -> str: ...


def parameters_out(model: Model) -> dict[str, Any]:
    """The parameters that are no inputs."""
    inputs = {said.name for said in model.inputs}
    return {name: value for name, value in model.parameters if name not in inputs}


def inputs_out(model: Model) -> list[dict[str, Any]]:
    """The entries [[input]]."""
    entries = []
    for said in model.inputs:
        entry: dict[str, Any] = {"name": said.name}
        default = default_of(model, said.name)
        if default != NO_DEFAULT or type(default) is not float:
            entry["default"] = default
        entries.append({**entry, **{key: getattr(said, key) for key in ("unit", "description") if getattr(said, key)}})
    return entries


def read_input(reader: Reader, model: Model, entry: Mapping[str, Any], where: str, *path: str | int) -> Input:
    """An input, and its default among the parameters of the model."""
    fields = [field.name for field in dataclasses.fields(Input)]
    entry = reader.keys(entry, (*fields, "default"), where, *path)
    name = reader.name(entry, "parameters", where, *path)
    model.parameters.append((name, plain(entry.get("default", NO_DEFAULT))))
    reader.aliases[("parameters", name)] = (*path, "default" if "default" in entry else "name")
    if not name:  # which is a problem already
        reader.broken.add(("parameters", name))
    return Input(name, entry.get("unit", ""), entry.get("description", ""))
