"""Published robots begin at their own start: none that loads and moves is refused, whatever its limits are.

Robots are those of example-robot-data, of shared/reference/robots, and of the folders in MOMENTREE_ROBOTS (checkouts of
MuJoCo Menagerie, dm_control, Gymnasium-Robotics ...). `pytest -s` prints how many there are of each kind.
"""

from __future__ import annotations

import os
import re
import signal
import sysconfig
import warnings
from collections import Counter
from pathlib import Path

import pytest

import momentree as mt

INSTALLED = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix" / "share" / "example-robot-data" / "robots"
HERE = Path(__file__).parents[3] / "shared" / "reference" / "robots"
FOLDERS = [INSTALLED, HERE, *map(Path, filter(None, os.environ.get("MOMENTREE_ROBOTS", "").split(os.pathsep)))]
FILES = sorted(path for folder in FOLDERS for end in ("urdf", "sdf", "xml") for path in folder.rglob(f"*.{end}"))
OPTION = re.compile(r'\b(inertia_check|massless|mimic) ?= ?"(\w+)"')
LONGEST = 60  # s of the processor, of one file
# what ends within the first millisecond, and why
ENDS = {"icub.urdf": 'its head is a point in the axes of its neck: massless="light" gives it inertia'}


def followed(path):
    """The system in a file, by the options that messages name; None where no option helps."""
    options: dict[str, str] = {}
    while True:
        try:
            return mt.load(path, **options).build()
        except mt.MomentreeError as error:
            more = dict(OPTION.findall(str(error)))
            if {*more.items()} <= {*options.items()}:
                return None
            options |= more


def outcome(path):
    system = followed(path)
    if system is None:
        return "not loaded"
    if system.nv == 0:
        return "does not move"
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = system.simulate(t_end=0.001, progress=False)
    except mt.RunError as error:
        run = error.run
    except mt.AssemblyError as error:
        return f"loops do not close: {error}"
    except mt.MomentreeError as error:
        return f"refused: {error}"
    stops = any("Stops push back" in str(warning.message) for warning in caught)
    return f"{run.end.reason}{' from a stop' * stops}"


def given_up(*_):
    raise TimeoutError


@pytest.mark.long
@pytest.mark.skipif(
    not FILES, reason="no published robots are here: pip install 'momentree[robots]', MOMENTREE_ROBOTS="
)
def test_no_published_robot_is_refused_at_its_own_start():
    signal.signal(signal.SIGPROF, given_up)
    found: dict[Path, str] = {}
    for path in FILES:
        signal.setitimer(signal.ITIMER_PROF, LONGEST)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[path] = outcome(path)
        except TimeoutError:
            found[path] = "takes long"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    counts = Counter(kind.partition(":")[0] for kind in found.values())
    print(f"\n{len(found)} files: " + ", ".join(f"{kind} {count}" for kind, count in counts.most_common()))
    wrong = {path: kind for path, kind in found.items() if kind.startswith(("refused", "failed"))}
    assert {path: kind for path, kind in wrong.items() if path.name not in ENDS} == {}
