"""Studies on a Dask cluster: the same bits as in one process, workers that die, errors that come back."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest
from distributed import Client, LocalCluster

import momentree as mt
from momentree.analyse.studies.cluster import client_of
from study_models import four_bar, rotor

OVER = {"a": [0.9, 1.0, -1.0, 1.1], "d": [2.4, 2.5]}
OUTPUTS = {"peak": "max(C.force)", "end": lambda run: run["D"][-1], "curve": "samples(A)"}


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def alone():
    return mt.study(four_bar(), OVER, OUTPUTS, every=0.1).run()


def test_a_cluster_gives_the_bits_of_one_process(client, alone, tmp_path):
    for path in (None, tmp_path / "s.zarr"):
        found = mt.study(four_bar(), OVER, OUTPUTS, every=0.1, client=client, chunk=1, path=path).run()
        for name in OUTPUTS:
            assert np.array_equal(found[name].values, alone[name].values, equal_nan=True), name
        assert (found.reason.values == alone.reason.values).all()
    assert (alone.status.values[2] == 2).all()


@pytest.mark.long
def test_workers_that_are_killed_come_back(client, tmp_path):
    def slow(run):
        time.sleep(0.05)
        return run["A"][-1]

    outputs, over = {"pull": "max(A.force)", "end": slow}, {"r": np.linspace(0.2, 1, 400)}
    study = mt.study(rotor(), over, outputs, every=0.5, client=client, chunk=1, path=tmp_path / "s.zarr")
    killed, ended = [], threading.Event()

    def kill() -> None:
        """Each time that some more chunks are done, a worker that lives long enough to have been started as a whole."""
        seen, born = 0, {}
        while len(killed) < 10 and not ended.wait(0.05):
            done = len(list((tmp_path / "s.zarr" / "status").glob("c/*")))
            if done >= seen + 5:
                pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
                old = [pid for pid in pids if time.monotonic() - born.setdefault(pid, time.monotonic()) > 1]
                if old:
                    os.kill(old[0], signal.SIGKILL)
                    killed.append(old[0])
                    seen = done

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = study.run()
    ended.set()
    killer.join()
    assert len(killed) == 10
    expected = mt.study(rotor(), over, outputs, every=0.5).run()
    assert np.array_equal(found.pull.values, expected.pull.values)
    assert np.array_equal(found.end.values, expected.end.values)


@pytest.mark.long
def test_a_cluster_without_workers_ends_a_study_and_nothing_is_lost(monkeypatch, tmp_path):
    monkeypatch.setattr("momentree.analyse.studies.cluster.WITHOUT_WORKERS", 3.0)
    outputs, over, path = {"end": "last(A)"}, {"r": np.linspace(0.2, 1, 6)}, tmp_path / "s.zarr"
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        study = mt.study(rotor(), over, outputs, every=0.5, client=client, chunk=1, path=path)
        steps = study._computed(study._store.pending())
        with study._store.held():
            next(steps)
            cluster.scale(0)
            with pytest.raises(mt.MomentreeError, match=r"no worker for 3 s.*cluster\.scale\(n\)"):
                list(steps)
        assert study.done >= 1
        cluster.scale(1)
        found = study.run()
    assert np.array_equal(found.end.values, mt.study(rotor(), over, outputs, every=0.5).run().end.values)


def test_an_error_of_a_worker_comes_back(client, tmp_path):
    study = mt.study(rotor(), {"r": [0.5, 0.6]}, {"end": "last(A)"}, every=0.5, client=client, path=tmp_path / "s.zarr")
    with study._store.held():
        pass
    (tmp_path / "s.zarr" / "end" / "c").write_text("a file where a folder belongs")
    with pytest.raises(mt.MomentreeError, match=r"s\.zarr: cannot be written"):
        study.run()


def test_what_is_no_client_or_cannot_travel_is_refused(client):
    with pytest.raises(mt.MomentreeError, match="give a client of Dask"):
        mt.study(rotor(), {"r": [0.5]}, {"end": "last(A)"}, every=0.5, client="tcp://nowhere").run()
    lock = threading.Lock()
    outputs = {"end": lambda run: 1.0 if lock else 0.0}
    with pytest.raises(mt.MomentreeError, match=r"cannot be sent to workers.*of output 'end'"):
        mt.study(rotor(), {"r": [0.5]}, outputs, every=0.5, client=client).run()


@pytest.mark.long
def test_a_scheduler_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr("momentree.analyse.studies.cluster.CONNECTED", 0.2)
    with pytest.raises(mt.MomentreeError, match="there is no Dask scheduler at"):
        client_of("tcp://127.0.0.1:9")
