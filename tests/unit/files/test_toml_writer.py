"""The writer's one law: tomllib reads back what was written, and with the same types."""

import math
import tomllib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from momentree.files.toml_reader import DEEPEST
from momentree.files.toml_writer import WIDEST, write_document

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    "\0\b\t\n\f\r\x1b\x7f\"'\\#=.[]{} é\u2028"
)
keys = st.text("abc-_19", min_size=1, max_size=4) | texts
scalars = st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(keys, inner, max_size=3)
        | st.lists(st.dictionaries(keys, inner, max_size=3), max_size=3)
    ),
    max_leaves=12,
)
documents = st.dictionaries(keys, values, max_size=5)


def same(a, b):
    """Equal in value and type; nan equals nan, 0.0 is not -0.0, a tuple is its list."""
    if isinstance(a, list | tuple):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


@given(documents)
@example({})
@example({"": {"": [{"": {}}]}})
@example({"a": [], "b": {}, "c": [{}], "d": [{}, 1], "e": [[{}]], "f": ()})
@example({"x": [1e16, 1e-5, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 1, True]})
@example({"s": "".join(map(chr, range(0x3000)))})
@example({"s": "\ufeff\ufffe\U0010ffff"})
@example({"z": {"q": 1}, "a": [{"p": 1}], "m": 3})
def test_tomllib_reads_back_what_was_written(data):
    assert same(data, tomllib.loads(write_document(data)))


def test_same_sees_every_difference():
    different = [({"a": 1}, {"a": 1.0}), ([0.0], [-0.0]), (1, True), ({"a": 1}, {}), ([1], [1, 1]), ("a", "b")]
    assert not any(same(a, b) for a, b in different)


def test_the_text_is_pretty():
    data = {
        "joint": [{"name": "A", "axis": (0, 0, 1), "limits": {"low": -1.0, "high": 1.0}}, {}],
        "gravity": [0.0, -9.81],
        "name": "four-bar",
        "body": {"rod 1": {"mass": 2.0}, "empty": {}, "list": []},
    }
    assert write_document(data) == (
        "gravity = [0.0, -9.81]\n"
        'name = "four-bar"\n'
        "\n"
        "[body]\n"
        '"rod 1" = { mass = 2.0 }\n'
        "empty = {}\n"
        "list = []\n"
        "\n"
        "[[joint]]\n"
        'name = "A"\n'
        "axis = [0, 0, 1]\n"
        "limits = { low = -1.0, high = 1.0 }\n"
        "\n"
        "[[joint]]\n"
    )


def test_no_blank_line_before_a_table_that_comes_first():
    assert write_document({"a": {"b": 1}}) == "[a]\nb = 1\n"


@pytest.mark.parametrize("excess", [0, 1])
def test_an_array_is_broken_when_its_line_is_too_long(excess):
    words = ["x" * (WIDEST - len('k = ["", 1]') + excess), 1]
    text = write_document({"k": words})
    if excess:
        assert text == f'k = [\n    "{words[0]}",\n    1,\n]\n'
    else:
        assert text == f'k = ["{words[0]}", 1]\n'
        assert len(text) == WIDEST + 1


def test_a_float_of_numpy_is_a_float():
    assert write_document({"x": np.float64(0.1)}) == "x = 0.1\n"


@pytest.mark.parametrize(
    ("data", "place", "reason"),
    [
        ({"joint": [{}, {"axis": [0, None]}]}, "joint[1].axis[1]: ", "no None"),
        ({"a": {"b": {"c": 1j}}}, "a.b.c: ", "complex"),
        ({"a": np.zeros(2)}, "a: ", "ndarray"),
        ({"a": np.int64(1)}, "a: ", "int64"),
        ({"a": b"bytes"}, "a: ", "bytes"),
        ({"a": {1, 2}}, "a: ", "set"),
        ({"a": {"b": {3: 4}}}, "a.b: ", "key 3 is int"),
        ({3: 4}, "the document: ", "key 3 is int"),
        ({"a": [{None: 4}]}, "a[0]: ", "key None"),
        ([], "the document: ", "list is not a dict"),
        (None, "the document: ", "NoneType is not a dict"),
    ],
)
def test_what_is_not_data_is_a_type_error_with_its_path(data, place, reason):
    with pytest.raises(TypeError) as caught:
        write_document(data)
    assert str(caught.value).startswith(place)
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"a": ["\ud800"]}, "a[0]: "),
        ({"a": {"x\udfff": 1}}, "a.x\\udfff: "),
        ({"\udc00": {}}, "\\udc00: "),
        ({"a": 10**5000}, "a: "),
    ],
)
def test_what_toml_cannot_say_is_a_value_error_with_its_path(data, place):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is looked at below)
        write_document(data)
    assert str(caught.value).startswith(place)
    str(caught.value).encode()  # can be printed


def nested(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return {"a": value}


def test_what_the_reader_refuses_as_too_deep_is_not_written():
    deepest = nested(DEEPEST)
    assert tomllib.loads(write_document(deepest)) == deepest
    with pytest.raises(ValueError, match="nested too deeply"):
        write_document(nested(DEEPEST + 1))
    endless = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested too deeply"):
        write_document({"a": endless})
