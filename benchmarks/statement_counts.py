"""How many statements a program has: lines can be broken anywhere, statements cannot."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any


def statements(*functions: Callable[..., Any]) -> int:
    """Those in the bodies of functions; docstrings do nothing."""
    trees = [ast.parse(textwrap.dedent(inspect.getsource(function))) for function in functions]
    found = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return sum(not _is_text(node) for node in found) - len(functions)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
