"""Arrays of CuPy, PyTorch and JAX that live on a GPU: taken and given without a copy, refused with a way out."""

from __future__ import annotations

import numpy as np
import pytest

from mechanisms import four_bar, random_configuration, random_tree
from momentree.compile.execute.gpu_arrays import DeviceArray
from momentree.errors import MomentreeError

pytestmark = pytest.mark.gpu
KINDS = ["Free", "Revolute", "Spherical", "Prismatic"]
ROWS = 300


@pytest.fixture(scope="module")
def case():
    random = np.random.default_rng(0)
    system = random_tree(random, KINDS).build()
    q = np.array([random_configuration(random, system) for _ in range(ROWS)])
    return system, q, *random.normal(size=(2, ROWS, system.nv))


def cupy():
    module = pytest.importorskip("cupy", reason="CuPy is not installed")
    return module.asarray, lambda x: module.asarray(x).get()


def torch():
    module = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    return lambda x: module.from_numpy(x).cuda(), lambda x: module.from_dlpack(x).cpu().numpy()


def jax():
    module = pytest.importorskip("jax", reason="JAX is not installed")
    module.config.update("jax_enable_x64", True)
    if module.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    return module.numpy.asarray, lambda x: np.asarray(module.dlpack.from_dlpack(x))


@pytest.mark.parametrize("library", [cupy, torch, jax])
@pytest.mark.parametrize("what", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "coriolis_matrix"])
def test_the_bits_are_those_of_the_processor(library, what, case):
    put, get = library()
    system, q, v, u = case
    arguments = {"mass_matrix": [q], "bias": [q, v], "coriolis_matrix": [q, v]}.get(what, [q, v, u])
    found = getattr(system, what)(*map(put, arguments))
    assert isinstance(found, DeviceArray)
    assert np.array_equal(get(found), getattr(system, what)(*arguments))
    assert np.array_equal(found.numpy(), get(found))


def test_no_copy_is_made(case):
    put, _ = cupy()
    import cupy as cp

    system, q, v, u = case
    found = system.forward_dynamics(put(q), put(v), put(u))
    view = cp.asarray(found)
    assert view.data.ptr == found._memory.address
    out = cp.empty_like(view)
    assert system.forward_dynamics(put(q), put(v), put(u), out=out) is out
    assert np.array_equal(out.get(), found.numpy())


def test_work_that_is_under_way_is_waited_for(case):
    put, _ = cupy()
    import cupy as cp

    system, q, v, u = case
    with cp.cuda.Stream(non_blocking=True):
        there = cp.zeros_like(put(q))
        big = cp.random.default_rng(0).standard_normal(size=(4000, 4000))
        for _ in range(20):
            big = big @ big / 4000
        there += put(q) + 0 * big.ravel()[0].clip(-1, 1)
        found = system.forward_dynamics(there, put(v), put(u))
    assert np.array_equal(found.numpy(), system.forward_dynamics(q, v, u))


def test_one_row_serves_all_and_parameters_vary():
    put, get = cupy()
    model = four_bar()
    model.parameter("c", 0.1)
    model.torque("A", "-c*A'")
    system = model.build(free=["c"])
    start = system.assemble({"A": 1.0}, velocities={"A": 1.0})
    q, v = np.tile(start.q, (50, 1)), np.tile(start.v, (50, 1))
    c = np.linspace(0, 1, 50)
    here = system.forward_dynamics(q, v, parameters={"c": c})
    assert np.array_equal(get(system.forward_dynamics(put(q), put(v), parameters={"c": c})), here)
    assert np.array_equal(get(system.forward_dynamics(put(q), start.v)), system.forward_dynamics(q, start.v))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda q, v, u: (q.astype("float32"), v, u), "q holds float32. Make it float64"),
        (lambda q, v, u: (q[:, ::-1], v, u), "q is not contiguous"),
        (lambda q, v, u: (q[:10], v, u), "do not fit together"),
        (lambda q, v, u: (q[:, :-1].copy(), v, u), "its last axis must have length"),
        (lambda q, v, u: (q, v.get(), u), "v is on the host"),
        (lambda q, v, u: (q, v * np.nan, u), "not a finite number in row 0"),
        (lambda q, v, u: (q * 2, v, u), "not of unit length in row 0"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_way_out(change, message, case):
    put, _ = cupy()
    system, *arrays = case
    with pytest.raises(MomentreeError, match=message):
        system.forward_dynamics(*change(*map(put, arrays)))
