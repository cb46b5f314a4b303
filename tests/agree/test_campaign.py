"""Random mechanisms of every kind agree with an oracle in maximal coordinates (docs/campaign.md).

What they disagree about is printed with its seed: `python -m campaign --n 1 --seed ... --shrink` makes it small.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

import momentree as mt
from campaign import compare, constrained, crew, report
from campaign.compare import EVERY_METHOD, Result, examine
from campaign.families import FAMILIES
from campaign.forms import CONSTRAINED
from campaign.generator import sample
from campaign.geometry import FREEDOM
from campaign.metamorphic import obey
from campaign.report import summary, too_many_refused
from campaign.shrink import smallest

QUICK, LONG = range(300), range(1000, 2000)  # more of them: `make campaign`
CHUNK, LONG_CHUNK = 12, 250
CONSTRAINED_CHUNK = 4
EVERY_KIND = 300  # seeds in which every kind is drawn
# of models, but not of what moves: pictures, what is looked at, and laws given by points, which tests of tables hold
NOT_DRAWN = {"shapes", "outputs", "tables"}
# rotors of motors, which tests/agree/test_armature.py holds, and what an impossible inertia makes of a model
FIELDS_NOT_DRAWN = {"armature", "inertia_check"}


def judged(results: list[Result]) -> None:
    wrong = [result for result in results if result.verdict == "disagree"]
    assert not wrong, summary(wrong)


@pytest.mark.repeats(1)
@pytest.mark.parametrize("first", QUICK[::CHUNK])
def test_random_mechanisms_agree_with_the_oracle(first: int) -> None:
    seeds = range(first, first + CHUNK)
    judged([examine(seed, methods=(), compiled=seed == 1) for seed in seeds])


@pytest.mark.parametrize(("seed", "methods"), [(5, EVERY_METHOD[2:3]), (6, EVERY_METHOD[::3])])  # a loop, and a tree
@pytest.mark.repeats(1)
def test_short_motions_agree_with_the_oracle(seed: int, methods: tuple[tuple[str, str], ...]) -> None:
    judged([examine(seed, methods=methods)])


@pytest.mark.long
@pytest.mark.parametrize("first", LONG[::LONG_CHUNK])
def test_thousands_of_random_mechanisms_agree_with_the_oracle(first: int) -> None:
    results = []
    for seed in range(first, first + LONG_CHUNK):
        some = seed // 200 % len(EVERY_METHOD)  # a motion by one method in turn
        methods = EVERY_METHOD[some : some + 1] if seed % 200 == 0 else ()
        results.append(examine(seed, methods=methods, compiled=seed % 250 == 1))
    judged(results)
    assert not too_many_refused(results), summary(results)


def test_what_is_drawn_has_every_joint_and_the_same_seed_draws_the_same() -> None:
    drawn = [sample(seed) for seed in range(60)]
    found = Counter(feature for each in drawn for feature in each.features)
    assert {*FREEDOM} <= {*found}
    again = sample(17)
    assert again.model == drawn[17].model
    assert again.coordinates == drawn[17].coordinates


# --- constraints of every kind ---


@pytest.mark.repeats(1)
@pytest.mark.parametrize("first", range(10_000, 10_300, CONSTRAINED_CHUNK))
def test_constrained_mechanisms_agree_with_the_oracle_and_in_every_form(first: int) -> None:
    results = [examine(first + k, methods=(), compiled=False, family=CONSTRAINED) for k in range(CONSTRAINED_CHUNK)]
    judged(results)
    assert sum(result.verdict == "agree" for result in results) >= CONSTRAINED_CHUNK - 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.repeats(1, of="family")
@pytest.mark.parametrize("first", range(10_000, 10_300, CONSTRAINED_CHUNK))
def test_mechanisms_that_are_changed_move_as_the_change_says(first: int, family: str) -> None:
    judged([obey(first + k, family) for k in range(CONSTRAINED_CHUNK)])


@pytest.mark.long
@pytest.mark.parametrize(("seed", "how"), [(10_003, "in C"), (802, "in symbols"), (296, "moved by every formulation")])
def test_some_agree_in_c_in_symbols_and_as_they_move_on(seed: int, how: str) -> None:
    result = examine(seed, methods=EVERY_METHOD[::3] if "moved" in how else (), compiled=False, family=CONSTRAINED)
    judged([result])
    assert how in result.features


def models(constrained_models: Iterable[mt.Model]) -> list[mt.Model]:
    """Of both families."""
    return [*constrained_models, *(sample(seed).model for seed in range(60))]


@pytest.fixture(scope="module")
def quick_models() -> list[mt.Model]:
    """As they are drawn at first; some of them cannot move, and would be drawn again."""
    attempts = (constrained.drawn(seed, 0) for seed in range(EVERY_KIND))
    return models(attempt.model for attempt in attempts if attempt)


def test_every_kind_of_element_and_every_field_of_it_is_drawn(quick_models: list[mt.Model]) -> None:
    check_what_is_drawn(quick_models)


@pytest.mark.long
def test_and_is_in_mechanisms_that_are_compared() -> None:
    check_what_is_drawn(models(constrained.sample(seed).model for seed in range(EVERY_KIND)))


def check_what_is_drawn(models: list[mt.Model]) -> None:
    """Found by the lists of a model and the fields of their elements: one that is new is drawn, or named above."""
    lists = {name for name, part in vars(mt.Model()).items() if isinstance(part, list)}
    assert {name for name in lists if any(getattr(m, name) for m in models)} == lists - NOT_DRAWN
    elements = [x for m in models for part in vars(m).values() if isinstance(part, list) for x in part]
    elements += [joint.type for m in models for joint in m.joints]
    fields: dict[type, set[str]] = {}
    for element in filter(dataclasses.is_dataclass, elements):
        missing = fields.setdefault(_counted(element), {field.name for field in dataclasses.fields(element)})
        missing -= {f.name for f in dataclasses.fields(element) if not _same(getattr(element, f.name), f.default)}
    left = {kind.__name__: missing - FIELDS_NOT_DRAWN for kind, missing in fields.items()}
    assert not {name: missing for name, missing in left.items() if missing}


def _counted(element: object) -> type:
    """Options of joints count for all types together."""
    return next((kind for kind in type(element).__mro__ if kind.__name__ == "JointType"), type(element))


def _same(value: object, default: object) -> bool:
    return type(value) is type(default) and value == default


# --- the campaign sees what is wrong, and loses nothing ---


@pytest.fixture
def heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle for which the second body of every model is heavier by a millionth."""

    def read(model):
        plain = right(model)
        for body in plain.bodies:
            if body.name == "b2":
                body.mass *= 1 + 1e-6
        return plain

    right = compare.read
    monkeypatch.setattr(compare, "read", read)


@pytest.mark.usefixtures("heavy")
def test_a_mass_that_differs_in_the_seventh_digit_is_seen_and_the_model_made_small() -> None:
    result = examine(6, methods=())
    assert result.verdict == "disagree"
    assert {d.what.split()[0] for d in result.differences if d.counts} >= {"acceleration", "reaction", "kinetic"}

    def wrong(other):
        return compare.compare(other, Result(6)).verdict == "disagree"

    small = smallest(sample(6), wrong)
    assert wrong(small)
    assert "b2" in [body.name for body in small.model.bodies]
    assert len(small.model.joints) <= 2


def test_results_are_kept_line_by_line_and_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.jsonl"
    crew.campaign(range(1, 5), path, runs=0)
    cut = path.read_text()[:-20]  # a kill amid the last line
    path.write_text(cut)
    computed = []
    monkeypatch.setattr(crew, "examine", lambda seed, **_: computed.append(seed) or Result(seed))
    crew.campaign(range(1, 5), path, runs=0)
    assert computed == [4]
    assert [result.seed for result in report.load(path)] == [1, 2, 3, 4]


def test_refusing_too_much_does_not_pass() -> None:
    refused = [Result(seed, "refused" if seed % 5 == 0 else "agree", features=("loop",)) for seed in range(100)]
    agree = [dataclasses.replace(each, verdict="agree") for each in refused]
    assert too_many_refused(refused)
    assert not too_many_refused(agree)
