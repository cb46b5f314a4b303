"""The bytes of a model file of any format; whatever is wrong with the file is an error that says the way out."""

from __future__ import annotations

import os
import re
import stat
from itertools import islice
from pathlib import Path

from momentree.errors import ModelError, Problem, suggestion

LARGEST = 32_000_000  # bytes of a file
LONG = re.compile(r"((?<=')[^'\n]{160})[^'\n]{40,}(?=')")  # a text between quotes that nobody reads


def is_regular(path: str | os.PathLike[str]) -> bool:
    """Whether there is a regular file: no pipe or device, whose reader waits, and no folder."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # ValueError: a name that no file can have
        return False


def read_bytes(path: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of a regular file of bearable size; never waits for a pipe, never drains a device."""
    too_large = f"is larger than {LARGEST // 10**6} MB. Build a model of that size in Python."
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise file_error(name, "is a folder. Name a file in it." + _near(Path(path), ""))
        if not stat.S_ISREG(status.st_mode):
            raise file_error(name, "is not a regular file but a pipe, a socket or a device. Copy the model to a file.")
        if status.st_size > LARGEST:
            raise file_error(name, too_large)
        with open(path, "rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise file_error(name, "does not exist." + _near(Path(path).parent, Path(path).name)) from None
    except PermissionError:
        raise file_error(
            name, "may not be read: permission denied. Change its permissions or those of its folder."
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise file_error(name, f"cannot be read: {getattr(error, 'strerror', None) or error}.") from None
    if len(data) > LARGEST:  # it grew, or did not tell its size
        raise file_error(name, too_large)
    return data


def _near(folder: Path, name: str) -> str:
    """The way out of a misspelt file name: the model files of the folder, the nearest if there is one."""
    try:
        with os.scandir(folder) as entries:
            files = sorted(printed_name(entry.name) for entry in islice(entries, 1000) if entry.name.endswith(".toml"))
    except FileNotFoundError:
        return f" Nor does the folder '{printed_name(str(folder))}'."
    except OSError:
        return ""
    return suggestion(name, files) if files else " There is no .toml file in that folder."


def file_error(name: str, message: str, line: int | None = None) -> ModelError:
    """One problem of a file, at a line of it; what it quotes of the file is shortened, and can be printed."""
    origin = name or "<text>"
    message = LONG.sub(r"\1...", "\n".join(printed_name(row) for row in message.split("\n")))
    return ModelError([Problem("", message, place=origin if line is None else f"{origin}:{line}")])


def printed_name(text: str) -> str:
    """A name as a message shows it: what cannot be printed is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
