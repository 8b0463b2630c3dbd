"""The simulated runs of a study: threads, recorded results, snapshots for checkpoints."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from symderiv.experiment.steps.step_chain import MarkovChain
from symderiv.storage.checkpoint import Checkpoint


def generator_words(generator: np.random.Generator) -> np.ndarray:
    """Return the state of an SFC64 generator, shape (6,) of uint64."""
    state = generator.bit_generator.state
    return np.array(
        [*state["state"]["state"], state["has_uint32"], state["uinteger"]], dtype=np.uint64
    )


def set_generator(generator: np.random.Generator, words: np.ndarray) -> None:
    """Put a generator into the state that :func:`generator_words` gave."""
    generator.bit_generator.state = {
        "bit_generator": "SFC64",
        "state": {"state": np.array(words[:4], dtype=np.uint64)},
        "has_uint32": int(words[4]),
        "uinteger": int(words[5]),
    }


@dataclass(frozen=True)
class Snapshot:
    """The state of a run between two examples.

    Args:
        recorded, made: the numbers of results recorded and of examples learnt.
        weights: copies of the arrays that learning changes.
        generators: their states before the current block was drawn, shape (generators, 6); the
            block itself is not kept but drawn again.
    """

    recorded: int
    made: int
    weights: Mapping[str, np.ndarray]
    generators: np.ndarray


def words_of(generators: Sequence[np.random.Generator]) -> np.ndarray:
    """Return the states of several generators, shape (generators, 6)."""
    return np.stack([generator_words(generator) for generator in generators])


# The key of the runs in a checkpoint.
_ENTRY = "simulation"

#: Called with the number of examples learnt so far in all runs, and their total.
SimulationProgress = Callable[[int, int], None]


@dataclass
class _Run:
    """The progress of a run, and the snapshot from which it can be resumed."""

    recorded: int = 0
    made: int = 0
    diverged: bool = False
    finished: bool = False
    snapshot: Snapshot | None = None


class SimulatedRuns:
    """The runs of a study, each in a thread; compiled code releases the interpreter's lock.

    Args:
        chain: A function from a run's index to its chain.
        measured: A function from a chain to the recorded numbers, by name.
        examples: The ascending numbers of examples after which runs are recorded.
        runs: The number of runs.
        dimension: N.
        checkpoint: The checkpoint that keeps them.
    """

    def __init__(
        self,
        chain: Callable[[int], MarkovChain],
        measured: Callable[[Any], Mapping[str, Any]],
        examples: np.ndarray,
        runs: int,
        dimension: int,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.chain, self.measured, self.examples = chain, measured, examples
        self.dimension, self.checkpoint = dimension, checkpoint
        self.stop = threading.Event()
        # measuring the common start also gives the shapes of what is recorded
        self.results = {
            name: np.zeros((runs, examples.size, *np.shape(value)))
            for name, value in measured(chain(0)).items()
        }
        self.runs = [_Run() for _ in range(runs)]
        if checkpoint is not None:
            self._restore(checkpoint.entry(_ENTRY))

    def go(self, index: int) -> None:
        """Carry out one run."""
        run, chain = self.runs[index], self.chain(index)
        total = int(self.examples[-1])
        before: np.ndarray | None = None
        every = math.inf if self.checkpoint is None else 0.5 * self.checkpoint.every
        next_snapshot = time.monotonic() + every

        def snapshot() -> None:
            # before its first block a run is restarted instead
            if before is not None:
                weights = {name: array.copy() for name, array in chain.weights.items()}
                run.snapshot = Snapshot(run.recorded, run.made, weights, before)

        if run.snapshot is not None:
            before = run.snapshot.generators
            for generator, words in zip(chain.generators, before, strict=True):
                set_generator(generator, words)
            for name, array in run.snapshot.weights.items():
                chain.weights[name][...] = array
            chain.made = run.made
            # the current block; if it is used up, the next one is drawn below
            chain.draw()
        # overflows of a diverging run are detected and reported below
        with np.errstate(over="ignore", invalid="ignore"):
            while True:
                while run.recorded < self.examples.size:
                    if self.examples[run.recorded] != run.made:
                        break
                    for name, value in self.measured(chain).items():
                        self.results[name][index, run.recorded] = value
                    run.recorded += 1
                if run.made == total:
                    run.finished = True
                    return
                if self.stop.is_set():
                    snapshot()
                    return
                if every < math.inf and time.monotonic() >= next_snapshot:
                    snapshot()
                    next_snapshot = time.monotonic() + every
                used = run.made % chain.block
                if used == 0:
                    if every < math.inf:
                        before = words_of(chain.generators)
                    # whole blocks, so that a run does not depend on the requested times
                    chain.draw()
                upto = min(chain.block, used + int(self.examples[run.recorded]) - run.made)
                bad = chain.learn(used, upto)
                run.made = chain.made
                if bad >= 0:
                    run.diverged = run.finished = True
                    return

    def keep(self, checkpoint: Checkpoint) -> None:
        """Store the runs in a checkpoint, also while they go on in other threads.

        The arrays may contain what a run recorded after its snapshot; it will be recorded again.
        """
        progress = np.zeros((3, len(self.runs)), dtype=np.int64)
        entry = {**self.results, "progress": progress}
        for index, run in enumerate(self.runs):
            snapshot = run.snapshot
            if run.finished:
                progress[:, index] = run.recorded, run.made, 2 if run.diverged else 1
            elif snapshot is not None:
                progress[:, index] = snapshot.recorded, snapshot.made, 0
                entry[f"{index} generators"] = snapshot.generators
                for name, array in snapshot.weights.items():
                    entry[f"{index} weights {name}"] = array
        alpha = float(np.mean(progress[1])) / self.dimension
        checkpoint.keep(_ENTRY, entry, f"alpha = {alpha:.6g} (mean of {len(self.runs)} runs)")

    def _restore(self, entry: Mapping[str, np.ndarray] | None) -> None:
        if entry is None:
            return
        for name, values in self.results.items():
            values[...] = entry[name]
        weights: dict[int, dict[str, np.ndarray]] = {}
        for name, array in entry.items():
            number, _, rest = name.partition(" weights ")
            if rest:
                weights.setdefault(int(number), {})[rest] = array
        for index, run in enumerate(self.runs):
            recorded, made, ended = (int(count) for count in entry["progress"][:, index])
            run.recorded, run.made = recorded, made
            run.finished, run.diverged = ended > 0, ended == 2
            if index in weights:
                words = entry[f"{index} generators"]
                run.snapshot = Snapshot(recorded, made, weights[index], words)


def run_all(work: SimulatedRuns, workers: int, progress: SimulationProgress | None) -> bool:
    """Carry out all runs; return whether they were interrupted."""
    total = int(work.examples[-1]) * len(work.runs)
    interrupted = False
    left = deque(index for index, run in enumerate(work.runs) if not run.finished)
    checkpoint = work.checkpoint
    pause = 0.2 if checkpoint is None else min(0.2, max(checkpoint.every, 0.01))
    listening = nullcontext() if checkpoint is None else checkpoint.listening()

    def make_runs() -> None:
        # one task per thread, as there may be many thousands of short runs
        while True:
            try:
                index = left.popleft()
            except IndexError:
                return
            work.go(index)

    with listening, ThreadPoolExecutor(max_workers=workers) as pool:
        waiting: set[Future[None]] = {pool.submit(make_runs) for _ in range(workers)}
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=pause, return_when=FIRST_COMPLETED)
                if progress is not None:
                    progress(sum(run.made for run in work.runs), total)
                for finished in done:
                    finished.result()
                if checkpoint is None:
                    continue
                if checkpoint.stop_asked:
                    # the loop continues until all threads have noticed
                    work.stop.set()
                elif checkpoint.due:
                    work.keep(checkpoint)
                    checkpoint.write()
        except BaseException as error:
            # tell the other threads to stop; leaving the pool waits for them
            work.stop.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
            interrupted = True
    if checkpoint is not None:
        interrupted = interrupted or not all(run.finished for run in work.runs)
        work.keep(checkpoint)
        if interrupted:
            checkpoint.stop()
    return interrupted
