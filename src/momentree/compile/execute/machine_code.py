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
from momentree.compile.emit.number_tables import filled, separated
from momentree.compile.execute import cache
from momentree.errors import MomentreeError

WORKING_SET = 64 * 1024  # bytes: twice a first-level cache, since most live values are idle; 8 lanes of 842 still paid
_LEVELS = ("0", "1", "2", "3")
USUAL_LEVEL = 2
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
def address_in_c(name: str) -> int:
    """Where a function of C is, such as the fused multiply-add, which a processor without that instruction calls."""
    library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
    if not hasattr(library, name):  # libm is not among the libraries of the interpreter
        library = ctypes.CDLL(ctypes.util.find_library("m"))
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0


def object_code(text: str, target: Target, level: int | None = None) -> bytes:
    """The object file of a module: the cached one, or a new one; at a level of code generation, or at the usual one."""
    key = _key(text, target, level)
    code = cache.get(key)
    if code is None:
        with activity("generating machine code"):
            code = _generated(text, target, level)
        cache.put(key, code)
    return code


def is_cached(text: str, target: Target) -> bool:
    """Whether the object file of a module at the usual level is there, so that loading it takes no time."""
    return cache.get(_key(separated(text)[0], target)) is not None


def _key(text: str, target: Target, level: int | None = None) -> str:
    """From everything that determines the result of the code generator."""
    import llvmlite
    from llvmlite import binding

    version = ".".join(map(str, binding.llvm_version_info))
    ours = sys.modules["momentree"].__version__
    options = " ".join([*(f"{name}={value}" for name, value in _options(level).items()), f"{_SCHEDULING}=false"])
    return cache.key_of(text, *target, binding.get_default_triple(), version, llvmlite.__version__, ours, options)


def chosen_level() -> int | None:
    """The level of code generation that the user has set."""
    level = os.environ.get("MOMENTREE_OPTIMIZE", "")
    if level and level not in _LEVELS:
        raise MomentreeError(f"MOMENTREE_OPTIMIZE is '{level}'; give a whole number from 0 to 3, or unset it.")
    return int(level) if level else None


def _options(level: int | None = None) -> dict[str, Any]:
    """How code is generated."""
    if level is None:
        chosen = chosen_level()
        level = USUAL_LEVEL if chosen is None else chosen
    return {"opt": level, "reloc": "pic", "codemodel": "small"}


def _generated(text: str, target: Target, level: int | None = None) -> bytes:
    from llvmlite import binding

    _initialised()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=target.cpu, features=target.features, **_options(level)
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


def loaded(
    text: str, target: Target, symbols: str | Sequence[str], others: Mapping[str, int], level: int | None = None
) -> Any:
    """The machine code of a module, linked in memory, with the numbers of its tables."""
    alike, contents = separated(text)
    wanted = [symbols] if isinstance(symbols, str) else list(symbols)
    library = linked(object_code(alike, target, level), [*wanted, *contents], others)
    filled(library, contents)
    return library


def linked(code: bytes, symbols: str | Sequence[str], others: Mapping[str, int]) -> Any:
    """Link an object file in memory; the result holds the addresses of the symbols and keeps the code alive."""
    from llvmlite import binding

    library = binding.JITLibraryBuilder().add_object_img(code)
    for symbol in [symbols] if isinstance(symbols, str) else symbols:
        library.export_symbol(symbol)
    for name, address in {"fma": address_in_c("fma"), **others}.items():
        if name.encode() in code:  # it is named in the object file, so it is called
            library.import_symbol(name, address)
    return library.link(_linker(), f"momentree{next(_numbers)}")
