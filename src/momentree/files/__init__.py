"""Model files: TOML text <-> Model, what is saved loads equal; robot files -> Model."""

from momentree.files.load import load
from momentree.files.model_files import dumps, loads, save

__all__ = ["dumps", "load", "loads", "save"]
