"""Quantities of a mechanism as functions of arrays, in machine code that is compiled when it is first needed.

| quantity                                                | arguments              | result   |
|---------------------------------------------------------|------------------------|----------|
| mass_matrix, inverse_mass_matrix                        | q, t=0                 | nv x nv  |
| coriolis_matrix, aggregative_matrix                     | q, v, t=0              | nv x nv  |
| bias, coriolis_forces, generalized_forces and _momenta  | q, v, t=0              | nv       |
| gravity_forces                                          | q, t=0                 | nv       |
| inverse_dynamics                                        | q, v, vdot, t=0        | nv       |
| forward_dynamics                                        | q, v, tau=None, t=0    | nv       |

Values of free parameters may be given by name, `parameters={"k": 3.0}`: one for all rows, or batches too.

Anything that NumPy converts to numbers is accepted. Axes before the last (all axes of t) are batches and broadcast;
where one row serves all, nothing is copied. The rows of a batch are computed several at a time, on all cores where it
pays; where arrays live on a GPU, they are computed there (gpu_quantities.py).
"""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from momentree.activity import activity
from momentree.compile.execute import fast_calls, threads
from momentree.compile.execute.arrays import Array, check_finite, check_units, coordinate_array, numbers, quaternions
from momentree.compile.execute.gpu_quantities import THREAD, GpuRequest, any_on_gpu, computed_on_gpu
from momentree.compile.execute.input_checks import valid_rows
from momentree.compile.execute.kernel import Kernel
from momentree.compile.execute.machine_code import Target
from momentree.compile.trace.quantities import ARGUMENTS, MATRICES
from momentree.equations.aggregative import mass_matrix
from momentree.equations.evaluation import Evaluation
from momentree.errors import ArgumentError, MomentreeError, suggestion
from momentree.structure.free_parameters import FreeParameters
from momentree.structure.given import Given
from momentree.structure.mechanism import Mechanism
from momentree.structure.switched_constraints import acting_where

OfState = Callable[..., dict[str, Any] | None]  # `assembly.given_values.arguments_by_state_of`
OPTIONS = ("out", "threads", "parameters")  # by name only; None unless given
OPTIONAL = {"tau": "None", "t": "0.0"}  # optional arguments, and their defaults as the user reads them
WORTH = 32  # rows of a call from which code for several at a time is made


class Quantity:
    """The general callable of a quantity: converts, broadcasts, checks, computes.

    `free` knows which values parameters may have; `kernels` holds the code of this system compiled so far; `of_state`
    gives all arguments where a state stands for q and v.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        what: str,
        doc: str = "",
        code: str | None = None,
        free: FreeParameters | None = None,
        kernels: dict[str, Kernel] | None = None,
        of_state: OfState | None = None,
    ):
        self._of_state = of_state
        self._free, self._kernels = free, {} if kernels is None else kernels
        self._mechanism, self.__name__, self.__doc__, self._code = mechanism, what, doc, code
        self._what = what
        self._names = ARGUMENTS[what]
        self._columns = [None if name == "t" else mechanism.nq if name == "q" else mechanism.nv for name in self._names]
        self._shape = (mechanism.nv,) * (2 if what in MATRICES else 1)
        self._quaternions = quaternions(mechanism)
        self._quaternion_starts = (ctypes.c_int64 * len(self._quaternions))(*(each.start for each in self._quaternions))
        self._kernel: Kernel | None = None
        self._on_gpus: dict[Any, Any] = {}
        self._switched: dict[Any, Quantity] = {}
        self._entry: fast_calls.Entry | None = None
        self._lock = threading.RLock()

    def __call__(
        self, *arguments: Any, out: Any = None, threads: int | None = None, parameters: Any = None, **named: Any
    ) -> Array:
        if self._of_state is not None:
            first = arguments[0] if arguments else named.get("q")
            if first is not None and hasattr(first, "mechanism"):
                given = {**named} if parameters is None else {**named, "parameters": parameters}
                own = self._mechanism, self._free, self._code
                by_name = self._of_state(*own, self._what, self._names, arguments, given)
                if by_name is not None:
                    return self._acting(first.given.inactive)(out=out, threads=threads, **by_name)
        plain = self._plain_rows(arguments) if parameters is None and not named else None
        values = self._bound(arguments, named) if plain is None else []
        if any_on_gpu(values):
            return cast(Array, computed_on_gpu(self._request(values, out, parameters)))
        try:
            if plain is not None:
                shape = (len(arguments[0]), *self._shape)
                to = _empty(shape, self.__name__) if out is None else _writable(out, shape)
                if out is not None:
                    self._check_apart(plain, to)
                return self._filled(plain, to, shape[0], threads)
            return self._computed(values, out, threads, self._constants(parameters))
        except MemoryError:
            raise MomentreeError(f"{self.__name__}: not enough memory. Give fewer rows at a time.") from None

    def _acting(self, inactive: frozenset[str] | None) -> Quantity:
        """The same quantity where these constraints do not act; None: as it is."""
        mechanism = acting_where(self._mechanism, inactive)
        if mechanism is self._mechanism:
            return self
        with self._lock:
            if inactive not in self._switched:
                self._switched[inactive] = self._of(mechanism)
            return self._switched[inactive]

    def _of(self, mechanism: Mechanism) -> Quantity:
        return Quantity(mechanism, self.__name__, self.__doc__ or "", self._code, self._free)

    def __repr__(self) -> str:
        return f"<{self._usage()} of '{self._mechanism.name}'>"

    def __reduce__(self) -> tuple[Any, ...]:
        made = (self._mechanism, self.__name__, self.__doc__, self._code, self._free, None, self._of_state)
        return Quantity, made

    def __getattr__(self, name: str) -> Any:
        """Under its own name, the fast function: as such it is unpickled."""
        if name == self.__dict__.get("__name__"):
            return self.fastest()
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    # --- the fast function ---

    def fastest(self) -> Callable[..., Array]:
        """The function that answers single rows without delay, and hands all other calls to this one."""
        if not fast_calls.available() or not all(self._shape):
            return self
        try:
            made = self._made_entry()
        except (ImportError, OSError, RuntimeError):  # LLVM cannot be had: the first call will say so
            return self
        return made.function(self, self.__name__, f"{self._usage()}\n--\n\n{self.__doc__}")

    def _made_entry(self) -> fast_calls.Entry:
        with self._lock:
            if self._entry is None:
                defaults = [self._default(*each) for each in zip(self._names, self._columns, strict=True)]
                starts = [each.start for each in self._quaternions]
                constants = [] if (row := self._constants()) is None else [row]
                self._entry = fast_calls.Entry(self._columns, [*defaults, *constants], starts, self._shape)
                if self._kernel is not None:
                    self._entry.compute_with(self._kernel)
            return self._entry

    def _made(self) -> Kernel:
        """The machine code. Compiling may take long; one thread does it."""
        with self._lock:
            if self._kernel is None:
                kernel = self._kernel_of(self.__name__, varied=False)
                if self._entry is not None:
                    self._entry.compute_with(kernel)
                self._kernel = kernel
            return self._kernel

    def _varied(self) -> Kernel:
        """Machine code for parameters that differ from row to row."""
        with self._lock:
            return self._kernel_of(f"{self.__name__}, varied", varied=True)

    def _kernel_of(self, key: str, varied: bool) -> Kernel:
        if key not in self._kernels:
            with activity(f"compiling {self.__name__} of", self._mechanism.name):
                kernel = self._new_kernel(varied)
                kernel.address(1)
            self._kernels[key] = kernel
        return self._kernels[key]

    def _new_kernel(self, varied: bool, target: Target | None = None) -> Kernel:
        """The code for a processor, this one if none is given."""
        from momentree.compile.execute.choice import kernel_of

        return kernel_of(self._mechanism, self.__name__, self._code, varied, target)

    # --- arguments ---

    def _usage(self) -> str:
        names = [f"{name}={OPTIONAL[name]}" if name in OPTIONAL else name for name in self._names]
        return f"{self.__name__}({', '.join([*names, '*', *(f'{option}=None' for option in OPTIONS)])})"

    def _bound(self, arguments: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """The values of all arguments in their order."""
        if len(arguments) > len(self._names):
            raise TypeError(f"{self.__name__}: {len(arguments)} arguments are too many. Call {self._usage()}.")
        values = dict(zip(self._names, arguments, strict=False))
        for name, value in named.items():
            if name not in self._names:
                hint = suggestion(name, (*self._names, *OPTIONS))
                raise ArgumentError(f"{self.__name__}: there is no argument '{name}'.{hint}")
            if name in values:
                raise TypeError(f"{self.__name__}: '{name}' is given twice, by position and by name.")
            values[name] = value
        missing = [name for name in self._names if name not in values and name not in OPTIONAL]
        if missing:
            raise TypeError(f"{self.__name__}: {' and '.join(missing)} must be given. Call {self._usage()}.")
        return [self._value(name, columns, values) for name, columns in zip(self._names, self._columns, strict=True)]

    def _value(self, name: str, columns: int | None, values: dict[str, Any]) -> Any:
        omitted = name not in values or (name == "tau" and values[name] is None)
        return self._default(name, columns) if omitted else values[name]

    def _default(self, name: str, columns: int | None) -> Array | None:
        """The default of an argument; None where it must be given."""
        if name not in OPTIONAL:
            return None
        return np.zeros(()) if columns is None else np.zeros(columns)

    def _constants(self, parameters: Any = None) -> Array | None:
        """Free parameters (..., n), if any: the values in `parameters`, otherwise those of the model."""
        free, values = self._mechanism.free, self._mechanism.values
        if parameters is not None and self._free is not None:
            rows = self._free.rows(parameters)
            return rows if free else None
        return np.array([values.scalar(name) for name in free], dtype=float) if free else None

    def _arrays(self, values: Sequence[Any]) -> list[Array]:
        """Each argument as an array whose last axis holds its columns."""
        arrays = []
        for name, columns, value in zip(self._names, self._columns, values, strict=True):
            if columns is None:
                arrays.append(numbers(value, name, "a number")[..., None])
            else:
                arrays.append(coordinate_array(value, columns, name))
        return arrays

    # --- computing ---

    def _request(self, values: Sequence[Any], out: Any, parameters: Any) -> GpuRequest:
        """The call for arrays that live on a GPU."""

        def kernel(varied: bool) -> Kernel:
            return self._new_kernel(varied, THREAD)

        arguments, constants = zip(self._names, self._columns, values, strict=True), self._constants(parameters)
        return GpuRequest(
            self.__name__, tuple(arguments), constants, self._shape, self._quaternions, out, kernel, self._on_gpus
        )

    def _computed(self, values: Sequence[Any], out: Any, limit: int | None, constants: Array | None) -> Array:
        arrays, limit = self._arrays(values), threads.available(limit)
        one = constants is None or constants.ndim == 1
        batch = self._batch(arrays if one or constants is None else [*arrays, constants])
        shape, count = (*batch, *self._shape), math.prod(batch)
        out = _empty(shape, self.__name__) if out is None else _writable(out, shape)
        rows = [_rows(array, batch, count) for array in arrays]
        self._check_apart(rows, out)
        row_of = [] if constants is None or not out.size else [_rows(constants, batch, count)]
        return self._filled(rows, cast(Array, out), count, limit, row_of, one)

    def _plain_rows(self, arguments: Sequence[Any]) -> list[tuple[Array, int]] | None:
        """Arguments that are plain tables of as many rows, as they are; None where there is anything to convert.

        That is what batches mostly are. The general path visits so much code that it takes twice as long as the
        machine code of some hundred rows, and five times after other work.
        """
        given = len(arguments)
        if not 0 < given <= len(self._names) or self._mechanism.free or not set(self._names[given:]) <= {*OPTIONAL}:
            return None
        count = len(arguments[0]) if type(arguments[0]) is np.ndarray and arguments[0].ndim else 0
        for array, columns in zip(arguments, self._columns, strict=False):
            plain = type(array) is np.ndarray and array.dtype == np.float64 and array.shape == (count, columns)
            if not plain or count < 2 or not (array.flags.c_contiguous and array.flags.aligned):
                return None
        rows = [(array, array.shape[1]) for array in arguments]
        return rows + [(np.zeros(columns or 1), 0) for columns in self._columns[given:]]

    def _filled(
        self, rows: list[tuple[Array, int]], out: Array, count: int, limit: int | None,
        constants: Sequence[tuple[Array, int]] = (), one: bool = True,
    ) -> Array:  # fmt: skip
        """The results of rows, where free parameters are the same for all of them (`one`) or not."""
        kernel, limit = self._made() if one else self._varied(), threads.available(limit)
        if out.size:
            call = _Call.of(kernel, [*rows, *constants], out, self._quaternion_starts)
            width = kernel.width if count >= WORTH else 1  # by the call alone: the same call gives the same bits
            invalid: list[bool] = []
            threads.share(lambda: call.computer(width, invalid), count, limit)
            if invalid:
                self._explain(rows)
                threads.share(lambda: call.computer(width, None), count, limit)
            if call.broken:
                self._explain_results([*rows, *constants], out.reshape(count, -1))
        return out

    def _batch(self, arrays: Sequence[Array]) -> tuple[int, ...]:
        """The leading axes of all arguments together."""
        try:
            return np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
        except ValueError:
            named = zip((*self._names, "parameters"), arrays, strict=False)
            axes = [(name, array.shape[:-1]) for name, array in named]
            shapes = ", ".join(f"{name} has {'x'.join(map(str, shape))}" for name, shape in axes if shape)
            message = f"{self.__name__}: the leading axes do not fit together: {shapes}."
            raise MomentreeError(f"{message} Give each the same, or 1 where one serves all.") from None

    def _explain(self, rows: Sequence[tuple[Array, int]]) -> None:
        """Says what is wrong with numbers that machine code found invalid; a quaternion at the edge may yet pass."""
        for name, (array, _) in zip(self._names, rows, strict=True):
            check_finite(array, name)
        check_units(rows[0][0], self._quaternions)

    def _explain_results(self, rows: Sequence[tuple[Array, int]], results: Array) -> None:
        """Says which row, and which velocity, has no finite result, and what may be the cause."""
        row, column = np.argwhere(~np.isfinite(results))[0]
        velocities = self._mechanism.velocities
        message = f"the result for {velocities[column % len(velocities)]} is not a finite number"
        if len(results) > 1:
            message += f" in row {row}"
        idle = self._without_inertia([array if stride == 0 else array[row] for array, stride in rows])
        if idle:
            cause = f"nothing that moves with {' or '.join(idle)} has inertia. Give the bodies that it moves some."
        else:
            cause = "numbers may be too large, a law may be outside its domain, or a spring may have zero length."
        raise MomentreeError(f"{self.__name__}: {message}: {cause}")

    def _without_inertia(self, values: Sequence[Array]) -> list[str]:
        """Velocities whose diagonal entry of the mass matrix is not positive."""
        mechanism, arguments = self._mechanism, dict(zip((*self._names, "parameters"), values, strict=False))
        if mechanism.free:
            instead = dict(zip(mechanism.free, arguments["parameters"].tolist(), strict=True))
            mechanism = mechanism.with_given(Given(instead)).at_defaults()
        diagonal = np.diag(mass_matrix(Evaluation(mechanism, arguments["q"].tolist(), float(arguments["t"][0]))))
        return [str(name) for name, inertia in zip(mechanism.velocities, diagonal, strict=True) if not inertia > 0]

    def _check_apart(self, rows: Sequence[tuple[Array, int]], out: Array) -> None:
        for name, (array, _) in zip(self._names, rows, strict=True):
            if np.may_share_memory(array, out):
                raise MomentreeError(f"out overlaps {name}. Give the results their own memory.")


class _Call(NamedTuple):
    """The addresses of one call, and the objects that must live until it ends."""

    kernel: Kernel
    starts: Any
    strides: Any
    columns: Any
    quaternion_starts: Any
    out: Array
    rows: Sequence[tuple[Array, int]]
    broken: list[bool]  # not empty where a result is not finite

    @classmethod
    def of(cls, kernel: Kernel, rows: Sequence[tuple[Array, int]], out: Array, quaternion_starts: Any) -> _Call:
        n = len(rows)
        starts = (ctypes.c_void_p * n)(*[array.ctypes.data for array, _ in rows])
        strides = (ctypes.c_int64 * n)(*[stride for _, stride in rows])
        columns = (ctypes.c_int64 * n)(*[array.shape[-1] for array, _ in rows])
        return cls(kernel, starts, strides, columns, quaternion_starts, out, rows, [])

    def computer(self, width: int, invalid: list[bool] | None) -> threads.Compute:
        """What a thread computes with; invalid rows are reported in the list, if there is one."""
        function, valid, scratch = self.kernel.function(width), valid_rows(), self.kernel.scratch(width)
        to, n, q = self.out.ctypes.data, len(self.starts), len(self.quaternion_starts)
        results, each = (ctypes.c_void_p * 1)(to), (ctypes.c_int64 * 1)(self.kernel.outputs)

        def compute(begin: int, end: int) -> None:
            if invalid is not None and not valid(
                self.starts, self.strides, self.columns, n, self.quaternion_starts, q, begin, end
            ):
                invalid.append(True)
            if not invalid:
                function(self.starts, self.strides, to, begin, end, scratch.ctypes.data)
                if not valid(results, each, each, 1, self.quaternion_starts, 0, begin, end):
                    self.broken.append(True)

        return compute


def _empty(shape: tuple[int, ...], what: str) -> Array:
    try:
        return np.empty(shape)
    except (MemoryError, ValueError):
        size = "x".join(map(str, shape))
        raise MomentreeError(f"{what}: not enough memory for {size} results. Give fewer rows at a time.") from None


def _writable(out: Any, shape: tuple[int, ...]) -> Array:
    """The array given for the results, if it can hold them."""
    if not isinstance(out, np.ndarray) or hasattr(out, "mask"):
        raise MomentreeError(f"out is a {type(out).__name__}. Give an array: numpy.empty({shape}).")
    if out.dtype != np.float64 or out.shape != shape:
        message = f"out holds {out.dtype} and has the shape {out.shape}"
        raise MomentreeError(f"{message}; float64 and {shape} are expected: numpy.empty({shape}).")
    if not out.flags.writeable:
        raise MomentreeError("out is read-only. Give an array that may be written, or none.")
    if not (out.flags.c_contiguous and out.flags.aligned):
        raise MomentreeError(f"out is not contiguous, row after row. Give numpy.empty({shape}), or none.")
    return out


def _plain(array: Array) -> Array:
    return array if array.flags.c_contiguous and array.flags.aligned else array.copy()


def _rows(array: Array, batch: tuple[int, ...], count: int) -> tuple[Array, int]:
    """An argument as rows that machine code can read, and how far each is from the next; 0 where one serves all."""
    columns = array.shape[-1]
    if 0 in array.strides:  # what was broadcast by the caller is one row still
        array = array[tuple(slice(1) if step == 0 else slice(None) for step in array.strides[:-1])]
    if array.size == columns:
        return _plain(array.reshape(columns)), 0
    if array.shape[:-1] != batch:
        array = np.broadcast_to(array, (*batch, columns))
    rows = array.reshape(count, columns)
    dense = columns < 2 or rows.strides[1] == rows.itemsize
    if not (dense and rows.flags.aligned and rows.strides[0] % rows.itemsize == 0):
        rows = _plain(rows)
    return rows, rows.strides[0] // rows.itemsize
