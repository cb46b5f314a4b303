"""Everything that is written is there whole or not at all, keeps links and permissions, and refuses by name."""

from __future__ import annotations

import functools
import os
import resource
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import momentree as mt
from children import in_child
from mechanisms import four_bar
from momentree.files import atomic_write
from momentree.files.atomic_write import write_file, write_files
from momentree.look.graph_picture import draw_graph
from momentree.results.recorder import record
from slider import falling

OLD = b"what was there before\n"


@functools.cache
def run():
    return record(falling())


@functools.cache
def system():
    return four_bar().build()


@functools.cache
def equations():
    m = mt.Model("pendulum")
    m.joint("A", mt.Revolute("y"), m.ground, m.body("bob", mt.rod(mass=1.0, length=0.5)))
    return m.build().equations()


WRITERS = {
    "model.toml": lambda path: four_bar().save(path),
    "run.nc": lambda path: run().save(path),
    "recorded.nc": lambda path: record(falling(), path),
    "run.svg": lambda path: run().plot(path, joints=[]),
    "graph.png": lambda path: draw_graph(system().structure, path),
    "code.c": lambda path: system().export_c(path, "mass_matrix"),
    "equations.tex": lambda path: equations().latex(path),
}
each_writer = pytest.mark.parametrize("name", WRITERS)


@each_writer
def test_a_link_keeps_its_target_and_a_file_its_permissions(tmp_path, name):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / name, tmp_path / name
    target.write_bytes(OLD)
    target.chmod(0o640)
    link.symlink_to(Path("there") / name)
    WRITERS[name](link)
    assert link.is_symlink()
    assert target.read_bytes() != OLD
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    expected = {"code.h"} if name == "code.c" else set()
    assert {path.name for path in tmp_path.iterdir()} - expected == {"there", name}
    assert [path.name for path in (tmp_path / "there").iterdir()] == [name]


@pytest.mark.repeats(2)
@each_writer
@pytest.mark.parametrize("fails", ["write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, name, fails):
    path = tmp_path / name
    path.write_bytes(OLD)

    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        if fails == "write":
            limit = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))
        else:
            patch.setattr(atomic_write.os, fails, full)
        try:
            with pytest.raises(mt.MomentreeError, match=r"cannot be written: (No space left|File too large)"):
                WRITERS[name](path)
        finally:
            if fails == "write":
                resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == OLD
    left = {found.name for found in tmp_path.iterdir()} - {name, "recorded.nc.parts"}
    assert left == set()


BAD_PATHS = {
    "a\0b": "no file can have this name",
    "\ud800": "no file can have this name",
    "folder": "is a folder",
    "x" * 300: "File name too long",
    "nowhere/file": "no folder|No such file",
    "file/in-a-file": "no folder|Not a directory",
    "pipe": "a pipe, a socket or a device",
}


@pytest.mark.parametrize("bad", BAD_PATHS, ids=lambda bad: ascii(bad)[1:12])
@each_writer
@pytest.mark.repeats(3)
def test_a_path_where_nothing_can_be_written_is_an_error_that_names_it(tmp_path, name, bad):
    suffix = Path(name).suffix
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / f"pipe{suffix}")
    if suffix == ".c" and bad not in ("folder", "pipe"):
        pytest.skip("refused as the name of a function of C")
    with pytest.raises(mt.MomentreeError, match=BAD_PATHS[bad]):
        WRITERS[name](os.path.join(tmp_path, f"{bad}{suffix}"))


def test_files_that_belong_together_are_written_both_or_neither(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(OLD)
    second.mkdir()
    with pytest.raises(mt.MomentreeError, match="second: cannot be written: it is a folder"):
        write_files({first: ("new",), second: ("new",)})
    assert first.read_bytes() == OLD
    assert {path.name for path in tmp_path.iterdir()} == {"first", "second"}


@pytest.mark.parametrize("existed", [True, False])
def test_if_the_second_of_two_cannot_be_renamed_the_first_is_as_it_was(tmp_path, monkeypatch, existed):
    first, second, replace, calls = tmp_path / "first", tmp_path / "second", os.replace, []
    if existed:
        first.write_bytes(OLD)

    def once(source, target):
        calls.append(target)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(atomic_write.os, "replace", once)
    with pytest.raises(mt.MomentreeError, match="second: cannot be written: Input/output error"):
        write_files({first: ("new",), second: ("new",)})
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == ({"first": OLD} if existed else {})


def test_a_new_file_has_the_permissions_that_the_user_wants(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_name_as_long_as_names_can_be_is_written(tmp_path):
    path = tmp_path / ("n" * 255)
    write_file(path, "text")
    assert path.read_text() == "text"


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_file(tmp_path / "link", "text")
    assert (tmp_path / "target").read_text() == "text"
    assert (tmp_path / "link").is_symlink()


def test_a_link_to_itself_is_an_error(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    with pytest.raises(mt.MomentreeError, match="link: cannot be written"):
        write_file(tmp_path / "link", "text")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator can become another user")
def test_a_write_protected_file_is_not_replaced(tmp_path):
    path = tmp_path / "protected"
    path.write_bytes(OLD)
    path.chmod(0o444)
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if "pytest" in folder.name:
            folder.chmod(0o755)

    def as_another_user():
        os.setuid(65534)
        with pytest.raises(mt.MomentreeError, match=r"Permission denied\. Change the permissions"):
            write_file(path, "new")

    assert in_child(as_another_user) == 0
    assert path.read_bytes() == OLD


def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(OLD)

    def interrupted(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(atomic_write.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_file(path, "new")
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path]


# --- the command line ---


def told(*words, **options):
    command = [sys.executable, "-m", "momentree", *map(str, words)]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.long
def test_the_command_line_tells_a_bad_path_in_one_line(tmp_path):
    model = tmp_path / "model.toml"
    four_bar().save(model)
    (tmp_path / "folder.svg").mkdir()
    calls = [
        (("run", model, "--t-end", 0.1, "--from", "A=1", "--plot", tmp_path / "folder.svg"), "is a folder"),
        (("run", "--resume", "-o", tmp_path / ("x" * 300)), "cannot be read: File name too long"),
    ]
    for words, message in calls:
        found = told(*words, stdout=subprocess.PIPE)
        assert found.returncode == 1
        assert message in found.stderr
        assert len(found.stderr.splitlines()) == 1
        assert found.stdout == ""  # nothing was computed that is lost now


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_disk_behind_standard_output_is_told(tmp_path):
    model = tmp_path / "model.toml"
    four_bar().save(model)
    with open("/dev/full", "w") as full:
        found = told("check", model, stdout=full)
    assert found.returncode == 1
    assert found.stderr == "standard output: cannot be written: No space left on device. Choose another file.\n"
