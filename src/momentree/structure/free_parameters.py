"""The free parameters of a model: values that a caller gives for them, checked as the model's own numbers are.

The judge of one set of values is `freeze`, of the model with these numbers written in. Of a large batch every row goes
through the checks that resolvers left open for want of values (model/values.py), and the judge sees the rows that fail
one, and those with the least and the largest value of each parameter.
"""

from __future__ import annotations

import copy
import math
import reprlib
import warnings
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from momentree.errors import ModelError, ModelWarning, MomentreeError, Problem, suggestion
from momentree.model import Model
from momentree.model.expressions.expression import Expression, Reference
from momentree.model.values import Mistake, Pending, Values, pending_checks
from momentree.spatial import Motion, RigidInertia, Vector
from momentree.structure.freeze import freeze
from momentree.structure.mechanism import Mechanism, TreeBody
from momentree.structure.parts import with_numbers

Array = NDArray[np.float64]
FEW = 64  # rows: so many distinct ones are built one by one
KEPT = 10_000  # rows remembered as valid, at most
WEAK = 1e-8  # of the inertia along a joint: with less, the judge looks at it


class FreeParameters:
    """The free parameters of a model by name, in the order in which code takes them."""

    def __init__(self, model: Model, names: tuple[str, ...]):
        self.model, self.names = model, names
        self._sound: set[bytes] = set()

    def of(self, model: Model) -> FreeParameters:
        """Those of the same model with other default values; rows that passed the checks are not checked again."""
        others = FreeParameters(model, self.names)
        others._sound = self._sound
        return others

    # --- one set of values ---

    def single(self, parameters: Mapping[str, Any]) -> dict[str, float]:
        """Parameters as numbers, with which the model, which may define others by them, can be built; checked."""
        numbers = {}
        for name, array in self.arrays(parameters).items():
            if array.shape:
                shape = "x".join(map(str, array.shape))
                message = f"parameter '{name}': its value has the shape {shape}; one number is expected here."
                raise MomentreeError(f"{message} system.assemble_many and system.simulate_many take many.")
            numbers[name] = float(array)
        values = Values({**dict(self.model.parameters), **numbers})
        row = np.array([values.scalar(name) for name in self.names], dtype=float)
        self._judge(row)
        return numbers

    def model_with(self, numbers: Mapping[str, float]) -> Model:
        """The model with these numbers written in for its free parameters; what it defines by them follows."""
        model = copy.copy(self.model)
        model.parameters = [(name, numbers.get(name, raw)) for name, raw in model.parameters]
        return model

    # --- many sets of values ---

    def arrays(self, parameters: Mapping[str, Any]) -> dict[str, Array]:
        """Parameters as arrays of finite numbers, by the names of free ones."""
        if not isinstance(parameters, Mapping):
            message = f"parameters is {reprlib.repr(parameters)}; names and numbers are expected"
            raise MomentreeError(f"{message}: parameters={{'{next(iter(self.names), 'k')}': 1.0}}.")
        for name in parameters:
            if name not in self.names:
                self._refuse_name(name)
        return {name: _finite(name, value) for name, value in parameters.items()}

    def rows(self, parameters: Mapping[str, Any]) -> Array:
        """..., n: the values of all free parameters, with the leading axes of `parameters`; every row is checked.

        The others have the values of the model, which may define them by expressions of `parameters`.
        """
        arrays = self.arrays(parameters)
        try:
            batch = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
            message = f"the values of parameters do not fit together: {shapes}"
            raise MomentreeError(f"{message}. Give one or as many of each.") from None
        by_reference = {Reference(name): array for name, array in arrays.items()}
        rows = np.empty((*batch, len(self.names)))
        with np.errstate(all="ignore"):
            for i, defined in enumerate(self._defined(tuple(arrays))):
                rows[..., i] = _at(defined, by_reference)
        self.check(rows.reshape(math.prod(batch), len(self.names)))
        return rows

    def _defined(self, free: tuple[str, ...]) -> list[Any]:
        """Each parameter as a number, or as an expression of the free ones."""
        definitions: dict[tuple[str, ...], list[Any]] = vars(self).setdefault("_definitions", {})
        if free not in definitions:
            values = Values(dict(self.model.parameters), free=free)
            definitions[free] = [values.scalar(name) for name in self.names]
        return definitions[free]

    def following(self, given: Collection[str]) -> list[str]:
        """The free parameters that the model defines by some of these, and that are none of them."""
        defined = zip(self.names, self._defined(tuple(given)), strict=True)
        return [name for name, value in defined if isinstance(value, Expression) and name not in given]

    def names_of(self, rows: Array) -> dict[Reference, Array]:
        """The columns of rows, by the references of expressions."""
        return {Reference(name): rows[..., i] for i, name in enumerate(self.names)}

    def check(self, rows: Array) -> None:
        """Refuse the first of rows (k, n) that the model cannot have, and name it."""
        if not rows.size:
            return
        if len(rows) == 1:
            self._judge(rows[0])
            return
        distinct, first = _distinct(rows)
        suspects = first
        if len(distinct) > FEW:
            extremes = [*distinct.argmin(axis=0), *distinct.argmax(axis=0)]
            suspects = first[np.union1d(extremes, self._doubtful(distinct))]
        for k in sorted(suspects.tolist()):
            self._judge(rows[k], k)

    def _doubtful(self, rows: Array) -> NDArray[Any]:
        """Which rows fail one of the checks that were left open when the model was frozen."""
        doubtful, names = np.zeros(len(rows), dtype=bool), self.names_of(rows)
        with np.errstate(all="ignore"):
            for check, numbers, surely in self._pending:
                columns = [np.broadcast_to(_at(number, names), len(rows)) for number in numbers]
                left = np.flatnonzero(~_sure(surely, columns))
                each = zip(*(column[left].tolist() for column in columns), strict=True)
                doubtful[left] |= np.array([not _passes(check, numbers) for numbers in each], dtype=bool)
            for body in self._frozen.bodies:
                if _depends(body.inertia) and (_strengths(body, self._own_names) > WEAK).all():
                    doubtful |= ~(_strengths(body, names) > WEAK)
        return np.flatnonzero(doubtful)

    @property
    def _own_names(self) -> dict[Reference, Array]:
        return self.names_of(np.array([[self._own[name] for name in self.names]]))

    @cached_property
    def _own(self) -> dict[str, float]:
        """The values that the model gives them."""
        values = Values(dict(self.model.parameters))
        return {name: float(values.scalar(name)) for name in self.names}

    @cached_property
    def _checked(self) -> tuple[Mechanism, list[Pending]]:
        with pending_checks() as checks, warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # it was given when the system was built
            return freeze(self.model, self.names), checks

    @property
    def _frozen(self) -> Mechanism:
        return self._checked[0]

    @property
    def _pending(self) -> list[Pending]:
        """The checks that were left open when the model was frozen."""
        return self._checked[1]

    def _judge(self, row: Array, k: int | None = None) -> None:
        """Whether the model can be built with these numbers; the same texts as if they stood in it."""
        key = row.tobytes()
        if key in self._sound:
            return
        other = [(name, x) for name, x in zip(self.names, row.tolist(), strict=True) if x != self._own[name]]
        changed = ", ".join(f"{name} = {x:g}" for name, x in other) or "its own parameters"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                freeze(self.model_with(dict(zip(self.names, row.tolist(), strict=True))))
        except ModelError as error:
            where = f"with {changed}" if k is None else f"row {k} of the parameters, {changed}"
            raise ModelError([_within(problem, where) for problem in error.problems]) from None
        if len(self._sound) >= KEPT:
            self._sound.clear()
        self._sound.add(key)

    def _refuse_name(self, name: Any) -> NoReturn:
        parameters = [parameter for parameter, _ in self.model.parameters]
        message = f"'{name}' is not a free parameter of this system.{suggestion(str(name), self.names)}"
        if name in parameters:
            message += f" Build it with m.build(free=['{name}'])."
        raise MomentreeError(message)

    def __getstate__(self) -> dict[str, Any]:
        """Without cached results."""
        return {"model": self.model, "names": self.names, "_sound": set()}


def values_in(mechanism: Mechanism) -> dict[str, float]:
    """The free parameters of a mechanism and their values: those that it has in floats, or those of its model."""
    if mechanism.free:
        return {name: float(mechanism.values.scalar(name)) for name in mechanism.free}
    return dict(mechanism.parameters)


def _finite(name: Any, value: Any) -> Array:
    """Numbers for one parameter."""
    try:
        array = np.asarray(value)
        right = array.dtype.kind in "iuf" and not np.ma.is_masked(value)
    except (TypeError, ValueError):
        right = False
    if not right:
        message = f"its value is {reprlib.repr(value)}; a number, or an array of numbers, is expected."
        raise MomentreeError(f"parameter '{name}': {message}")
    array = array.astype(float)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row = f" in row {', '.join(map(str, bad[0]))}" if array.shape else ""
        message = f"its value is {array[tuple(bad[0])]}{row}; a finite number is expected."
        raise MomentreeError(f"parameter '{name}': {message}")
    return array


def _at(number: Any, names: Mapping[Reference, Array]) -> Any:
    return number.evaluate(names) if isinstance(number, Expression) else number


def _depends(inertia: RigidInertia) -> bool:
    return any(isinstance(x, Expression) for x in (inertia.mass, *inertia.h, *inertia.J))


def _strengths(body: TreeBody, names: Mapping[Reference, Array]) -> Array:
    """k: the least inertia of a body along its joint, relative to the largest possible; 0: undetermined motion."""
    columns, count = (
        body.joint_type.motion_subspace(body.joint.type.reference()).columns,
        len(next(iter(names.values()))),
    )
    if not columns or body.laws is not None:
        return np.ones(count)
    evaluated = with_numbers(body.inertia, lambda x: _at(x, names))
    axes = with_numbers(tuple(tuple(column) for column in columns), lambda x: _at(x, names))
    motions = [Motion(Vector(*axis[:3]), Vector(*axis[3:])) for axis in axes]
    most = [evaluated.mass * (a.linear @ a.linear) + sum(evaluated.J[:3]) * (a.angular @ a.angular) for a in motions]
    block = [[np.broadcast_to(a @ (evaluated @ b), count) for b in motions] for a in motions]
    sizes = np.sqrt(np.array([np.broadcast_to(size, count) for size in most]).T)
    scaled = np.moveaxis(np.array(block, dtype=float), -1, 0) / sizes[:, :, None] / sizes[:, None, :]
    sound = np.isfinite(scaled).all(axis=(1, 2))
    least = np.linalg.eigvalsh(np.where(sound[:, None, None], scaled, 0.0))[:, 0]
    return np.where(sound, least, 0.0)


def _distinct(rows: Array) -> tuple[Array, NDArray[Any]]:
    """The distinct rows and where each stands first; all of them where surely more than a few are distinct."""
    if len(rows) > FEW and any(len(np.unique(column)) > FEW for column in rows[: 4 * FEW].T):
        return rows, np.arange(len(rows))
    return np.unique(rows, axis=0, return_index=True)


def _sure(surely: Any, columns: list[Array]) -> NDArray[np.bool_]:
    """Which rows surely pass a check; none where it takes no arrays."""
    try:
        return np.asarray(np.broadcast_to(surely(*columns), columns[0].shape), dtype=bool)
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return np.zeros(columns[0].shape, dtype=bool)


def _passes(check: Any, numbers: Iterable[float]) -> bool:
    try:
        check(*numbers)
    except (Mistake, ModelError, ArithmeticError, ValueError, np.linalg.LinAlgError):
        return False
    return True


def _within(problem: Problem, where: str) -> Problem:
    return Problem(f"{where}: {problem.where}", problem.message, problem.path, problem.place, problem.missing)
