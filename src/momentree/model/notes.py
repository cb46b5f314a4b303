"""Notes of a model that came from a file of another format: what the file says and the model does not, by kind."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 200  # characters of a name that are shown


@dataclass(frozen=True)
class Note:
    """One kind of thing that was left out or changed.

    | field | meaning                                                             |
    |-------|---------------------------------------------------------------------|
    | kind  | what was done, and to what: "left out <gazebo>"                     |
    | names | of those that have one, each once, in the order of the file         |
    | count | how many there are                                                  |
    """

    kind: str
    names: tuple[str, ...] = ()
    count: int = 1

    def shown(self, most: int | None = None) -> str:
        """ "meshes not found: 'a.stl', 'b.stl' and 7 more", with at most so many names."""
        if not self.names:
            return f"{self.kind} ({self.count})"
        few = ", ".join(f"'{_printable(name)}'" for name in self.names[:most])
        more = len(self.names) - (len(self.names) if most is None else most)
        return f"{self.kind}: {few}{f' and {more} more' if more > 0 else ''}"

    def __str__(self) -> str:
        if not self.names:
            return self.shown()
        return Note(f"{self.kind} ({self.count})", self.names).shown()


def _printable(name: str) -> str:
    name = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
