"""Model files: TOML text <-> Model; what is saved loads equal."""

from momentree.files.model_files import dumps, load, loads, save

__all__ = ["dumps", "load", "loads", "save"]
