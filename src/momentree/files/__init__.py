"""Text <-> Model: TOML files that load equal to what was saved."""

from momentree.files.model_files import dumps, load, loads, save

__all__ = ["dumps", "load", "loads", "save"]
