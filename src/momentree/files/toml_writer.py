"""Writer of TOML: a plain dict to text that reads back as the same dict, number types included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from momentree.files.toml_reader import DEEPEST, TomlPath

WIDEST = 100  # characters of a line with an array in it; a longer one is broken

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(0x20), 0x7F)}
_ESCAPES |= {ord(c): f"\\{letter}" for c, letter in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)}


def write_document(data: dict[str, Any]) -> str:
    """TOML text of dicts, lists, tuples, strings, integers, floats and booleans: tomllib.loads gives them back.

    Single values come first, then [tables], then [[arrays of tables]]; tables deeper down are inline. Raises
    TypeError for anything else, None included, and ValueError for what TOML cannot say, with the path to it.
    """
    _check_dict(data, ())
    tables = {key: value for key, value in data.items() if isinstance(value, dict)}
    arrays = {key: value for key, value in data.items() if _is_array_of_tables(value)}
    single = {key: value for key, value in data.items() if key not in tables and key not in arrays}

    blocks = [_entries(single, ())] if single else []
    for key, table in tables.items():
        blocks.append(f"[{_key(key, (key,))}]\n" + _entries(table, (key,)))
    for key, items in arrays.items():
        for i, item in enumerate(items):
            blocks.append(f"[[{_key(key, (key,))}]]\n" + _entries(item, (key, i)))
    return "\n".join(blocks)


def _is_array_of_tables(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(item, dict) for item in value)


def _entries(table: Mapping[str, Any], path: TomlPath) -> str:
    _check_dict(table, path)
    return "".join(_entry(key, value, (*path, key)) for key, value in table.items())


def _entry(key: str, value: Any, path: TomlPath) -> str:
    """One `key = value`; on one line unless it is an array too long for that."""
    start = f"{_key(key, path)} = "
    if isinstance(value, list | tuple) and len(value) > WIDEST and all(type(x) is float for x in value):
        return start + "[\n" + "".join(f"    {x!r},\n" for x in value) + "]\n"  # as below, but fast: tables are long
    line = start + _value(value, path)
    if len(line) <= WIDEST or not isinstance(value, list | tuple):
        return line + "\n"
    elements = "".join(f"    {_value(element, (*path, i))},\n" for i, element in enumerate(value))
    return f"{start}[\n{elements}]\n"


def _value(value: Any, path: TomlPath) -> str:
    if len(path) > DEEPEST:
        raise ValueError(f"{_place(path[:8])}...: nested too deeply, more than {DEEPEST} levels")
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return _integer(value, path)
        case float():
            return float.__repr__(value)  # numpy's own repr of its floats is not a number
        case str():
            return _string(value, path)
        case list() | tuple():
            return "[" + ", ".join(_value(element, (*path, i)) for i, element in enumerate(value)) + "]"
        case dict():
            _check_dict(value, path)
            pairs = (f"{_key(key, (*path, key))} = {_value(item, (*path, key))}" for key, item in value.items())
            return f"{{ {', '.join(pairs)} }}" if value else "{}"
        case None:
            raise TypeError(f"{_place(path)}: TOML has no None; leave the key out")
    raise TypeError(f"{_place(path)}: {type(value).__name__} is not dict, list, tuple, str, int, float or bool")


def _integer(value: int, path: TomlPath) -> str:
    try:
        return int.__repr__(value)
    except ValueError:  # Python neither writes nor reads thousands of digits
        raise ValueError(f"{_place(path)}: the integer has too many digits") from None


def _key(key: str, path: TomlPath) -> str:
    return key if _BARE_KEY.fullmatch(key) else _string(key, path)


def _string(text: str, path: TomlPath) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{_place(path)}: {text!r} has a lone surrogate, which is not Unicode text") from None
    return f'"{text.translate(_ESCAPES)}"'


def _check_dict(table: Any, path: TomlPath) -> None:
    if not isinstance(table, dict):
        raise TypeError(f"{_place(path)}: {type(table).__name__} is not a dict")
    for key in table:
        if not isinstance(key, str):
            raise TypeError(f"{_place(path)}: the key {key!r} is {type(key).__name__}, not str")


def _place(path: TomlPath) -> str:
    """A path as a reader would write it: joint[3].axis."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".").encode("utf-8", "backslashreplace").decode() or "the document"
