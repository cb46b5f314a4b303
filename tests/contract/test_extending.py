"""The recipes of docs/EXTENDING.md work as they stand, touch few files, and need no test to be edited."""

from __future__ import annotations

import ast

import pytest

from recipes import recipes

MOST_FILES = {"A joint type": 3, "An integrator": 2, "A text backend": 2, "A formulation": 2, "A force element": 6}
RECIPES = recipes()


def test_every_kind_of_extension_has_a_recipe():
    titles = [recipe.title for recipe in RECIPES]
    assert titles == ["A joint type", "An integrator", "A formulation", "A text backend", "A force element"]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_touches_few_files_and_no_test(recipe):
    assert len(recipe.touched) <= MOST_FILES[recipe.title]
    assert all(path.startswith("src/momentree/") for path, _ in recipe.edits)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_can_be_carried_out(recipe, tmp_path):
    recipe.carry_out(tmp_path)
    for path in recipe.touched:
        ast.parse((tmp_path / path).read_text(encoding="utf-8"))


@pytest.mark.long
@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.title)
def test_a_recipe_works_as_it_stands(recipe, tmp_path):
    recipe.carry_out(tmp_path)
    for output in recipe.run(tmp_path):
        assert "passed" in output or "pytest" not in output
