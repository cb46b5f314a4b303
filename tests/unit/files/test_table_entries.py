"""Tables in model files: numbers or columns of a CSV file, round trips, and every way to write them wrong."""

import pickle

import numpy as np
import pytest

import momentree as mt
from momentree.errors import ModelError
from momentree.files.model_files import loads

MODEL = """momentree = 1
[[table]]
name = "cam"
{}
[[body]]
name = "slider"
mass = 1.0
inertia = [1, 1, 1]
[[joint]]
name = "z"
type = "Prismatic"
from = "ground"
to = "slider"
motion = "cam(t)"
"""
CSV = "# measured\nangle, load, lift\n0, 1, 0.5\n\n1.5, 7, 2\n3, 1, -1e-1\n"


def written(tmp_path, entry, csv=CSV):
    (tmp_path / "cam.csv").write_text(csv, encoding="utf-8")
    path = tmp_path / "model.toml"
    path.write_text(MODEL.format(entry), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("columns", "csv"),
    [
        ('columns = ["angle", "lift"]', CSV.replace(", ", ",")),
        ("columns = [1, 3]", CSV),
        ('columns = ["angle", 3]', CSV.replace(",", ";")),
        ('columns = ["angle", "lift"]', CSV.replace(", ", "\t").replace("\n", "\r\n")),
        ("columns = [1, 3]", CSV.replace(",", " ")),
        ("columns = [2, 1]", "0.5 0\n2 1.5\n-1e-1 3\n"),
        ("", "\ufeffangle,lift\n0,0.5\n1.5,2\n3,-0.1"),
        ("", "0,0.5\n1.5,2\n3,-0.1"),
        ('columns = ["the angle, a", "b"]', '"the angle, a","b"\n0,0.5\n1.5,2\n3,-0.1'),
    ],
)
def test_a_table_is_read_from_the_columns_of_a_file(tmp_path, monkeypatch, columns, csv):
    path = written(tmp_path, f'file = "cam.csv"\n{columns}', csv)
    monkeypatch.chdir("/")
    (table,) = mt.load(path).tables
    assert (table.x, table.y) == ((0.0, 1.5, 3.0), (0.5, 2.0, -0.1))


def test_a_file_and_its_numbers_are_the_same_model(tmp_path):
    by_file = mt.load(written(tmp_path, 'file = "cam.csv"\ncolumns = [1, 3]\nkind = "cubic"'))
    by_numbers = mt.load(written(tmp_path, "x = [0, 1.5, 3]\ny = [0.5, 2, -0.1]"))
    assert by_file == by_numbers
    by_file.save(tmp_path / "saved.toml")
    (tmp_path / "cam.csv").unlink()
    assert mt.load(tmp_path / "saved.toml") == by_numbers
    assert pickle.loads(pickle.dumps(by_file)) == by_numbers


@pytest.mark.parametrize("options", [{}, {"kind": "linear", "outside": "constant"}, {"periodic": True}])
def test_what_is_saved_loads_equal(tmp_path, options):
    m, x = mt.Model("m"), np.linspace(0, 1, 40)
    table = m.table("left cam", x, np.sin(2 * np.pi * x), **options)
    body = m.body("b", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    m.joint("A", mt.Revolute("z"), m.ground, body)
    m.torque("A", lambda A: -table(A))
    m.save(tmp_path / "m.toml")
    again = mt.load(tmp_path / "m.toml")
    assert again == m
    assert again.tables[0] == table
    assert again.tables[0].pieces == table.pieces


@pytest.mark.parametrize(
    ("entry", "csv", "message"),
    [
        ('file = "cam.csv"', "a,b\n0,1\n1,x\n", r"model.toml:4: table 'cam': cam.csv:3: 'x' is not a number"),
        ('file = "cam.csv"', "a;b\n0;1,5\n", r"cam.csv:2: '1,5' is not a number. Write decimals with a point"),
        ('file = "cam.csv"', "0,1\n1\n2,3\n", r"cam.csv:2: 1 columns, but column 2 is needed"),
        ('file = "cam.csv"', "0,1\n2,1\n1,3\n", r"cam.csv:3: x must ascend, but 1 follows 2"),
        ('file = "cam.csv"', "0,1\n0,3\n", r"cam.csv:2: x must ascend, but 0 is there twice"),
        ('file = "cam.csv"', "0,1\n1,nan\n", r"cam.csv:2: nan is not a finite number"),
        ('file = "cam.csv"', "0,1\n1e999,1\n", r"cam.csv:2: 1e999 is not a finite number"),
        ('file = "cam.csv"', "0,1\n1_0,1\n", r"cam.csv:2: '1_0' is not a number"),
        ('file = "cam.csv"', "# nothing\n\n", r"cam.csv is empty"),
        ('file = "cam.csv"', "0\n1\n", r"cam.csv:1: there is one column"),
        ('file = "cam.csv"', "0,1\n", r"table 'cam': 1 point is too few"),
        (
            'file = "cam.csv"\ncolumns = ["angel", "lift"]',
            CSV,
            r"model.toml:5: .*no column 'angel'. Did you mean 'angle'",
        ),
        ('file = "cam.csv"\ncolumns = [0, 1]', CSV, r"there is no column 0"),
        ('file = "cam.csv"\ncolumns = [1, 4]', CSV, r"there is no column 4"),
        ('file = "cam.csv"\ncolumns = "lift"', CSV, r"columns is 'lift'; two names or numbers"),
        ('file = "cma.csv"', CSV, r"model.toml:4: table 'cam': there is no file 'cma.csv' beside the model file"),
        ('file = "."', CSV, r"there is no file '.'"),
        ('file = "/etc/hosts"', CSV, r"the path '/etc/hosts' is absolute"),
        ("file = 3", CSV, r"file is 3; the path of a CSV file"),
        ('file = "cam.csv"\nx = [0, 1]', CSV, r"has a file and numbers too"),
        ("x = [0, 1]", CSV, r"table 'cam': y is missing"),
        ("x = [0, 1]\ny = [0, 1]\ncolumns = [1, 2]", CSV, r"model.toml:6: .*columns are those of a file"),
        ("x = [0, 1]\ny = [0]", CSV, r"model.toml:5: table 'cam': x has 2 numbers, but y has 1"),
        ("x = [0, 1]\ny = [0, 1]\nknid = 'cubic'", CSV, r"unknown key 'knid'. Did you mean 'kind'"),
        ("x = [0, 1]\ny = [0, 1]\noutside = 'zero'", CSV, r"model.toml:6: table 'cam': outside is 'zero'"),
    ],
)
def test_a_wrong_table_is_one_problem_with_its_line(tmp_path, entry, csv, message):
    with pytest.raises(ModelError, match=message) as error:
        mt.load(written(tmp_path, entry, csv))
    assert len(error.value.problems) == 1


def test_a_file_that_is_no_text(tmp_path):
    path = written(tmp_path, 'file = "cam.csv"')
    (tmp_path / "cam.csv").write_bytes(b"\xff\xfe0\x00,\x001\x00")
    with pytest.raises(ModelError, match=r"'cam.csv' is not UTF-8 text"):
        mt.load(path)


def test_a_text_has_no_folder():
    with pytest.raises(ModelError, match=r"'cam.csv' is relative to a model file, and this is a text"):
        loads(MODEL.format('file = "cam.csv"'))
