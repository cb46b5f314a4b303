"""Outputs of a study: what is kept of each motion, an expression of columns and reductions, or a function of its run.

    "max(C.force)"      "last(hull.y)/last(t)"      "rms(A' - mean(A'))"      "crossing(A - pi)"

The grammar is that of expressions in models (model/expressions/grammar.py), and reductions.py lists the functions over
time. Texts are parsed, never evaluated by Python.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from momentree.analyse.studies.function_identity import Unknown, function_identity
from momentree.analyse.studies.reductions import REDUCTIONS, SAMPLES, Reduction
from momentree.analyse.studies.sample_columns import ColumnOf, known_columns, parameter_values
from momentree.errors import ExpressionError, MomentreeError, suggestion
from momentree.model.expressions.expression import Expression, Reference, parse
from momentree.model.expressions.functions import OPERATORS
from momentree.model.expressions.lookup import Lookup
from momentree.model.values import TIME
from momentree.results.run_inputs import output_laws
from momentree.spatial.scalar import FUNCTIONS

if TYPE_CHECKING:
    from momentree.results.run import Run
    from momentree.system import System

Array = NDArray[np.float64]
IDENTITY = "identity"  # the attribute by which a user says what a function is
RESERVED = ("reason", "status", "motion", "time")  # names of the variables of every study
KEEPS_UNIT = ("+", "-", "negate", "abs", "min", "max", "select")


@dataclass(frozen=True, eq=False)
class Output:
    """One number of each motion, or a number at each sample.

    | field      | meaning                                                                   |
    |------------|---------------------------------------------------------------------------|
    | name       | of the variable of the results                                            |
    | what       | the text, or the function                                                 |
    | expression | the text, read; None of a function                                        |
    | columns    | which columns it needs, of references in it                               |
    | over_time  | whether it has a value at each sample                                     |
    | attributes | units, long_name and others, as xarray has them                           |
    """

    name: str
    what: str | Callable[[Run], Any]
    expression: Expression | None = None
    columns: Mapping[Reference, ColumnOf] = field(default_factory=dict)
    over_time: bool = False
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def value(self, t: Array, columns: Mapping[Reference, Array], count: int) -> Array:
        """m, or m x k: of columns (m, k) with samples at times t."""
        assert self.expression is not None
        with np.errstate(all="ignore"):
            found = np.asarray(_evaluated(self.expression, t, columns), dtype=float)
        if self.over_time:
            return np.array(np.broadcast_to(found, (count, len(t))))
        return np.array(np.broadcast_to(found, (count, 1))[:, 0])

    def of_run(self, run: Run) -> float:
        """What a function gives; anything but a number is an error."""
        assert callable(self.what)
        found = np.asarray(self.what(run))
        if found.size != 1 or found.dtype.kind not in "biuf":
            raise MomentreeError(f"it gave {reprlib.repr(self.what(run))}, not a number")
        return float(found.reshape(()))

    @property
    def identity(self) -> str:
        """Equal for equal outputs: the text, or the identity of a function: the one that the user gives, or a digest.

        Raises a MomentreeError where there is none.
        """
        if isinstance(self.what, str):
            return self.what
        if IDENTITY in self.attributes:
            return f"function '{self.attributes[IDENTITY]}'"
        try:
            return function_identity(self.what)
        except Unknown as unknown:
            name = getattr(self.what, "__name__", type(self.what).__name__)
            message = f"output '{self.name}' depends on {unknown}, whose content a store cannot keep"
            way_out = f"({name}, {{'{IDENTITY}': 'version 1'}}), and change it with the function; or leave path= out"
            raise MomentreeError(f"study: {message}. Say yourself what it is: {way_out}.") from None


def read_outputs(system: System, outputs: Any, events: Mapping[str, Any]) -> list[Output]:
    """Outputs by name, checked, or one error with all that is wrong."""
    if not isinstance(outputs, Mapping) or not outputs:
        example = "outputs={'peak': 'max(C.force)'}"
        raise MomentreeError(f"study: outputs is {reprlib.repr(outputs)}; give names and what to keep: {example}.")
    known, found, problems = known_columns(system, tuple(events)), [], []
    for name, given in outputs.items():
        try:
            found.append(_read(system, name, given, known))
        except ExpressionError as error:
            problems.append(f"output '{name}': {error}")
        except MomentreeError as error:
            problems.append(f"output '{name}': {error}")
    if problems:
        raise MomentreeError("\n".join(problems))
    return found


def _read(system: System, name: Any, given: Any, known: Mapping[Reference, ColumnOf]) -> Output:
    what, attributes = given if isinstance(given, tuple) and len(given) == 2 else (given, {})
    if not isinstance(name, str) or not name.isprintable() or not name or "/" in name or name.startswith((".", "__")):
        raise MomentreeError("its name must be a printable string without '/', which does not begin with a dot.")
    if name in RESERVED:
        raise MomentreeError("the results have a variable of this name of their own. Choose another.")
    if not isinstance(attributes, Mapping) or not all(isinstance(value, str) for value in attributes.values()):
        raise MomentreeError(f"{reprlib.repr(attributes)} should be a dict of texts, such as {{'units': 'N'}}.")
    if callable(what):
        return Output(name, what, attributes={"long_name": name, "units": "", **attributes})
    if not isinstance(what, str):
        example = "'max(C.force)', a function of a run, or a pair of one of these and {'units': 'N'}"
        raise MomentreeError(f"{reprlib.repr(what)} is no output. Give {example}.")
    expression = _parsed(system, what, known)
    needed = {one: known[one] for one in expression.references() if one in known}
    texts = {"long_name": what, "units": _unit(expression, known), **attributes}
    return Output(name, what, expression, needed, _is_over_time(expression, needed), texts)


def _parsed(system: System, text: str, known: Mapping[Reference, ColumnOf]) -> Expression:
    tables = {table.name: table for table in system._model.tables}
    expression = parse(text, {**tables, **REDUCTIONS})
    if system._model.outputs:
        laws = output_laws(system.mechanism.whole or system.mechanism, system._model)
        expression = expression.substitute({Reference(name): law for name, law in laws.items()})
    fixed = parameter_values(system)
    free = {Reference(name) for name in system.mechanism.free}
    for one in sorted(expression.references()):
        if one not in known and one not in fixed and one not in free and one != TIME:
            names = [str(other) for other in known if other.name == one.name and one.component]
            names = names or [*map(str, known), *map(str, fixed), *map(str, free), "t"]
            position = max(text.find(str(one)), 0)
            raise ExpressionError(f"there is no '{one}'.{suggestion(str(one), names)}", text, position)
    expression = expression.substitute(fixed)
    if _changes(expression, known):
        message = "it has a value at every sample. Reduce it, as in max(...), or keep all by samples(...)"
        raise ExpressionError(f"{message}.", text)
    return expression


# --- what an expression is ---


def _reduction(node: Expression) -> Reduction | None:
    return node.op.table if isinstance(node.op, Lookup) and isinstance(node.op.table, Reduction) else None


def _changes(expression: Expression, known: Mapping[Reference, ColumnOf]) -> bool:
    """Whether it changes with time where no reduction takes that away."""

    def leaf(node: Expression) -> bool:
        one = node.args[0]
        return node.op == "reference" and (one == TIME or (one in known and known[one].kind != "event"))

    def combine(node: Expression, parts: list[Any]) -> bool:
        return _reduction(node) is None and any(parts)

    return bool(_all_computed(expression, leaf, combine))


def _is_over_time(expression: Expression, needed: Mapping[Reference, ColumnOf]) -> bool:
    def combine(node: Expression, parts: list[Any]) -> bool:
        reduction = _reduction(node)
        return any(parts) if reduction is None else reduction.name == SAMPLES

    return bool(_all_computed(expression, lambda node: False, combine))


def _unit(expression: Expression, known: Mapping[Reference, ColumnOf]) -> str:
    """The unit, where it is plain: that of a column, of sums, and of reductions; "" elsewhere."""

    def leaf(node: Expression) -> str:
        if node.op != "reference":
            return "number"
        return "s" if node.args[0] == TIME else known[node.args[0]].unit if node.args[0] in known else ""

    def combine(node: Expression, parts: list[Any]) -> str:
        reduction = _reduction(node)
        if reduction is not None:
            return reduction.unit("" if parts[0] == "number" else parts[0])
        units = {*(parts[1:] if node.op == "select" else parts)}
        if node.op in ("*", "/") and parts[1] == "number":
            return str(parts[0])
        if node.op == "*" and parts[0] == "number":
            return str(parts[1])
        return units.pop() if node.op in KEEPS_UNIT and len(units - {"number"}) == 1 == len(units) else ""

    found = str(_all_computed(expression, leaf, combine))
    return "" if found == "number" else found


def _all_computed(
    expression: Expression, leaf: Callable[[Expression], Any], combine: Callable[[Expression, list[Any]], Any]
) -> Any:
    """As `Expression._computed`, both branches of every `select` included."""
    done: dict[int, Any] = {}
    for node in expression._parts_first():
        parts = [done[id(part)] for part in node._parts]
        done[id(node)] = combine(node, parts) if node._parts else leaf(node)
    return done[id(expression)]


def _evaluated(expression: Expression, t: Array, columns: Mapping[Reference, Array]) -> Any:
    table: dict[Any, Callable[..., Any]] = {**OPERATORS, **FUNCTIONS}

    def leaf(node: Expression) -> Any:
        return np.array([[node.args[0]]]) if node.op == "number" else columns[node.args[0]]

    def combine(node: Expression, parts: list[Any]) -> Any:
        reduction = _reduction(node)
        if reduction is not None:
            return reduction.of(t, np.ascontiguousarray(parts[0]))
        return node.op(*parts) if isinstance(node.op, Lookup) else table[node.op](*parts)

    return _all_computed(expression, leaf, combine)
