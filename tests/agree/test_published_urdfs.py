"""Every URDF and SDF file of example-robot-data: read plainly, or with the options that the messages name, and as
Pinocchio reads it."""

from __future__ import annotations

import re
import sysconfig
import warnings
from pathlib import Path

import numpy as np
import pytest

import momentree as mt

SHARE = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
FILES = sorted(path.relative_to(SHARE) for ending in ("urdf", "sdf") for path in SHARE.rglob(f"*.{ending}"))
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not FILES, reason="example-robot-data is not installed: pip install 'momentree[robots]'"),
]
OPTION = re.compile(r'\b(inertia_check|massless|mimic) ?= ?"(\w+)"')
# what no option lets through, and why
REFUSED = {
    "ur_description/urdf/ur3.urdf": "has no <link>. Xacro wrote it, from macros that nothing uses",
}


def followed(path, **options):
    """The model and the system of a file, and the options by which it was loaded: others were named by messages."""
    while True:
        try:
            model = mt.load(path, **options)
            return model, model.build(), options
        except mt.MomentreeError as error:
            named = [dict(OPTION.findall(line)) for line in str(error).splitlines()]
            more = {key: value for each in named for key, value in each.items()}
            if not all(named) or {*more.items()} <= {*options.items()}:
                raise
            options |= more


def test_there_are_as_many_files_as_were_published():
    assert sum(path.suffix == ".urdf" for path in FILES) == 69
    assert sum(path.suffix == ".sdf" for path in FILES) == 5


@pytest.mark.parametrize("file", FILES, ids=str)
def test_published_files_are_read_with_the_options_that_messages_name(tmp_path, file):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if str(file) in REFUSED:
            with pytest.raises(mt.MomentreeError, match=re.escape(REFUSED[str(file)])):
                followed(SHARE / file)
            return
        model, system, options = followed(SHARE / file)
        model.save(tmp_path / "robot.toml")
        assert mt.load(tmp_path / "robot.toml") == model
    assert {*options} <= {"inertia_check", "massless", "mimic"}
    if file.suffix == ".urdf":
        against_pinocchio((SHARE / file).read_text(), system)


def against_pinocchio(text, system):
    """Mass matrices to 1e-12; joints that were fixed, since they move no mass, have none there."""
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed: pip install 'momentree[test]'")
    peer = pin.buildModelFromXML(text)
    data = peer.createData()
    ours = [body.joint.name for body in system.mechanism.bodies for _ in range(body.v.stop - body.v.start)]
    theirs = [name for name, joint in [*zip(peer.names, peer.joints, strict=True)][1:] for _ in range(joint.nv)]
    assert {*ours} <= {*theirs}
    v = np.random.default_rng(5).uniform(-0.6, 0.6, peer.nv)
    M = pin.crba(peer, data, pin.integrate(peer, pin.neutral(peer), v))
    M = np.triu(M) + np.triu(M, 1).T
    order = [theirs.index(name) for name in ours]
    left = [column for column, name in enumerate(theirs) if name not in ours]
    found = system.mass_matrix(v[order])
    assert np.abs(M[left]).max(initial=0.0) == 0
    assert np.abs(found - M[np.ix_(order, order)]).max(initial=0.0) <= 1e-12 * np.abs(M).max(initial=0.0)
