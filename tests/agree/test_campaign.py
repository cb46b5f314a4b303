"""Random mechanisms of every kind agree with an oracle in maximal coordinates (docs/campaign.md).

What they disagree about is printed with its seed: `python -m campaign --n 1 --seed ... --shrink` makes it small.
"""

from __future__ import annotations

import pytest

from campaign.compare import Result, examine
from campaign.report import summary, too_many_refused

CHUNK = 25


def judged(results: list[Result]) -> None:
    wrong = [result for result in results if result.verdict == "disagree"]
    assert not wrong, summary(wrong)


@pytest.mark.parametrize("first", range(0, 300, CHUNK))
def test_random_mechanisms_agree_with_the_oracle(first: int) -> None:
    judged([examine(seed, runs=False, compiled=seed % 100 == 0) for seed in range(first, first + CHUNK)])


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 6000, 250))
def test_thousands_of_random_mechanisms_agree_with_the_oracle(first: int) -> None:
    results = [examine(seed, runs=False, compiled=seed % 100 == 0) for seed in range(first, first + 250)]
    judged(results)
    assert not too_many_refused(results), summary(results)
