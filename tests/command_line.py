"""`momentree WORD...` in this process: what it prints and its exit status, without the price of a new interpreter.

Each file of tests of the command line keeps some that start a real process.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from typing import NamedTuple
from unittest import mock

from momentree.cli import main


class Done(NamedTuple):
    """What a command left behind, with the names of subprocess.CompletedProcess."""

    returncode: int
    stdout: str
    stderr: str


def command(*words: object, cwd: object = None) -> Done:
    """Runs the command in a folder, with the warnings that a new interpreter shows."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(os.fspath(cwd or ".")))  # type: ignore[call-overload]
        stack.enter_context(mock.patch.object(sys, "argv", ["momentree", *map(str, words)]))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("default")
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
            status = 0
        except SystemExit as end:
            status = int(end.code or 0)
    return Done(status, out.getvalue(), err.getvalue())
