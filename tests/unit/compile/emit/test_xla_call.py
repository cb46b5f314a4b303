"""Machine code that XLA calls: rows of every number, names by content, what XLA asks when it is registered."""

import ctypes

import numpy as np
import pytest

from momentree.compile.emit.llvm import compile_tape
from momentree.compile.emit.xla_call import ENTRY, handler, registered
from momentree.compile.execute.machine_code import loaded
from momentree.compile.trace.tape import Tape

jax = pytest.importorskip("jax", reason="JAX is not installed: pip install 'momentree[jax]'")


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def kernel(factor=3.0):
    """(x, y), z -> x y + z, factor x z, y."""
    tape = Tape()
    x, y, z = tape.inputs("x", "y", "z")
    tape.outputs([x * y + z, factor * x * z, y])
    return compile_tape(tape, [("xy", ["x", "y"]), ("z", ["z"])])


@pytest.mark.parametrize("batch", [(), (1,), (7,), (8,), (3, 5), (0,)], ids=str)
@pytest.mark.parametrize("width", [1, 4])
def test_rows_of_any_batch(batch, width):
    random = np.random.default_rng(0)
    xy, z = random.standard_normal((*batch, 2)), random.standard_normal((*batch, 1))
    result = jax.ShapeDtypeStruct((*batch, 3), np.float64)
    found = jax.ffi.ffi_call(registered(jax, kernel(), width), result)(xy, z)
    x, y = xy[..., 0], xy[..., 1]
    expected = np.stack([x * y + z[..., 0], 3 * x * z[..., 0], y], axis=-1)
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-15)


def test_names_follow_the_content():
    """What JAX has cached on disk names machine code: the same name must mean the same numbers in every process."""
    one, same, other = kernel(), kernel(), kernel(5.0)
    assert registered(jax, one, 1) == registered(jax, same, 1)
    names = {registered(jax, one, 1), registered(jax, one, 4), registered(jax, other, 1)}
    assert len(names) == 3


def test_it_says_its_version_where_it_is_asked():
    """XLA_FFI_Metadata_Extension, as xla/ffi/api/c_api.h lays it out; nothing else is touched."""
    made = kernel()
    library = loaded(handler(made, 1), made.target, ENTRY, {"rows_1": made.address(1)})
    call = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(int(library[ENTRY]))
    metadata = (ctypes.c_uint8 * 48)(*[255] * 48)
    extension = (ctypes.c_uint64 * 4)(32, 1, 0, ctypes.addressof(metadata))  # size, type, next, metadata
    frame = (ctypes.c_uint64 * 24)(192, ctypes.addressof(extension))
    assert call(ctypes.addressof(frame)) is None
    numbers = np.frombuffer(metadata, dtype=np.int32)
    assert list(numbers[6:9]) == [0, 1, 0]  # major and minor version, traits
    assert all(numbers[:6] == -1)
    assert all(numbers[9:] == -1)
