"""What the pages say of stabilizations is what their records say."""

from __future__ import annotations

from pathlib import Path

import momentree
from momentree.equations.stabilizations import markdown_table

ROOT = Path(momentree.__file__).parents[2]


def test_the_page_on_simulation_has_the_table_of_stabilizations():
    page = (ROOT / "docs" / "simulation.md").read_text(encoding="utf-8")
    assert f"\n{markdown_table()}\n" in page, f"docs/simulation.md: put this table there.\n{markdown_table()}"
