"""Working memory of many threads, interleaved: number i of the threads of a warp side by side.

The threads of a warp read the same number at the same time. Side by side in memory they are one access, one after the
other they are 32. So where a function gets memory of its own as an argument, its arrays are laid out with 32 numbers to
an element: `getelementptr double` becomes `getelementptr [32 x double]`, in all functions that it hands parts to.
"""

from __future__ import annotations

import re

WARP = 32  # threads that run together
_FUNCTION = re.compile(r"^define [^\n@]*@([\w.]+)\(([^\n()]*)\)[^\n]*\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_ELEMENT = re.compile(r"^  (%[\w.]+) = getelementptr (double|i64|ptr), ptr (%[\w.]+),", re.MULTILINE)
_CHOICE = re.compile(r"^  (%[\w.]+) = (?:phi ptr|select i1 [^,]+, ptr)(.*)$", re.MULTILINE)
_CALL = re.compile(r"\bcall\b[^\n@]*@([\w.]+)\(([^\n]*)\)")
_NAME = re.compile(r"%[\w.]+")


def interleaved(text: str, entry: str) -> str:
    """The text of a module in which the memory that the last argument of `entry` points to is interleaved."""
    functions = {found[1]: _Function(found) for found in _FUNCTION.finditer(text)}
    waiting = [(entry, len(functions[entry].arguments) - 1)]
    while waiting:
        name, place = waiting.pop()
        if name in functions and functions[name].arguments[place] not in functions[name].pointers:
            waiting += functions[name].reached_from(functions[name].arguments[place])
    for function in functions.values():
        function.check(functions)
    return _FUNCTION.sub(lambda found: found[0].replace(found[3], functions[found[1]].rewritten()), text)


class _Function:
    """One function of the module; `pointers` are those in it that lead to interleaved memory."""

    def __init__(self, found: re.Match[str]):
        self.name, self.body = found[1], found[3]
        self.arguments = [_NAME.findall(one)[-1] for one in found[2].split(", ") if one]
        self.pointers: set[str] = set()
        self._elements, self._choices = _ELEMENT.findall(self.body), _CHOICE.findall(self.body)
        self._calls = [(called, passed.split(", ")) for called, passed in _CALL.findall(self.body)]

    def reached_from(self, pointer: str) -> list[tuple[str, int]]:
        """Note a pointer and all that follow from it; gives the arguments of functions that get any of them."""
        fresh = {pointer}
        while fresh:
            self.pointers |= fresh
            reached = {at for at, _, base in self._elements if base in self.pointers}
            reached |= {at for at, others in self._choices if self.pointers & {*_NAME.findall(others)}}
            fresh = reached - self.pointers
        return [(called, k) for called, passed in self._calls for k in range(len(passed)) if self._leads(passed[k])]

    def _leads(self, passed: str) -> bool:
        return passed.startswith("ptr ") and passed.split()[-1] in self.pointers

    def check(self, functions: dict[str, _Function]) -> None:
        """A function must get interleaved memory as an argument in all calls, or in none."""
        for called, passed in self._calls:
            if other := functions.get(called):
                for name, one in zip(other.arguments, passed, strict=True):
                    assert self._leads(one) == (name in other.pointers), f"{self.name} calls {called} with other memory"

    def rewritten(self) -> str:
        """Its body with elements of 32 numbers where memory is interleaved."""

        def element(found: re.Match[str]) -> str:
            if found[3] not in self.pointers:
                return found[0]
            return f"  {found[1]} = getelementptr [{WARP} x {found[2]}], ptr {found[3]},"

        return _ELEMENT.sub(element, self.body)
