"""The reader: the line of everything, and one clear problem for every bad file."""

import os
import string
import sys
import threading
import time
import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from momentree.errors import ModelError
from momentree.files.model_bytes import LARGEST
from momentree.files.toml_reader import DEEPEST, parse_document, read_document
from momentree.files.toml_writer import write_document

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.text("\n\"'\\#=.,[]{}\r é")
keys = st.text("abc-_19", min_size=1, max_size=3) | texts
scalars = st.booleans() | st.integers() | st.floats(allow_nan=False) | texts | st.just("long " * 12)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=3)
        | st.lists(st.dictionaries(keys, inner, max_size=3), max_size=3)
    ),
    max_leaves=12,
)
documents = st.dictionaries(keys, values, min_size=1, max_size=5)


def paths(value, path=()):
    """Every path in a value, and what stands there."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in pairs:
        yield (*path, part), inner
        yield from paths(inner, (*path, part))


def problem(call, *arguments):
    """The one problem of a call that must fail."""
    with pytest.raises(ModelError) as caught:
        call(*arguments)
    assert len(caught.value.problems) == 1
    str(caught.value).encode()  # can be printed
    return caught.value.problems[0]


# the lines


@given(documents)
def test_every_path_of_a_written_document_has_its_line(data):
    text = write_document(data)
    document = parse_document(text)
    assert document.data == data
    assert set(document.lines) == {path for path, _ in paths(data)}
    physical = text.split("\n")
    for path, value in paths(data):
        line = physical[document.lines[path] - 1]
        if isinstance(path[-1], str):
            assert write_document({path[-1]: 0}).removesuffix(" = 0\n") in line
        elif not isinstance(value, list | dict):
            assert write_document({"k": value}).removeprefix("k = ").rstrip("\n") in line


# pieces of text that are each valid after any other of them, whatever the strings and the white space
TRICKY_VALUES = [
    "1",
    "-1.5e-3",
    "1979-05-27 07:32:00.5",
    "'a # [b] = {'",
    '"a \\" # \\\\"',
    '"""\n= "quoted" ""\n\\"""[\\\n   x"""""',
    "'''\n'[x]'\n# no'''''",
    '["""x"""", """"x""""", 1]',
    "['''x'''', ''''x''''', 1]",
    "[]",
    "[ # ]\n]",
    "[1, # one, two\n  2.5,\n\n  [3, '4'],\n]",
    "{}",
    "{ a = 1, b.c = [ {d = 2},\n {'e.f' = '''\n'''} ], \"\\u0067\" = {} }",
    "[\"\"\"\"\"\"\n, \"\", '', '''''', 1.5]",
]
TRICKY_KEYS = ["x{}", "'q.{} = ['", '"\\"#{}\\n"', "d{}.e", "1{}.5 . 'f.g' .\th"]


@given(st.lists(st.tuples(st.sampled_from(TRICKY_KEYS), st.sampled_from(TRICKY_VALUES)), max_size=6), st.data())
def test_the_paths_scanned_are_the_paths_of_tomllib(entries, data):
    text = "first = 0\n"
    for i, (key, value) in enumerate(entries):
        header = data.draw(
            st.sampled_from(["", "[t{}]", "[[items]]", "[[items.'sub']]", " [ items . t{} ] ", "[[u{}.v]]"])
        )
        if "items." in header or "items ." in header:
            text += "[[items]]\n"
        text += f"{header.format(i)} # [[no]]\n \t{key.format(i)} = {value} # a = 1\n\n"
    if data.draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    document = parse_document(text)
    assert document.data == tomllib.loads(text)
    assert set(document.lines) == {path for path, _ in paths(document.data)}


MARKED = """\
# each string tells its line
a = "2"
"b.c" . d='3'
multi = \"\"\"
     4\"\"\"
after = '''6'''

list = [ "8", '8', # [ "0",
  "9", [
    "10", { x = "10", y.z = [ "10",
    "11" ] }, "11" ], ]
[table] # ]
k = "13"
[ table . 'sub.table' ]
k = "15"
[[joint]]
n = "17"
[joint.limits]
low = "19"
[[joint.mark]]
m = "21"
[[joint.mark]]
[joint.mark.deep]
m = "24"
[[joint]]
[[joint.mark]]
m = "27"
late.er = { "\\u006b" = "28", 'l' = {}, b = [{ c = "28" }] }
[later.inner]
k = "30"
[later]
k = "32" # end
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_lines_of_a_tricky_document(newline, start):
    document = parse_document(start + MARKED.replace("\n", newline))
    assert set(document.lines) == {path for path, _ in paths(document.data)}
    told = {path: int(value.strip()) for path, value in paths(document.data) if isinstance(value, str)}
    assert {path: document.lines[path] for path in told} == told
    tables = {
        ("b.c",): 3,
        ("list",): 8,
        ("list", 3): 9,
        ("list", 3, 1): 10,
        ("list", 3, 1, "y"): 10,
        ("table",): 12,
        ("table", "sub.table"): 14,
        ("joint",): 16,
        ("joint", 0): 16,
        ("joint", 0, "limits"): 18,
        ("joint", 0, "mark"): 20,
        ("joint", 0, "mark", 1): 22,
        ("joint", 0, "mark", 1, "deep"): 23,
        ("joint", 1): 25,
        ("joint", 1, "mark", 0): 26,
        ("joint", 1, "mark", 0, "late", "er", "l"): 28,
        ("later",): 31,
    }
    assert {path: document.lines[path] for path in tables} == tables


def test_line_of_what_is_missing_is_the_line_of_what_should_hold_it():
    document = parse_document("\n[[joint]]\naxis = [\n1,\n2]\n")
    assert document.line(("joint", 0, "axis", 1)) == 5
    assert document.line(["joint", 0, "axis", 7, "x"]) == 3
    assert document.line(("joint", 0, "typ")) == 2
    assert document.line(("joint", 5)) == 2
    assert document.line(("nothing",)) is None
    assert document.line(()) is None


# text that is not TOML


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a = 1\nmass 2\n", 2, ["is not TOML: Expected '='", "column 6 of `mass 2`"]),
        ("a = 1\r\n\r\nmass 2\r\n", 3, ["column 6 of `mass 2`"]),
        ("a = 1\na = 2\n", 2, ["overwrite", "`a = 2`"]),
        ("a = [1,\n2\n\n\n", 2, ["end of the text", "`2`"]),
        ('a = "\x1b[31m"\n', 1, ['`a = "\\x1b[31m"`']),
        ("a = 1\n" + "k" * 500 + " = !\n", 2, ["...kkk", "= !`"]),
        ("k = ! " + "k" * 500, 1, ["`k = ! kk", "kkk...`"]),
        ("a = 1\nb = \0", 2, ["b = \\x00"]),
        ("# model\n{\n'a': 1}", 2, ["looks like JSON"]),
        ("[\n1, 2]", 1, ["looks like JSON"]),
        ('[{"a": 1}]', 1, ["looks like JSON"]),
        ("<?xml version='1.0'?>\n<!-- it's -->\n<robot name='r'/>", 1, ["looks like URDF"]),
        ("\n<mujoco/>", 2, ["looks like MJCF"]),
        ("<html>", 1, ["looks like XML"]),
        ("# model\nmass: 2\n", 2, ["looks like YAML", "mass = 2.0"]),
        ("---\nmass: 2\n", 1, ["looks like YAML"]),
        ("- mass: 2\n", 1, ["looks like YAML"]),
    ],
)
def test_a_syntax_error_names_the_line_and_quotes_it(text, line, words):
    found = problem(parse_document, text, "four-bar.toml")
    assert found.place == f"four-bar.toml:{line}"
    for word in words:
        assert word in found.message
    assert len(found.message) < 300
    assert ("looks like" in found.message) == any("looks like" in word for word in words)


def test_a_text_without_a_name_still_tells_the_line():
    assert str(problem(parse_document, "a = 1\nb")).startswith("<text>:2: is not TOML")


def test_an_integer_of_thousands_of_digits():
    assert "digits" in problem(parse_document, "a = " + "9" * 5000, "x.toml").message


@given(
    st.text(st.sampled_from(string.printable + "\ufeff\0é"), max_size=60)
    | st.text(st.sampled_from("a.=[]{}\"'\\\n ,#1"))
)
@example("]]}}")
@example("a = '''")
@example('a = "\\')
@example("\ufeff\ufeff")
def test_any_text_is_a_document_or_one_problem(text):
    try:
        expected = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        expected = {}
    if not expected:
        assert problem(parse_document, text, "x.toml").place.startswith("x.toml")
    else:
        assert set(parse_document(text).lines) == {path for path, _ in paths(expected)}


# nesting


def deep(kind, levels):
    """A text with a path of that many levels."""
    return {
        "arrays": "a=" + "[" * levels + "]" * levels,
        "inline tables": "a=" + "{a=" * (levels - 1) + "1" + "}" * (levels - 1),
        "dotted key": "a." * (levels - 1) + "a=1",
        "header": "[" + "a." * (levels - 1) + "a]",
        "dots in an inline table": "a={" + "a." * (levels - 2) + "a=1}",
        "header and key": "[" + "a." * (levels // 2) + "a]\n" + "a." * (levels - levels // 2 - 2) + "a=1",
        "quoted": "'a'. " * (levels - 1) + '"a"=1',
    }[kind]


KINDS = ["arrays", "inline tables", "dotted key", "header", "dots in an inline table", "header and key", "quoted"]


@pytest.mark.parametrize("kind", KINDS)
def test_nesting_has_a_limit(kind):
    deepest = parse_document(deep(kind, DEEPEST)).lines
    assert max(map(len, deepest)) == DEEPEST
    for levels in (DEEPEST + 1, 10_000, 1_000_000):
        begin = time.perf_counter()
        found = problem(parse_document, "ok = [1.5, 2.5]\n" + deep(kind, levels), "x.toml")
        assert "nested too deeply" in found.message
        assert found.place == ("x.toml:3" if kind == "header and key" and levels == DEEPEST + 1 else "x.toml:2")
        assert time.perf_counter() - begin < 5


def test_many_dots_and_brackets_side_by_side_are_not_deep():
    text = "a = [" + "[1.5], {b.c = 2.5}, " * 200 + "]\n" + "".join(f"t{i}.x = '....[[[['\n" for i in range(200))
    assert len(parse_document(text).data) == 201


# files


def test_a_good_file_is_read(tmp_path):
    file = tmp_path / "four-bär.toml"
    for encoding in ("utf-8", "utf-8-sig"):
        file.write_text("name = 'é'\r\nmass = 2\r\n", encoding=encoding, newline="")
        for path in (file, str(file)):
            document = read_document(path)
            assert document.data == {"name": "é", "mass": 2}
            assert document.lines == {("name",): 1, ("mass",): 2}


def test_the_line_of_a_mistake_in_a_file(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text("a = 1\nb\n")
    assert str(problem(read_document, file)).startswith(f"{file}:2: is not TOML")


def test_a_missing_file_brings_a_suggestion(tmp_path):
    assert "There is no .toml file" in problem(read_document, tmp_path / "four-bar.toml").message
    (tmp_path / "four-bar.toml").touch()
    (tmp_path / "gyro.toml").touch()
    found = problem(read_document, tmp_path / "fourbar.toml")
    assert found.place == str(tmp_path / "fourbar.toml")
    assert found.message == "does not exist. Did you mean 'four-bar.toml'?"
    assert "Choose 'four-bar.toml' or 'gyro.toml'." in problem(read_document, tmp_path / "zzz").message
    assert "Nor does the folder" in problem(read_document, tmp_path / "none" / "x.toml").message


def test_a_folder_is_refused(tmp_path):
    (tmp_path / "model.toml").touch()
    found = problem(read_document, tmp_path)
    assert found.place == str(tmp_path)
    assert found.message == "is a folder. Name a file in it. Choose 'model.toml'."


@pytest.mark.parametrize(
    "content", [b"", b"\n \t\r\n", b"# nothing\n\n  # here", b"\xef\xbb\xbf", b"\xef\xbb\xbf# x\n"]
)
def test_an_empty_file(tmp_path, content):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    found = problem(read_document, file)
    assert found.place == str(file)
    assert "is empty" in found.message


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        (b"a = 1\nb = '\0'", 2, "NUL at byte 11"),
        (b"\x7fELF\x02\x01\x01\0\0\0", 1, "is binary"),
        ("a = 1\n".encode("utf-16-le"), 1, "UTF-16"),
        ("a = 1\n".encode("utf-16"), None, "is UTF-16"),
        (b"\xfe\xff" + "a = 1\n".encode("utf-16-be"), None, "is UTF-16"),
        ("a = 1\nname = 'é'\n".encode("latin-1"), 2, "0xe9 at byte 14"),
        (b"a = 1\nb = '\xed\xa0\x80'", 2, "is not UTF-8"),
    ],
)
def test_a_file_that_is_not_utf_8_text(tmp_path, content, line, words):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    found = problem(read_document, file)
    assert found.place == (str(file) if line is None else f"{file}:{line}")
    assert words in found.message


def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch):
    file = tmp_path / "x.toml"
    file.write_bytes(b"a = 1\n" + b"#" * 50_000_000)
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", None)
        found = problem(read_document, file)
    assert found.place == str(file)
    assert "larger than 32 MB" in found.message
    assert "in Python" in found.message
    os.truncate(file, LARGEST + 1)
    assert "larger than 32 MB" in problem(read_document, file).message
    os.truncate(file, LARGEST)
    assert read_document(file).data == {"a": 1}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    file = tmp_path / "x.toml"
    file.write_text("a = 1")
    file.chmod(0)
    assert "permission denied" in problem(read_document, file).message


def test_a_file_that_does_not_tell_its_size(tmp_path, monkeypatch):
    file = tmp_path / "x.toml"
    file.write_text("a = 1 # and more")
    status = os.stat_result((0o100644, 0, 0, 1, 0, 0, 0, 0, 0, 0))
    with monkeypatch.context() as patch:
        patch.setattr("momentree.files.model_bytes.LARGEST", 10)
        patch.setattr("os.stat", lambda _: status)
        found = problem(read_document, file)
    assert "is larger than" in found.message


def test_permission_denied_by_the_system(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    file = tmp_path / "x.toml"
    file.write_text("a = 1")
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", refuse)
        found = problem(read_document, file)
    assert found.place == str(file)
    assert "permission denied" in found.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name here")
def test_a_pipe_is_refused_without_waiting(tmp_path):
    pipe = tmp_path / "x.toml"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(problem(read_document, pipe)), daemon=True)
    reader.start()
    reader.join(timeout=5)
    assert not reader.is_alive()
    assert "is not a regular file" in found[0].message


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="no such device here")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null"])
def test_a_device_is_refused(device):
    assert "is not a regular file" in problem(read_document, device).message


@pytest.mark.skipif(sys.platform == "win32", reason="names of files are of another kind there")
def test_names_that_no_file_can_have(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("a\0b", "x" * 5000, "file/x.toml", "loop"):
        assert "cannot be read" in problem(read_document, f"{tmp_path}/{name}").message
    for name in ("\udcff.toml", "\ud800", "a\x1b[31m.toml", ""):
        assert "\x1b" not in str(problem(read_document, f"{tmp_path}/{name}"))
    assert "does not exist" in problem(read_document, "").message
