"""Boxes on a cluster: few at a time, again after a worker was killed, an end when it is gone."""

import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from symderiv.foundation.errors import SymderivError
from symderiv.problem.study import Study
from symderiv.sweeps import scheduling
from symderiv.sweeps.run_grid import layout_of
from symderiv.sweeps.study_grid import Grid
from symderiv.sweeps.sweep import run_sweep

OVER: dict[str, Any] = {"training.learning_rate": [0.1, 0.2, 0.3], "initial.seed": list(range(8))}


class KilledWorker(Exception):  # noqa: N818
    """As that of Dask."""


class Future:
    """A call that is made when its result is asked for, or fails."""

    def __init__(self, key: int, call: Callable[[], Any]) -> None:
        self.key, self.result = str(key), call


class Completed:
    """Futures in the order in which they were added."""

    def __init__(self) -> None:
        self.waiting: list[Future] = []
        self.most = 0

    def add(self, future: Future) -> None:
        self.waiting.append(future)
        self.most = max(self.most, len(self.waiting))

    def __iter__(self) -> Iterator[Future]:
        while self.waiting:
            yield self.waiting.pop(0)


class Cluster:
    """Two workers in this process; some calls end otherwise than with a result."""

    dashboard_link = ""

    def __init__(self, failing: Callable[[int], Exception | None]) -> None:
        self.completed, self.calls, self._failing = Completed(), 0, failing

    def nthreads(self) -> dict[str, int]:
        return {"a": 1, "b": 1}

    def submit(self, function: Callable[..., Any], *arguments: Any, pure: bool) -> Future:
        assert not pure
        self.calls += 1
        error = self._failing(self.calls)

        def call() -> Any:
            if error is not None:
                raise error
            return function(*arguments)

        return Future(self.calls, call)


def on(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class CancelledError(Exception):
        pass

    stand_in = SimpleNamespace(
        as_completed=lambda: cluster.completed,
        KilledWorker=KilledWorker,
        CancelledError=CancelledError,
    )
    monkeypatch.setattr(scheduling, "_distributed", lambda: stand_in)


def test_boxes_come_back_whoever_is_killed_and_few_are_on_their_way(
    study: Study, tmp_path: Path, computed: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    from symderiv.sweeps import run_grid

    monkeypatch.setattr(run_grid, "_PARTS", 24)
    cluster = Cluster(lambda call: KilledWorker() if call % 3 == 0 else None)
    on(cluster, monkeypatch)
    grid = Grid(study, OVER)
    there = layout_of(grid)
    jobs = [scheduling.Job(box) for box in there.boxes()]
    found = dict(scheduling.on_cluster(cluster, grid, there, jobs))
    assert len(found) == 24
    assert cluster.calls == 24 + 11
    assert cluster.completed.most <= 6
    whole = run_sweep(study, OVER, tmp_path / "s.zarr", where=0).to_xarray()
    for box, result in found.items():
        assert result.arrays["Q"].tobytes() == whole["Q"].values[box.slices].tobytes()
        hashes = whole["point_hash"].values[box.slices].ravel()
        assert result.arrays["point_hash"].tolist() == hashes.tolist()


def test_a_box_that_kills_every_worker_and_a_cluster_that_is_gone_end_the_sweep(
    study: Study, computed: list[Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid(study, OVER)
    there = layout_of(grid)
    for error, said in ((KilledWorker(), "killed 10 workers"), (OSError(), "scheduler stopped")):
        cluster = Cluster(lambda call, error=error: error)  # type: ignore[misc]
        on(cluster, monkeypatch)
        jobs = [scheduling.Job(there.box_at(0))]
        with pytest.raises(SymderivError, match=said):
            list(scheduling.on_cluster(cluster, grid, there, jobs))


def test_small_sweeps_run_in_this_process() -> None:
    assert scheduling._processes(scheduling.LARGE - 1) == 0
    assert scheduling._processes(scheduling.LARGE) >= 1


def test_workers_that_cannot_start_are_given_up_and_say_why(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def broken(log: Path, words: Sequence[str]) -> Any:
        started.append(words[0])
        return start(log, (*words, "--nanny-port", "x") if words[0] == "worker" else words)

    start = scheduling._started
    monkeypatch.setattr(scheduling, "_started", broken)
    monkeypatch.setattr(scheduling, "_WATCH_SECONDS", 0.1)
    with pytest.raises(SymderivError, match=r"ended 3 times before it could work .*; try") as told:
        run_sweep(study, OVER, tmp_path / "s.zarr", where=1)
    assert "(ValueError: invalid literal for int()" in str(told.value)
    assert started == ["scheduler", "worker", "worker", "worker"]


def test_a_scheduler_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    start = scheduling._started
    monkeypatch.setattr(
        scheduling, "_started", lambda log, words: start(log, (*words, "--no-such-option"))
    )
    with (
        pytest.raises(SymderivError, match=r"does not start \(.*no-such-option"),
        scheduling.local_cluster(0),
    ):
        pass


def test_the_address_of_the_dashboard_answers_and_nobody_else_can_reach_the_cluster(
    study: Study, tmp_path: Path
) -> None:
    pytest.importorskip("bokeh", reason="of the extra [cluster]")
    psutil = pytest.importorskip("psutil")

    class SeenEnoughError(Exception):
        pass

    pages: list[str] = []

    def notice(line: str) -> None:
        if not line.startswith("dashboard: "):
            return
        address = line.removeprefix("dashboard: ")
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=30) as page:
            assert page.status == 200
            pages.append(page.read().decode())
        ours = psutil.Process().children(recursive=True)
        listening = [c for p in ours for c in p.net_connections() if c.status == "LISTEN"]
        assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
        raise SeenEnoughError

    with pytest.raises(SeenEnoughError):
        run_sweep(study, OVER, tmp_path / "s.zarr", where=1, notice=notice)
    assert "Dask" in pages[0]
