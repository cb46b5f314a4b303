"""What equations and derivations have in common: text in a terminal, typeset in a notebook, a document in LaTeX."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from momentree.errors import MomentreeError
from momentree.files.atomic_write import write_file
from momentree.symbols.names import escaped, plain


class Typeset:
    """Shown by its lines of text and of LaTeX."""

    def heading(self) -> str:
        """The heading of its document."""
        raise NotImplementedError

    def text_lines(self) -> Iterator[str]:
        """Its lines in a terminal."""
        raise NotImplementedError

    def latex_lines(self) -> Iterator[str]:
        """Its lines in LaTeX, with environments of amsmath."""
        raise NotImplementedError

    def latex(self, path: str | Path | None = None) -> str:
        """A fragment for a document that uses amsmath; with a path, also written there as a document of its own."""
        fragment = "\n".join(self.latex_lines())
        if path is not None:
            write_latex(path, self.heading(), fragment)
        return fragment

    def show(self) -> None:
        """Display it: typeset in a notebook, as text in a terminal."""
        shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
        if type(shell).__name__ == "ZMQInteractiveShell":
            sys.modules["IPython"].display.display(self)
            return
        text = str(self)
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = plain(text)
        print(text)

    def _repr_latex_(self) -> str:
        return self.latex()

    def __str__(self) -> str:
        return "\n".join(self.text_lines())


def write_latex(path: str | Path, title: str, fragment: str) -> None:
    """Write the fragment into a .tex file, as a document that compiles by itself."""
    path = Path(path)
    if path.suffix != ".tex":
        raise MomentreeError(f"{path}: LaTeX is written into a .tex file.")
    write_file(path, latex_document(title, fragment))


def latex_document(title: str, fragment: str) -> str:
    """The fragment as a document that compiles by itself."""
    return "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[a4paper,margin=2cm]{geometry}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage{amsmath}",
            r"\begin{document}",
            r"\noindent",
            escaped(title),
            fragment,
            r"\end{document}",
            "",
        ]
    )
