"""Standard output and error of the command line: closed ones, and those that cannot be written."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import NoReturn


def fill_closed_streams() -> None:
    """Let what is printed to a closed stream lead nowhere; without this, the next file would take its place."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115


def refuse_to_print(error: OSError) -> NoReturn:
    """Say why nothing can be printed, and exit; the rest of the output is lost."""
    with contextlib.suppress(OSError):
        reason = f"{error.filename or 'standard output'}: cannot be written: {error.strerror or error}"
        print(f"{reason}. Choose another file.", file=sys.stderr, flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(1)
