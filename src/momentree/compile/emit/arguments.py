"""The arguments of an emitted function: which inputs of a tape stand in which argument, checked for every backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from momentree.compile.trace.tape import Node
from momentree.errors import MomentreeError, suggestion

Arrays = Sequence[tuple[str, Sequence[str]]]  # names of the arguments, and of the inputs or parameters in their columns


def check_arguments(
    nodes: Sequence[Node], live: Sequence[int], arrays: Arrays, own: Callable[[str, set[str]], str | None] | None = None
) -> dict[str, tuple[int, int]]:
    """The argument and the column of each input, after a check that all arguments fit the tape.

    `own` is what a backend has against an argument, from its name and the kinds of inputs in it.
    """
    kinds = {node[1]: node[0] for node in nodes if node[0] in ("input", "parameter")}
    needed = [nodes[index][1] for index in live if nodes[index][0] in ("input", "parameter")]
    names = [argument for argument, _ in arrays]
    problems = [f"argument '{name}' appears twice. Give each its own name." for name in _repeated(names)]
    columns: dict[str, tuple[int, int]] = {}
    for k, (argument, inputs) in enumerate(arrays):
        for column, name in enumerate(inputs):
            if name not in kinds:
                problems.append(f"argument '{argument}': the tape has no input '{name}'.{suggestion(name, kinds)}")
            elif name in columns:
                problems.append(f"argument '{argument}': '{name}' appears in two columns. Remove one of them.")
            columns.setdefault(name, (k, column))
        objection = own(argument, {kinds[name] for name in inputs if name in kinds}) if own else None
        problems += [f"argument '{argument}'{objection}"] if objection else []
    missing = [name for name in needed if name not in columns]
    problems += [f"{kinds[name]} '{name}' is in no argument, but the outputs need it." for name in missing]
    if problems:
        raise MomentreeError("\n".join(problems))
    return columns


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]
