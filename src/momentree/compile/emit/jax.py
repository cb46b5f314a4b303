"""Functions of a system for JAX, in our machine code: jit, vmap, grad, jacfwd, jacrev and their nests work on them.

A function f is called by XLA itself on processors (xla_call.py), by way of Python on other devices. Its rule is

    f_dot = J(x) x_dot ,     J from machine code too, which has a rule of the same kind

so that JAX may carry derivatives forward or, since f_dot is linear in x_dot by operations of JAX alone, in reverse.
J holds the columns of those arguments that are moved; it is compiled when it is first needed. Where the code of all its
entries is too long (functions.py), J is computed column by column or row by row, as a batch of unit vectors.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from momentree.compile.emit.xla_call import registered
from momentree.compile.trace.functions import Function
from momentree.errors import MomentreeError, suggestion

Following = Callable[[Sequence[str]], Sequence[str]]  # given names -> those that the model defines by them
NUMBERS = "parameters"  # the argument that holds free parameters
_OPTIONAL = {"tau": None, "t": 0.0, NUMBERS: None}


class JaxFunction:
    """A function of a system that JAX can compile, batch and differentiate: see docs/gradients.md.

    Arguments are arrays of JAX or NumPy; those that `__signature__` gives a default may be omitted. Axes before the
    last (all axes of t and of parameters) are batches and broadcast, as everywhere in a system. `parameters` is a
    dictionary, by which JAX differentiates too. Numbers that are not finite give NaN, not an error.
    """

    def __init__(self, function: Function, parameters: Mapping[str, float], following: Following = lambda given: ()):
        jax = self._jax = _jax()
        self._following = following
        self._shape, self._free, self._columns = function.shape, dict(parameters), Columns(function)
        self._counts = {name: len(inputs) for name, inputs in function.arguments if name != NUMBERS}
        self.__name__ = self.__qualname__ = function.name
        names = [*self._counts, *([NUMBERS] if self._free else [])]
        kind, required = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
        parts = [inspect.Parameter(name, kind, default=_OPTIONAL.get(name, required)) for name in names]
        self.__signature__ = inspect.Signature(parts)
        self._compiled = jax.jit(self._computed)

    def __repr__(self) -> str:
        return f"<{self.__name__}{self.__signature__} for JAX>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if not self._jax.config.jax_enable_x64:
            message = "JAX computes in single precision"
            raise self._error(f'{message}. Say jax.config.update("jax_enable_x64", True) before all else.')
        given = self.__signature__.bind(*arguments, **named)
        given.apply_defaults()
        arrays = [self._column(name, given.arguments[name]) for name in self._counts]
        values = self._values(given.arguments[NUMBERS]) if self._free else []
        self._batch(arrays, values)
        return self._compiled(arrays, values)

    def _computed(self, arrays: Sequence[Any], values: Sequence[Any]) -> Any:
        """The result, from arrays whose shapes fit together."""
        jnp, batch = self._jax.numpy, self._batch(arrays, values)
        columns = [x[..., None] if name == "t" else x for name, x in zip(self._counts, arrays, strict=True)]
        columns += [jnp.stack(jnp.broadcast_arrays(*values), axis=-1)] if values else []
        return self._columns(*(jnp.broadcast_to(x, (*batch, x.shape[-1])) for x in columns)).reshape(
            *batch, *self._shape
        )

    def _batch(self, arrays: Sequence[Any], values: Sequence[Any]) -> tuple[int, ...]:
        """The leading axes of all arguments together."""
        axes = {name: x.shape if name == "t" else x.shape[:-1] for name, x in zip(self._counts, arrays, strict=True)}
        axes |= {f"parameter '{name}'": x.shape for name, x in zip(self._free, values, strict=True)}
        try:
            return np.broadcast_shapes(*axes.values())
        except ValueError:
            shapes = ", ".join(f"{name} has {shape}" for name, shape in axes.items() if shape)
            message = f"the leading axes do not fit together: {shapes}"
            raise self._error(f"{message}. Give each the same, or none where one serves all.") from None

    def _column(self, name: str, value: Any) -> Any:
        """An argument as an array whose last axis holds its numbers; all axes of t are batches."""
        count = self._counts[name]
        if value is None and name == "tau":
            return np.zeros(count)
        array = self._numbers(name, value)
        if name != "t" and (not array.ndim or array.shape[-1] != count):
            message = f"{name} has the shape {array.shape}"
            raise self._error(f"{message}. Give it ({count},), or (..., {count}) for a batch.")
        return array

    def _values(self, parameters: Any) -> list[Any]:
        """The values of all free parameters, those of the system where none are given."""
        given = {} if parameters is None else parameters
        if not isinstance(given, Mapping):
            raise self._error(f"parameters is a {type(given).__name__}. Give values by name: {{...}}.")
        unknown = [name for name in given if name not in self._free]
        if unknown:
            raise self._error(f"there is no free parameter '{unknown[0]}'.{suggestion(unknown[0], self._free)}")
        for name in self._following([*given]):
            message = f"the model defines '{name}' by others, of which some are given"
            raise self._error(f"{message}. Give it too: parameters={{..., '{name}': ...}}.")
        return [self._numbers(f"parameter '{name}'", given.get(name, value)) for name, value in self._free.items()]

    def _numbers(self, name: str, value: Any) -> Any:
        """An array of double precision, of NumPy or of JAX."""
        try:
            array = value if isinstance(value, self._jax.Array) else np.asarray(value)
        except self._jax.errors.TracerArrayConversionError:  # a list of what JAX is tracing
            array = self._jax.numpy.asarray(value)
        except ValueError:
            raise self._error(f"{name} has rows of different lengths. Give an array of numbers.") from None
        if array.dtype.kind not in "biuf":
            what = "complex" if array.dtype.kind == "c" else f"a {type(value).__name__}"
            raise self._error(f"{name} is {what}. Give real numbers.")
        return array.astype(float)

    def _error(self, message: str) -> MomentreeError:
        return MomentreeError(f"{self.__name__}: {message}")


class Columns:
    """A function on columns, one array (..., n) for each argument, all with the same leading axes; so is its result.

    JAX knows it as a primitive of its own, whose rules are those below. (`jax.custom_jvp` would do less: its rule is
    lost where forward derivatives of reverse ones are taken through a loop.)
    """

    def __init__(self, function: Function):
        self._function, self.names = function, [name for name, _ in function.arguments]
        self.kernel = function.kernel()
        self._jacobians: dict[tuple[str, ...], Callable[..., Any]] = {}

    def __repr__(self) -> str:
        return self._function.name

    def __call__(self, *columns: Any) -> Any:
        return primitive().bind(*columns, function=self)

    def jacobian(self, moved: tuple[str, ...]) -> Callable[..., Any]:
        """The function of the same columns that gives J (..., results, columns), by the arguments that are moved."""
        if moved not in self._jacobians:
            self._jacobians[moved] = self._new_jacobian(moved)
        return self._jacobians[moved]

    def _new_jacobian(self, moved: tuple[str, ...]) -> Callable[..., Any]:
        derivative = self._function.derivative(moved)
        entries, size = Columns(derivative.function), derivative.seeds
        if not size:
            return lambda *columns: entries(*columns).reshape(*columns[0].shape[:-1], *derivative.shape)

        def by_seeds(*columns: Any) -> Any:
            jnp, batch = _jax().numpy, columns[0].shape[:-1]
            repeated = [jnp.broadcast_to(x[..., None, :], (*batch, size, x.shape[-1])) for x in columns]
            found = entries(*repeated, jnp.broadcast_to(jnp.eye(size), (*batch, size, size)))
            return found if derivative.by_rows else jnp.swapaxes(found, -1, -2)

        return by_seeds

    def on_rows(self, *arrays: Any) -> Any:
        """The function on arrays of NumPy."""
        flat = [np.ascontiguousarray(np.asarray(array).reshape(-1, array.shape[-1])) for array in arrays]
        return self.kernel(flat).reshape(*arrays[0].shape[:-1], self.kernel.outputs)


@functools.cache
def primitive() -> Any:
    """The primitive of JAX that computes a `Columns`, with its rules."""
    jax = _jax()
    from jax.extend.core import Primitive
    from jax.interpreters import ad, batching, mlir

    made: Any = Primitive("momentree")
    made.def_impl(
        jax.jit(lambda *columns, function: made.bind(*columns, function=function), static_argnames="function")
    )

    def shaped(*columns: Any, function: Columns) -> Any:
        return columns[0].update(shape=(*columns[0].shape[:-1], function.kernel.outputs))

    def differentiated(columns: Sequence[Any], tangents: Sequence[Any], function: Columns) -> tuple[Any, Any]:
        moved = {name: x for name, x in zip(function.names, tangents, strict=True) if not isinstance(x, ad.Zero)}
        result = made.bind(*columns, function=function)
        J = function.jacobian(tuple(moved))(*columns)
        return result, (J @ jax.numpy.concatenate([*moved.values()], axis=-1)[..., None])[..., 0]

    def batched(columns: Sequence[Any], axes: Sequence[Any], function: Columns) -> tuple[Any, int]:
        size = next(x.shape[axis] for x, axis in zip(columns, axes, strict=True) if axis is not None)
        rows = [
            jax.numpy.broadcast_to(x, (size, *x.shape)) if axis is None else jax.numpy.moveaxis(x, axis, 0)
            for x, axis in zip(columns, axes, strict=True)
        ]
        return made.bind(*rows, function=function), 0

    def by_machine_code(context: Any, *operands: Any, function: Columns) -> Any:
        rows = math.prod(context.avals_out[0].shape[:-1])
        name = registered(jax, function.kernel, function.kernel.width if rows >= function.kernel.width else 1)
        return jax.ffi.ffi_lowering(name)(context, *operands)

    made.def_abstract_eval(shaped)
    ad.primitive_jvps[made], batching.primitive_batchers[made] = differentiated, batched
    mlir.register_lowering(made, mlir.lower_fun(through_python, multiple_results=False))
    mlir.register_lowering(made, by_machine_code, platform="cpu")
    return made


def through_python(*columns: Any, function: Columns) -> Any:
    """The function by a callback, which any device can do."""
    jax = _jax()
    result = jax.ShapeDtypeStruct((*columns[0].shape[:-1], function.kernel.outputs), np.float64)
    return jax.pure_callback(function.on_rows, result, *columns)


def _jax() -> Any:
    try:
        import jax
        import jax.ffi
    except ImportError:
        raise MomentreeError("JAX 0.5 or newer is not installed: pip install momentree[jax]") from None
    return jax
