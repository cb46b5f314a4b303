"""Chunks of a study as tasks on a Dask cluster: each task writes its own region, or hands its results back.

The client sends the whole study along with each task, and a worker reads it once. Nothing is kept on workers, so that
they may die and come back at any time; a chunk that was lost with its worker is computed again.
"""

from __future__ import annotations

import collections
import contextlib
import importlib
import queue
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from momentree.analyse.studies.chunks import ChunkResults, computed_chunk
from momentree.analyse.studies.stores import MemoryStore, ZarrStore
from momentree.errors import MomentreeError

ATTEMPTS = 10  # that a chunk has: each may end with the death of its worker
LOST = ("KilledWorker", "CancelledError", "FutureCancelledError", "CommClosedError")  # errors of Dask, not of a chunk
AHEAD = 4  # tasks for each thread of the cluster that are sent before results come
LOOKED = 2.0  # s without a result, after which workers are counted
WITHOUT_WORKERS = 300.0  # s that a study waits for a worker
CONNECTED = 10  # s in which a scheduler has to answer
KEPT = 4  # studies that a worker remembers

_STUDIES: collections.OrderedDict[bytes, MemoryStore | ZarrStore] = collections.OrderedDict()
_READING = threading.Lock()


def computed_on(
    client: Any, store: MemoryStore | ZarrStore, pending: Sequence[int], threads: int | None, device: str
) -> Iterator[tuple[int, ChunkResults | int]]:
    """Region after region as they are done: its number, and its results; of a store on the disk, how many failed."""
    if not hasattr(client, "submit") or not hasattr(client, "scheduler_info"):
        raise MomentreeError(f"study: client is {client!r}; give a client of Dask: distributed.Client(...).")
    sent, waiting, attempts = _packed(store), collections.deque(pending), collections.Counter[int]()
    ended: queue.Queue[Any] = queue.Queue()
    numbers: dict[Any, int] = {}

    def submit(i: int) -> None:
        attempts[i] += 1
        options = {"pure": False, "key": f"momentree-study-{i}-{attempts[i]}-{id(numbers)}"}
        future = client.submit(compute_region, sent, i, threads or 1, device, **options)
        numbers[future] = i
        future.add_done_callback(ended.put)

    distributed_module()
    for _ in range(min(max(2, AHEAD * _threads_of(client)), len(waiting))):
        submit(waiting.popleft())
    try:
        while numbers:
            future = _next(ended, client)
            i = numbers.pop(future)
            error = future.exception() if future.status == "error" else None
            if future.status == "finished":
                yield i, future.result()
                if waiting:
                    submit(waiting.popleft())
            elif error is not None and type(error).__name__ not in LOST:
                raise error
            elif attempts[i] < ATTEMPTS:
                submit(i)
            else:
                raise MomentreeError(f"study: chunk {i} was lost {ATTEMPTS} times on the cluster: {error!r}.")
    finally:
        client.cancel(list(numbers))


def _next(ended: queue.Queue[Any], client: Any) -> Any:
    """The next task that has ended; an error where the cluster has had no worker for too long."""
    alone_since: float | None = None
    while True:
        with contextlib.suppress(queue.Empty):
            return ended.get(timeout=LOOKED)
        now = time.monotonic()
        alone_since = None if _threads_of(client) else alone_since or now
        if alone_since is not None and now - alone_since > WITHOUT_WORKERS:
            raise MomentreeError(
                f"study: the cluster has had no worker for {WITHOUT_WORKERS:g} s. All that was computed is kept: start "
                "workers (dask worker ADDRESS, or cluster.scale(n)) and run the study again; where they come late, "
                "client.wait_for_workers(1) before it waits for them."
            )


def compute_region(sent: bytes, i: int, threads: int, device: str) -> ChunkResults | int:
    """On a worker: compute a region and write it; its results, or how many of its motions failed."""
    store = _unpacked(sent)
    region = store.regions[i]
    results = computed_chunk(store.study, region.begin, region.end, threads, device)
    if isinstance(store, MemoryStore):
        return results
    store.write(i, results)
    return results.failed


def distributed_module() -> Any:
    """The library, or an error that says how to get it."""
    try:
        return importlib.import_module("distributed")
    except ImportError:
        message = "a study on a cluster needs the library dask.distributed, which is not installed"
        raise MomentreeError(f'{message}. Install it by: pip install "momentree[study]"') from None


def client_of(address: str) -> Any:
    """A client of the scheduler at an address."""
    client = distributed_module().Client
    try:
        return client(address, timeout=CONNECTED)
    except (OSError, ValueError) as error:
        message = f"there is no Dask scheduler at {address}: {error or type(error).__name__}"
        raise MomentreeError(f"study: {message}. Start one by: dask scheduler") from None


def _packed(store: MemoryStore | ZarrStore) -> bytes:
    """The study and its store as bytes; functions of the program itself travel along."""
    import cloudpickle

    try:
        packed: bytes = cloudpickle.dumps(store)
    except Exception as error:  # whatever an object does that cannot be pickled
        functions = [output.name for output in store.study.outputs if output.expression is None]
        blamed = f" Is it a function, of output {', '.join(map(repr, functions))}?" if functions else ""
        raise MomentreeError(f"study: it cannot be sent to workers: {error}.{blamed}") from None
    return packed


def _unpacked(sent: bytes) -> MemoryStore | ZarrStore:
    import cloudpickle

    with _READING:
        if sent not in _STUDIES:
            _STUDIES[sent] = cloudpickle.loads(sent)
            while len(_STUDIES) > KEPT:
                _STUDIES.popitem(last=False)
        return _STUDIES[sent]


def _threads_of(client: Any) -> int:
    workers = client.scheduler_info().get("workers", {})
    return sum(int(worker.get("nthreads", 1)) for worker in workers.values())
