"""Object files on disk: whole or not there, whatever happens to the folder, the file or the process that writes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from momentree.compile.execute import cache, machine_code
from momentree.compile.execute.machine_code import Target, object_code

KEY = cache.key_of("a text")
CONTENT = bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path, monkeypatch):
    where = tmp_path / "kept" / "here"
    monkeypatch.setenv("MOMENTREE_CACHE", str(where))
    return where


def python(code: str, folder, *words: str) -> subprocess.Popen:
    """A process of its own, that uses the folder."""
    environment = {**os.environ, "MOMENTREE_CACHE": str(folder)}
    command = [sys.executable, "-c", code, *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def told(process: subprocess.Popen) -> str:
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    return out.strip()


# --- one process ---


def test_what_is_put_is_got_and_nothing_else(folder):
    assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) == CONTENT
    assert cache.get(cache.key_of("another text")) is None
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.o"]


def test_keys_tell_apart_what_is_joined_from_what_is_not():
    parts = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc"), ("b", "a")]
    assert len({cache.key_of(*each) for each in parts}) == len(parts)


def test_every_shortened_file_counts_as_not_there(folder):
    cache.put(KEY, CONTENT)
    path = folder / f"{KEY}.o"
    whole = path.read_bytes()
    head = len(whole) - len(CONTENT)
    for length in {*range(head + 3), len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:length])
        assert cache.get(KEY) is None, length
    path.write_bytes(whole + b"\0")
    assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert path.read_bytes() == whole


def test_every_flipped_bit_counts_as_not_there(folder):
    cache.put(KEY, CONTENT[:64])
    path = folder / f"{KEY}.o"
    whole = path.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert cache.get(KEY) is None, place


def test_a_file_under_the_key_of_another_counts_as_not_there(folder):
    other = cache.key_of("another text")
    cache.put(KEY, CONTENT)
    (folder / f"{KEY}.o").rename(folder / f"{other}.o")
    assert cache.get(other) is None


def test_damaged_machine_code_is_made_anew(folder):
    text = "define double @f(double %x) {\n  ret double %x\n}\n"
    code = object_code(text, Target())
    (path,) = folder.iterdir()
    path.write_bytes(path.read_bytes()[:-1])
    assert object_code(text, Target()) == code
    assert len(path.read_bytes()) > len(code)


def test_the_key_depends_on_all_that_decides_the_machine_code(monkeypatch):
    text, keys = "define void @f() {\n  ret void\n}\n", []
    for given in [(text, Target()), (text + "\n", Target()), (text, Target("x", "")), (text, Target("", "+avx"))]:
        keys.append(machine_code._key(*given))
    monkeypatch.setenv("MOMENTREE_OPTIMIZE", "3")
    keys.append(machine_code._key(text, Target()))
    assert len(set(keys)) == 5


# --- folders that cannot be used ---


@pytest.mark.parametrize("kind", ["below a file", "of the kernel", "a file", "a key that is a folder", "off", "empty"])
def test_a_folder_that_cannot_be_used_is_no_error(tmp_path, monkeypatch, kind):
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / f"{KEY}.o").mkdir()
    places = {
        "below a file": tmp_path / "file" / "below",
        "of the kernel": "/proc/momentree",
        "a file": tmp_path / "file",
        "a key that is a folder": tmp_path,
        "off": "off",
        "empty": "",
    }
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOMENTREE_CACHE", str(places[kind]))
    before = sorted(path.name for path in tmp_path.rglob("*"))
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) is None
    assert object_code("define void @f() {\n  ret void\n}\n", Target())
    after = sorted(path.name for path in tmp_path.rglob("*"))
    assert [name for name in after if not name.endswith(".o") or name in before] == before


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_read_only_folder_gives_and_takes_nothing(folder):
    cache.put(KEY, CONTENT)
    folder.chmod(0o500)
    cache.put(cache.key_of("another text"), CONTENT)
    assert cache.get(KEY) == CONTENT
    assert cache.get(cache.key_of("another text")) is None
    folder.chmod(0o700)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
def test_a_folder_that_everybody_may_write_to_is_not_trusted(folder):
    cache.put(KEY, CONTENT)
    folder.chmod(0o777)
    assert cache.get(KEY) is None
    folder.chmod(0o755)
    assert cache.get(KEY) == CONTENT


@pytest.mark.skipif(sys.platform == "win32", reason="modes are of POSIX")
def test_a_folder_or_a_file_that_its_group_may_write_to_is_not_trusted(folder):
    before = os.umask(0o002)
    try:
        cache.put(KEY, CONTENT)
    finally:
        os.umask(before)
    assert cache.get(KEY) == CONTENT  # our own folder and file are nobody else's, whatever the umask
    folder.chmod(0o770)
    assert cache.get(KEY) is None
    folder.chmod(0o700)
    (folder / f"{KEY}.o").chmod(0o660)
    assert cache.get(KEY) is None
    cache.put(KEY, CONTENT)
    assert cache.get(KEY) == CONTENT


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only the administrator can give files away")
def test_a_file_of_another_user_in_our_folder_is_not_trusted(folder):
    cache.put(KEY, CONTENT)
    os.chown(folder / f"{KEY}.o", 65534, 65534)
    assert cache.get(KEY) is None


@pytest.mark.skipif(sys.platform == "win32", reason="links are of POSIX")
def test_a_link_out_of_the_folder_is_not_followed(folder, tmp_path):
    cache.put(KEY, CONTENT)
    (folder / f"{KEY}.o").rename(tmp_path / "elsewhere")
    (folder / f"{KEY}.o").symlink_to(tmp_path / "elsewhere")
    assert cache.get(KEY) is None


def test_a_full_disk_leaves_nothing_behind(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    cache.put(KEY, CONTENT)
    monkeypatch.setattr(os, "replace", full)
    cache.put(cache.key_of("another text"), CONTENT)
    assert [path.name for path in folder.iterdir()] == [f"{KEY}.o"]


# --- how much is kept ---


def test_what_was_not_used_for_longest_goes_first(folder):
    keys = [cache.key_of(str(i)) for i in range(8)]
    for age, key in enumerate(keys):
        cache.put(key, CONTENT)
        os.utime(folder / f"{key}.o", (time.time() - 1000 * (age + 1),) * 2)
    (folder / "notes.txt").write_text("of the user")
    cache.get(keys[7])  # the oldest is used again
    size = (folder / f"{keys[0]}.o").stat().st_size
    cache.sweep(str(folder), 8 * size)
    assert len(list(folder.glob("*.o"))) == 8
    cache.sweep(str(folder), 8 * size - 1)
    left = {path.stem for path in folder.glob("*.o")}
    assert left == {keys[7], *keys[:4]}  # three quarters of the room
    assert (folder / "notes.txt").exists()


def test_the_folder_stays_below_its_limit(folder, monkeypatch):
    size = len(cache._head(KEY, b"")) + 4096
    monkeypatch.setattr(cache, "LIMIT", 40 * size)
    most = 0
    for i in range(400):
        cache.put(cache.key_of(str(i)), bytes(4096))
        most = max(most, len(list(folder.iterdir())))
    assert most <= 40 + 8 * cache._LOOKS  # one write in 16 looks, on average
    cache.put(cache.key_of("huge"), bytes(6 * size))  # more than an eighth of the room
    assert cache.get(cache.key_of("huge")) is None


def test_what_dead_processes_left_is_deleted_and_what_others_write_now_is_not(folder):
    folder.mkdir(parents=True)
    old, new = (folder / f"{KEY}.{i:016x}.part" for i in range(2))
    for path in (old, new):
        path.write_bytes(b"begun")
    os.utime(old, (time.time() - 2 * cache._ABANDONED,) * 2)
    cache.sweep(str(folder), cache.LIMIT)
    assert (old.exists(), new.exists()) == (False, True)


# --- several processes ---

WRITE = """
import sys
from momentree.compile.execute import cache
for i in range(60):
    for name in ("same", sys.argv[1]):
        key, content = cache.key_of(name, str(i)), (name + str(i)).encode() * 3000
        cache.put(key, content)
        found = cache.get(key)
        assert found == content, (name, i)
"""


@pytest.mark.long
def test_eight_processes_write_the_same_and_different_files_at_once(folder):
    for process in [python(WRITE, folder, str(k)) for k in range(8)]:
        told(process)
    for i in range(60):
        for name in ("same", *map(str, range(8))):
            assert cache.get(cache.key_of(name, str(i))) == (name + str(i)).encode() * 3000
    assert not list(folder.glob("*.part"))


WRITE_ON = """
from momentree.compile.execute import cache
print("begun", flush=True)
while True:
    for i in range(4):
        cache.put(cache.key_of(str(i)), str(i).encode() * 2_000_000)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
@pytest.mark.long
def test_a_process_that_is_killed_while_it_writes_does_no_damage(folder):
    for wait in (0.0, 0.005, 0.02, 0.05):
        process = python(WRITE_ON, folder)
        assert process.stdout.readline() == "begun\n"
        time.sleep(wait)
        process.kill()
        process.communicate()
        for path in folder.glob("*.o"):
            key = path.stem
            names = {cache.key_of(str(i)): str(i) for i in range(4)}
            assert cache.get(key) == names[key].encode() * 2_000_000


FIRST_RESULT = """
import numpy, momentree as mt
from momentree.compile.execute import machine_code
made = []
generated = machine_code._generated
machine_code._generated = lambda text, *rest: made.append(text) or generated(text, *rest)
m = mt.Model("pendulum")
m.joint("A", mt.Revolute("y"), m.ground, m.body("rod", mt.rod(mass=1.0, length=1.0)))
found = m.build().forward_dynamics(numpy.array([0.3]), numpy.array([0.2]), numpy.array([0.1]))
print(len(made), *(float(x).hex() for x in found))
"""


@pytest.mark.long
def test_a_fresh_process_takes_machine_code_from_the_folder(folder):
    first, second = (told(python(FIRST_RESULT, folder)).split() for _ in range(2))
    assert int(first[0]) >= 2
    assert int(second[0]) == 0
    assert first[1:] == second[1:]
    for path in folder.glob("*.o"):
        path.write_bytes(path.read_bytes()[:-7])
    assert told(python(FIRST_RESULT, folder)).split() == first


# --- where ---


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x", "HOME": "/home/u"}, "/x/momentree"),
        ("linux", {"XDG_CACHE_HOME": "relative", "HOME": "/home/u"}, "/home/u/.cache/momentree"),
        ("linux", {"HOME": "/home/u"}, "/home/u/.cache/momentree"),
        ("darwin", {"HOME": "/Users/u"}, "/Users/u/Library/Caches/momentree"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/momentree"),
        ("win32", {}, None),
        ("linux", {"MOMENTREE_CACHE": "~/mine", "HOME": "/home/u"}, "/home/u/mine"),
        ("linux", {"MOMENTREE_CACHE": "off"}, None),
        ("linux", {"MOMENTREE_CACHE": ""}, None),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths are of POSIX")
def test_the_folder_is_the_users(monkeypatch, platform, variables, expected):
    for name in ("MOMENTREE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(cache.sys, "platform", platform)
    assert cache.folder() == expected
