"""Momentree: dynamics of systems of rigid bodies, trees and closed kinematic loops."""

from typing import TYPE_CHECKING

from momentree.errors import (
    AssemblyError,
    AssemblyWarning,
    ExpressionError,
    GraphError,
    ModelError,
    ModelWarning,
    MomentreeError,
    RunWarning,
)
from momentree.files import load, loads
from momentree.model import Model, box, capsule, cylinder, disc, mesh, polygon, rod, sphere, turn
from momentree.model.joint_types import (
    Cylindrical,
    Fixed,
    Free,
    PinSlot,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from momentree.spatial.scalar import (
    absolute,
    acos,
    asin,
    atan,
    atan2,
    cos,
    cosh,
    exp,
    log,
    maximum,
    minimum,
    select,
    sign,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from momentree.structure import Graph
from momentree.system import System

if TYPE_CHECKING:
    from momentree.analyse.compare import Comparison, compare
    from momentree.analyse.ivanov_iteration import IvanovStudy, ivanov_iteration
    from momentree.analyse.programmes.control import Control
    from momentree.analyse.studies.designs import Design, grid, latin_hypercube, normal, points, random, uniform
    from momentree.analyse.studies.study import Study, load_study, study
    from momentree.programmes import MechanismProgramme, Programme, programme
    from momentree.results.programme_run import ProgrammeRun, load_programme_run
    from momentree.results.recorder import resume_run
    from momentree.results.run import Run, RunError, load_run
    from momentree.simulate.events import Event
    from momentree.simulate.inputs import sampled, signal
    from momentree.symbols.helmholtz import HelmholtzReport, helmholtz

__version__ = "0.2.0.dev0"

__all__ = [
    "AssemblyError",
    "AssemblyWarning",
    "Comparison",
    "Control",
    "Cylindrical",
    "Design",
    "Event",
    "ExpressionError",
    "Fixed",
    "Free",
    "Graph",
    "GraphError",
    "HelmholtzReport",
    "IvanovStudy",
    "MechanismProgramme",
    "Model",
    "ModelError",
    "ModelWarning",
    "MomentreeError",
    "PinSlot",
    "Planar",
    "Prismatic",
    "Programme",
    "ProgrammeRun",
    "Revolute",
    "Run",
    "RunError",
    "RunWarning",
    "Screw",
    "Spherical",
    "Study",
    "System",
    "Universal",
    "absolute",
    "acos",
    "asin",
    "atan",
    "atan2",
    "box",
    "capsule",
    "compare",
    "cos",
    "cosh",
    "cylinder",
    "disc",
    "exp",
    "grid",
    "helmholtz",
    "ivanov_iteration",
    "latin_hypercube",
    "load",
    "load_programme_run",
    "load_run",
    "load_study",
    "loads",
    "log",
    "maximum",
    "mesh",
    "minimum",
    "normal",
    "points",
    "polygon",
    "programme",
    "random",
    "resume_run",
    "rod",
    "sampled",
    "select",
    "sign",
    "signal",
    "sin",
    "sinh",
    "sphere",
    "sqrt",
    "study",
    "tan",
    "tanh",
    "turn",
    "uniform",
]

# imported when they are first used
_LATER = {
    **dict.fromkeys(("Run", "RunError", "load_run"), "results.run"),
    "resume_run": "results.recorder",
    "Event": "simulate.events",
    **dict.fromkeys(("sampled", "signal"), "simulate.inputs"),
    **dict.fromkeys(("Comparison", "compare"), "analyse.compare"),
    **dict.fromkeys(("IvanovStudy", "ivanov_iteration"), "analyse.ivanov_iteration"),
    **dict.fromkeys(("MechanismProgramme", "Programme", "programme"), "programmes"),
    **dict.fromkeys(("HelmholtzReport", "helmholtz"), "symbols.helmholtz"),
    "Control": "analyse.programmes.control",
    **dict.fromkeys(
        ("Design", "grid", "latin_hypercube", "normal", "points", "random", "uniform"), "analyse.studies.designs"
    ),
    **dict.fromkeys(("Study", "load_study", "study"), "analyse.studies.study"),
    **dict.fromkeys(("ProgrammeRun", "load_programme_run"), "results.programme_run"),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'momentree' has no attribute '{name}'")
    from importlib import import_module

    return globals().setdefault(name, getattr(import_module(f"momentree.{_LATER[name]}"), name))


def __dir__() -> list[str]:
    """What is public, and nothing else: neither rooms of the library nor names that it imports."""
    return sorted([*__all__, "__all__", "__doc__", "__version__"])
