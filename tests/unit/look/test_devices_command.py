"""`momentree devices`: what there is, and why a GPU cannot be used."""

from __future__ import annotations

import json

from command_line import command
from momentree.look.devices_command import devices_table


def test_the_processor_is_listed_and_the_missing_gpu_explained():
    done = command("devices")
    assert done.returncode == 0
    assert done.stdout.startswith("cpu ")
    assert "motions at a time" in done.stdout
    assert "gpu" in done.stdout


def test_json_has_the_same():
    data = json.loads(command("devices", "--json").stdout)
    assert data["processor"]["lanes"] in (2, 4, 8)
    assert data["processor"]["cores"] >= 1
    assert bool(data["gpus"]) != bool(data["reason"])


def test_a_card_that_cannot_be_used_says_why():
    card = {"device": "gpu:0", "name": "Old", "memory": 2**31, "compute_capability": "6.1", "multiprocessors": 5}
    card |= {"usable": False, "reason": "its compute capability is 6.1, and 7.0 is needed"}
    processor = {"name": "Some", "cores": 4, "threads": 2, "lanes": 8}
    table = devices_table({"processor": processor, "driver": "12.4", "gpus": [card], "reason": ""})
    assert "4 cores, 2 of them used" in table
    assert "gpu:0  Old: 2 GiB, compute capability 6.1, CUDA 12.4. Not usable: its compute capability is 6.1" in table
