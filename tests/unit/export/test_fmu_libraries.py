"""Libraries of FMUs: for this machine or for others by ziglang; where there is no compiler, it is said."""

from __future__ import annotations

import zipfile

import pytest

import momentree as mt
from fmu_models import pendulum_chain
from momentree.export import c_compiler
from momentree.export.fmu_libraries import ExportWarning


def names(path):
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def without_compiler(monkeypatch, ziglang=False):
    monkeypatch.setattr(c_compiler.shutil, "which", lambda name: None)
    monkeypatch.setattr(c_compiler.importlib.util, "find_spec", lambda name: name if ziglang else None)


def test_without_a_compiler_it_has_sources_only_and_says_so(tmp_path, monkeypatch):
    without_compiler(monkeypatch)
    system = pendulum_chain().build()
    with pytest.warns(ExportWarning, match=r"it\.fmu: has sources only, no library: there is no C compiler here"):
        system.export_fmu(tmp_path / "it.fmu")
    assert {name.split("/")[0] for name in names(tmp_path / "it.fmu")} == {"modelDescription.xml", "sources"}
    with pytest.raises(mt.MomentreeError, match=r"no C compiler here.*binary='none'"):
        system.export_fmu(tmp_path / "other.fmu", binary="required")
    assert not (tmp_path / "other.fmu").exists()


def test_a_compiler_that_fails_is_quoted_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(c_compiler, "OPTIONS", ("--no-such-option",))
    if c_compiler.compiler(c_compiler.this_platform()) is None:
        pytest.skip("no C compiler is installed")
    with pytest.warns(ExportWarning, match="has sources only, no library: .* failed: .*no-such-option") as said:
        pendulum_chain().build().export_fmu(tmp_path / "it.fmu")
    assert "\n" not in str(said[0].message)


@pytest.mark.parametrize(
    ("version", "binary", "words"),
    [
        ("3.0", ["x86_64-windows"], "there is no compiler for x86_64-windows here: pip install ziglang"),
        ("2.0", "aarch64-linux", "FMI 2.0 has no name for aarch64-linux"),
        ("3.0", "vax", "binary is 'vax'. Choose 'auto', .*'x86_64-windows'"),
        ("3.0", ["auto"], "Choose"),
    ],
)
def test_platforms_that_cannot_be_had_are_refused(tmp_path, monkeypatch, version, binary, words):
    without_compiler(monkeypatch)
    with pytest.raises(mt.MomentreeError, match=words):
        pendulum_chain().build().export_fmu(tmp_path / "it.fmu", version=version, binary=binary)
    assert list(tmp_path.iterdir()) == []


def test_ziglang_stands_in_for_a_compiler_of_the_system(monkeypatch):
    without_compiler(monkeypatch, ziglang=True)
    words = c_compiler.compiler("x86_64-windows")
    assert words[1:] == ["-m", "ziglang", "cc", "-target", "x86_64-windows-gnu"]
