"""Colors: names, hexadecimal digits, triples, and what is none of these."""

import pytest

from momentree.model.colors import COLORS, color_of
from momentree.model.values import Mistake


def test_names_digits_and_triples():
    from matplotlib.colors import to_rgb

    assert color_of("orange") == (230, 159, 0)  # Okabe and Ito
    assert color_of("#0a80fF") == tuple(round(255 * x) for x in to_rgb("#0a80fF"))
    assert color_of((1, 2, 255)) == (1, 2, 255)
    assert all(color_of(name) == color for name, color in COLORS.items())


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("ornage", "Did you mean 'orange'?"),
        ("#12345", "Write six digits"),
        ("#gggggg", "Write six digits"),
        ("x" * 10_000, "there is no color"),
        ((1, 2), "whole numbers from 0 to 255"),
        ((1, 2, 256), "whole numbers from 0 to 255"),
        ((1, 2, -1), "whole numbers from 0 to 255"),
        ((0.1, 0.2, 0.3), "whole numbers from 0 to 255"),
        ((True, 0, 0), "whole numbers from 0 to 255"),
        (7, "color is 7"),
        ("<script>", "there is no color '<script>'"),
    ],
)
def test_what_is_no_color(raw, words):
    with pytest.raises(Mistake) as caught:
        color_of(raw)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 400
