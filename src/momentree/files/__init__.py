"""Model files: TOML text <-> Model, what is saved loads equal; robot files <-> Model, as far as these can say."""

from momentree.files.load import load
from momentree.files.model_files import dumps, loads
from momentree.files.save import save

__all__ = ["dumps", "load", "loads", "save"]
