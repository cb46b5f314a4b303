"""Machine code from the text of an LLVM module: processor, options, linking.

Object files are cached on disk (cache.py): with the same text, processor and version of LLVM, code is only linked.

MOMENTREE_OPTIMIZE is LLVM's level of code generation, 0 to 3; 2 if it is not set. Level 0 takes less than half the time
of level 2, and its code, which is somewhat slower, computes the same bits: no level may reorder floating-point
operations.
"""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import itertools
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from momentree.activity import activity
from momentree.compile.emit.llvm_functions import LIBM, libm_symbol
from momentree.compile.emit.number_tables import filled, separated
from momentree.compile.execute import cache
from momentree.errors import MomentreeError

WORKING_SET = 64 * 1024  # bytes: twice a first-level cache, since most live values are idle; 8 lanes of 842 still paid
_LEVELS = ("0", "1", "2", "3")
_SCHEDULING = "-enable-misched"
_NEWEST_TRIED = 22  # version of LLVM
_numbers = itertools.count()  # the name of a library is never used twice


class Target(NamedTuple):
    """A processor as LLVM calls it; without a name and features, the oldest one of this architecture."""

    cpu: str = ""
    features: str = ""

    @classmethod
    @functools.cache
    def host(cls) -> Target:
        """This one."""
        from llvmlite import binding

        return cls(binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten())

    def lanes(self, live: int) -> int:
        """How many rows at a time: what a register holds, but fewer where that many live values overflow the cache."""
        features = self.features.split(",")
        width = 8 if "+avx512f" in features else 4 if "+avx" in features else 2
        while width > 2 and live * width * 8 > WORKING_SET:
            width //= 2
        return width


@functools.cache
def _initialised() -> None:
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()


@functools.cache
def _linker() -> Any:
    from llvmlite import binding

    _initialised()
    return binding.create_lljit_compiler(use_jit_link=True)


@functools.cache
def _libm() -> dict[str, int]:
    """Addresses of the functions of libm, by their names on a tape."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    if not hasattr(library, "atan2"):  # libm is not among the libraries of the interpreter
        library = ctypes.CDLL(ctypes.util.find_library("m"))
    return {name: ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value or 0 for name, symbol in LIBM.items()}


def object_code(text: str, target: Target) -> bytes:
    """The object file of a module: the cached one, or a new one."""
    key = _key(text, target)
    code = cache.get(key)
    if code is None:
        with activity("generating machine code"):
            code = _generated(text, target)
        cache.put(key, code)
    return code


def _key(text: str, target: Target) -> str:
    """From everything that determines the result of the code generator."""
    import llvmlite
    from llvmlite import binding

    version = ".".join(map(str, binding.llvm_version_info))
    ours = sys.modules["momentree"].__version__
    options = " ".join([*(f"{name}={value}" for name, value in _options().items()), f"{_SCHEDULING}=false"])
    return cache.key_of(text, *target, binding.get_default_triple(), version, llvmlite.__version__, ours, options)


def _options() -> dict[str, Any]:
    """How code is generated."""
    level = os.environ.get("MOMENTREE_OPTIMIZE", "") or "2"
    if level not in _LEVELS:
        raise MomentreeError(f"MOMENTREE_OPTIMIZE is '{level}'; give a whole number from 0 to 3, or unset it.")
    return {"opt": int(level), "reloc": "pic", "codemodel": "small"}


def _generated(text: str, target: Target) -> bytes:
    from llvmlite import binding

    _initialised()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, **_options()
    )
    module = binding.parse_assembly(text, binding.create_context())
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    with _unscheduled():
        return bytes(machine.emit_object(module))


@contextlib.contextmanager
def _unscheduled() -> Iterator[None]:
    """Switches off LLVM's scheduler of instructions, which makes long straight-line code slower.

    The option belongs to the whole process, so it is set back for others. LLVM ends the process at an unknown option:
    it is set only for versions that have it.
    """
    from llvmlite import binding

    has_option = binding.llvm_version_info[0] <= _NEWEST_TRIED
    if has_option:
        binding.set_option("momentree", f"{_SCHEDULING}=false")
    try:
        yield
    finally:
        if has_option:
            binding.set_option("momentree", f"{_SCHEDULING}=true")


def loaded(text: str, target: Target, symbols: str | Sequence[str], others: Mapping[str, int]) -> Any:
    """The machine code of a module, linked in memory, with the numbers of its tables."""
    alike, contents = separated(text)
    wanted = [symbols] if isinstance(symbols, str) else list(symbols)
    library = linked(object_code(alike, target), [*wanted, *contents], others)
    filled(library, contents)
    return library


def linked(code: bytes, symbols: str | Sequence[str], others: Mapping[str, int]) -> Any:
    """Link an object file in memory; the result holds the addresses of the symbols and keeps the code alive."""
    from llvmlite import binding

    library = binding.JITLibraryBuilder().add_object_img(code)
    for symbol in [symbols] if isinstance(symbols, str) else symbols:
        library.export_symbol(symbol)
    addresses = {libm_symbol(name): address for name, address in _libm().items()} | dict(others)
    for name, address in addresses.items():
        if name.encode() in code:  # it is named in the object file, so it is called
            library.import_symbol(name, address)
    return library.link(_linker(), f"momentree{next(_numbers)}")
