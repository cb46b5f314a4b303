"""`momentree devices`: the processor and the GPUs that can compute motions, and why others cannot."""

from __future__ import annotations

import json
import os
import platform
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def devices_command(as_json: Json = False) -> None:
    """List the processor and the GPUs that `simulate_many` can use, by the names that device= takes."""
    data = devices_data()
    print(json.dumps(data, indent=2) if as_json else devices_table(data))


def devices_data() -> dict[str, Any]:
    """What there is, as numbers and names; `reason` says why there is no GPU, or why one cannot be used."""
    from momentree.compile.execute.machine_code import Target
    from momentree.compile.execute.threads import available

    target = Target.host()
    processor: dict[str, Any] = {"device": "cpu", "name": _processor_name(), "architecture": target.cpu}
    processor |= {"cores": os.cpu_count() or 1, "threads": available(), "lanes": target.lanes(0)}
    return {"processor": processor, **_gpus()}


def _gpus() -> dict[str, Any]:
    from momentree.compile.execute.gpu_devices import gpus
    from momentree.compile.execute.gpu_driver import GpuError, driver

    try:
        found, version = gpus(), driver().version
    except GpuError as error:
        return {"driver": None, "gpus": [], "reason": str(error)}
    listed = [
        {
            "device": f"gpu:{gpu.number}",
            "name": gpu.name,
            "memory": gpu.memory,
            "compute_capability": ".".join(map(str, gpu.capability)),
            "multiprocessors": gpu.multiprocessors,
            "usable": not gpu.objection,
            "reason": gpu.objection,
        }
        for gpu in found
    ]
    reason = "" if found else "the driver shows none; CUDA_VISIBLE_DEVICES may hide them."
    return {"driver": f"{version // 1000}.{version % 1000 // 10}", "gpus": listed, "reason": reason}


def devices_table(data: dict[str, Any]) -> str:
    """The same for reading."""
    cpu = data["processor"]
    cores = f"{cpu['cores']} cores" + (f", {cpu['threads']} of them used" if cpu["threads"] < cpu["cores"] else "")
    lines = [f"cpu    {cpu['name']}: {cores}, {cpu['lanes']} motions at a time on each"]
    for gpu in data["gpus"]:
        what = f"{gpu['memory'] / 2**30:.0f} GiB, compute capability {gpu['compute_capability']}, CUDA {data['driver']}"
        lines.append(
            f"{gpu['device']}  {gpu['name']}: {what}" + ("" if gpu["usable"] else f". Not usable: {gpu['reason']}")
        )
    if not data["gpus"]:
        lines.append(f"gpu    none: {data['reason']}")
    return "\n".join(lines)


def _processor_name() -> str:
    """As its maker calls it, where the system tells."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            named = (line.partition(":")[2].strip() for line in file if line.startswith("model name"))
            return next(named, "") or platform.machine()
    except OSError:
        return platform.processor() or platform.machine()
