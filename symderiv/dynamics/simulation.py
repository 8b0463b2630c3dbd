"""One-pass stochastic gradient descent of a study: runs, threads, results; explicit vectors.

With vectors it works in the eigenbasis of the inputs, where a coordinate is sqrt(rho_a) z_a with
z_a ~ N(0, 1), and on vectors scaled by sqrt(rho_a), so that a field is a plain product with z.
The cost of an example is close to that of its N normal numbers. Without vectors see
:mod:`symderiv.dynamics.gram`.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numba import types

from symderiv.dynamics.activation_error import kernel_for
from symderiv.dynamics.checkpoint import Checkpoint, identity
from symderiv.dynamics.compiled import MATRIX, SCALAR_FUNCTION, VECTOR, compiled
from symderiv.dynamics.gram import Factors, GramChain, factors, gram_is_cheaper
from symderiv.dynamics.initial import (
    RUNS,
    Initial,
    Vectors,
    coordinates_of,
    initial,
    stream,
    vectors_with_overlaps,
)
from symderiv.dynamics.kernels import Kernel
from symderiv.dynamics.run_memory import Snapshot, set_generator, words_of
from symderiv.dynamics.state import State
from symderiv.dynamics.study import Study
from symderiv.errors import InputError

# A block of inputs should stay in the second-level cache; entering compiled code costs as much as
# drawing ten thousand numbers, so blocks should not be smaller than they must.
_BLOCK_NUMBERS = 128 * 1024

# The key of the runs in a checkpoint.
_ENTRY = "simulation"

#: Called with the examples made so far, over all runs, and their total.
SimulationProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class SimulationResult:
    """Learning curves of simulated runs and their mean.

    Args:
        alpha: times asked for and reached by all runs, shape (P,).
        examples: the whole numbers of examples nearest to N alpha, where the runs reported, (P,).
        Q, R, v, generalization_error: of every run, shapes (runs, P, K, K), (runs, P, K, M),
            (runs, P, K), (runs, P); the error is computed from Q, R, T, v, not from examples.
        T, teacher_weights: shapes (M, M), (M,); shared by all runs.
        cause: "done", "not-a-number" or "interrupted".
        message: one line that says how the runs ended.
    """

    alpha: np.ndarray
    examples: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    generalization_error: np.ndarray
    T: np.ndarray
    teacher_weights: np.ndarray
    initial: State
    dimension: int
    runs: int
    method: str
    alpha_end: float
    cause: str
    message: str
    wall_seconds: float
    warnings: tuple[str, ...] = ()
    study_text: str = ""
    student_activation: str = ""
    teacher_activation: str = ""
    kernel_sha256: str = ""
    kernel_name: str = ""

    @property
    def succeeded(self) -> bool:
        return self.cause == "done"

    def mean(self, name: str) -> np.ndarray:
        """Mean over the runs of "Q", "R", "v" or "generalization_error"."""
        values: np.ndarray = np.mean(getattr(self, name), axis=0)
        return values

    def standard_error(self, name: str) -> np.ndarray:
        """Standard error of :meth:`mean`; not a number for a single run."""
        values = np.asarray(getattr(self, name))
        if self.runs == 1:
            return np.full(values.shape[1:], np.nan)
        errors: np.ndarray = np.std(values, axis=0, ddof=1) / math.sqrt(self.runs)
        return errors


@compiled(
    types.int64(
        SCALAR_FUNCTION,
        SCALAR_FUNCTION,
        SCALAR_FUNCTION,
        MATRIX,
        MATRIX,
        VECTOR,
        VECTOR,
        VECTOR,
        MATRIX,
        VECTOR,
        types.int64,
        types.int64,
        VECTOR,
    ),
    # only the order of sums is given up, which lets the inner products use vector instructions
    fastmath={"reassoc", "contract"},
)
def descend(
    student_activation: Callable[[float], float],
    student_derivative: Callable[[float], float],
    teacher_activation: Callable[[float], float],
    J: np.ndarray,
    B: np.ndarray,
    v: np.ndarray,
    v_teacher: np.ndarray,
    variance: np.ndarray,
    z: np.ndarray,
    noise: np.ndarray,
    begin: int,
    end: int,
    rates: np.ndarray,
) -> int:
    """Learn the examples ``begin`` to ``end`` of a block; return the first that diverged or -1.

    J (K, N) and B (M, N) are scaled by sqrt(rho_a); z (examples, N) are independent normals and
    ``noise`` (examples,) the label noise. ``rates``: both learning rates, both weight decays.
    """
    K, N = J.shape
    M = B.shape[0]
    root = math.sqrt(N)
    step = rates[0] / root
    step_v = rates[1] / N
    keep = 1.0 - rates[2] / N
    keep_v = 1.0 - rates[3] / N
    slope = np.empty(K)
    output = np.empty(K)
    for e in range(begin, end):
        delta = -noise[e]
        for n in range(M):
            field = 0.0
            for a in range(N):
                field += B[n, a] * z[e, a]
            delta -= v_teacher[n] * teacher_activation(field / root)
        for i in range(K):
            field = 0.0
            for a in range(N):
                field += J[i, a] * z[e, a]
            field /= root
            output[i] = student_activation(field)
            slope[i] = student_derivative(field)
            delta += v[i] * output[i]
        if not math.isfinite(delta):
            return e
        for i in range(K):
            change = step * v[i] * slope[i] * delta
            if keep == 1.0:
                for a in range(N):
                    J[i, a] -= change * variance[a] * z[e, a]
            else:
                for a in range(N):
                    J[i, a] = keep * J[i, a] - change * variance[a] * z[e, a]
        for i in range(K):
            v[i] = keep_v * v[i] - step_v * output[i] * delta
    return -1


def _as_value(function: Any) -> Any:
    """A compiled scalar function that can be passed to another one.

    The generated modules leave these functions to be compiled on first call; a function that is
    passed must have been compiled before.
    """
    if hasattr(function, "compile"):
        function.compile((types.float64,))
    return function


@dataclass
class _Run:
    """One run: what it has recorded so far, and from where it could go on."""

    Q: np.ndarray
    R: np.ndarray
    v: np.ndarray
    error: np.ndarray
    recorded: int = 0
    made: int = 0
    diverged: bool = False
    finished: bool = False
    snapshot: Snapshot | None = None


class _Chain(Protocol):
    """One run's weights, in whatever form, and its block of examples."""

    v: np.ndarray

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The arrays that learning changes, and nothing else does."""

    @property
    def generators(self) -> tuple[np.random.Generator, ...]:
        """What blocks are drawn from."""

    def draw(self) -> None:
        """Draw the examples of the next block."""

    def learn(self, noise: np.ndarray, begin: int, end: int) -> int:
        """Learn the examples ``begin`` to ``end``; the first that diverged or -1."""

    def overlaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Q and R."""


class _VectorChain:
    """One run with explicit vectors; see :class:`~symderiv.dynamics.gram.GramChain`."""

    def __init__(
        self,
        start: Vectors,
        functions: tuple[Any, Any, Any],
        v: np.ndarray,
        v_teacher: np.ndarray,
        rates: np.ndarray,
        random: np.random.Generator,
        block: int,
    ) -> None:
        scale = np.sqrt(start.variance)
        self.functions, self.rates, self.random = functions, rates, random
        self.variance = start.variance
        self.J = np.ascontiguousarray(start.student * scale)
        self.B = np.ascontiguousarray(start.teacher * scale)
        self.v, self.v_teacher = v.copy(), v_teacher
        self.z = np.empty((block, scale.size))

    @property
    def weights(self) -> dict[str, np.ndarray]:
        return {"J": self.J, "v": self.v}

    @property
    def generators(self) -> tuple[np.random.Generator, ...]:
        return (self.random,)

    def draw(self) -> None:
        self.random.standard_normal(out=self.z)

    def learn(self, noise: np.ndarray, begin: int, end: int) -> int:
        return int(
            descend(
                *self.functions,
                self.J,
                self.B,
                self.v,
                self.v_teacher,
                self.variance,
                self.z,
                noise,
                begin,
                end,
                self.rates,
            )
        )

    def overlaps(self) -> tuple[np.ndarray, np.ndarray]:
        N = self.variance.size
        return self.J @ self.J.T / N, self.J @ self.B.T / N


class _Simulation:
    """The runs of a study, each in its own thread; compiled code runs without the lock."""

    def __init__(
        self,
        study: Study,
        kernel: Kernel,
        start: Vectors | Factors,
        state: State,
        runs: int,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.study, self.kernel, self.start, self.state = study, kernel, start, state
        self.checkpoint = checkpoint
        self.stop = threading.Event()
        # compiled functions take writable arrays; those of a state are read-only
        self.v_teacher = state.teacher_weights.copy()
        self.functions: tuple[Any, Any, Any] = (
            _as_value(kernel.module.student_activation),
            _as_value(kernel.module.student_activation_derivative),
            _as_value(kernel.module.teacher_activation),
        )
        self.rates = np.array(
            [
                study.training.learning_rate,
                study.second_layer_learning_rate,
                study.training.weight_decay,
                study.second_layer_weight_decay,
            ]
        )
        # The error of given Q and R is that of a problem with one eigenvalue 1: this is the
        # function that the integration uses, so there is nothing more to compile.
        self.sizes = np.array([state.K, state.M, 1], dtype=np.int64)
        T = state.T.ravel()
        self.parameters = np.concatenate([np.ones(2), T, T, self.v_teacher, np.zeros(6)])
        if isinstance(start, Vectors):
            self.dimension, numbers = start.variance.size, start.variance.size
        else:
            self.dimension, numbers = start.dimension, start.rows[:, 0].size
        self.examples = np.rint(study.simulation_alpha * self.dimension).astype(np.int64)
        # blocks do not show in the numbers: short runs need not draw a whole one
        self.block = max(1, min(_BLOCK_NUMBERS // numbers, int(self.examples[-1])))
        K, M, P = state.K, state.M, self.examples.size
        self.results = {
            "Q": np.zeros((runs, P, K, K)),
            "R": np.zeros((runs, P, K, M)),
            "v": np.zeros((runs, P, K)),
            "error": np.zeros((runs, P)),
        }
        self.runs = [
            _Run(**{name: values[index] for name, values in self.results.items()})
            for index in range(runs)
        ]
        if checkpoint is not None:
            self._restore(checkpoint.entry(_ENTRY))

    def _chain(self, index: int) -> _Chain:
        seed, v = self.study.initial.seed, self.state.student_weights
        common = self.functions, v, self.v_teacher, self.rates, stream(seed, RUNS, index)
        if isinstance(self.start, Vectors):
            return _VectorChain(self.start, *common, self.block)
        return GramChain(self.start, *common, stream(seed, RUNS, index, 2), self.block)

    def go(self, index: int) -> None:
        """Make one run."""
        run, block = self.runs[index], self.block
        chain = self._chain(index)
        random_noise = stream(self.study.initial.seed, RUNS, index, 1)
        noise = np.zeros(block)
        sigma = self.study.training.label_noise
        used = block
        total = int(self.examples[-1])
        generators = (*chain.generators, random_noise)
        before: np.ndarray | None = None
        every = math.inf if self.checkpoint is None else 0.5 * self.checkpoint.every
        next_snapshot = time.monotonic() + every

        def draw() -> None:
            chain.draw()
            if sigma > 0.0:
                random_noise.standard_normal(out=noise)
                np.multiply(noise, sigma, out=noise)

        def snapshot() -> None:
            # before its first block a run is simply started again
            if before is not None:
                weights = {name: array.copy() for name, array in chain.weights.items()}
                run.snapshot = Snapshot(run.recorded, run.made, used, weights, before)

        if run.snapshot is not None:
            used, before = run.snapshot.used, run.snapshot.generators
            for generator, words in zip(generators, before, strict=True):
                set_generator(generator, words)
            for name, array in run.snapshot.weights.items():
                chain.weights[name][:] = array
            draw()
        # an overflow on the way to infinity is noticed and reported below
        with np.errstate(over="ignore", invalid="ignore"):
            while True:
                while run.recorded < self.examples.size:
                    if self.examples[run.recorded] != run.made:
                        break
                    self._record(run, chain)
                if run.made == total:
                    run.finished = True
                    return
                if self.stop.is_set():
                    snapshot()
                    return
                if every < math.inf and time.monotonic() >= next_snapshot:
                    snapshot()
                    next_snapshot = time.monotonic() + every
                if used == block:
                    if every < math.inf:
                        before = words_of(generators)
                    # whole blocks, so that a run does not depend on the times asked for
                    draw()
                    used = 0
                upto = min(block, used + int(self.examples[run.recorded]) - run.made)
                bad = chain.learn(noise, used, upto)
                if bad >= 0:
                    run.made += bad - used
                    run.diverged = run.finished = True
                    return
                run.made += upto - used
                used = upto

    def _record(self, run: _Run, chain: _Chain) -> None:
        at = run.recorded
        run.Q[at], run.R[at] = chain.overlaps()
        run.v[at] = chain.v
        flat = np.concatenate([run.Q[at].ravel(), run.R[at].ravel(), chain.v])
        run.error[at] = self.kernel.module.flat_observables(
            flat, self.sizes, self.parameters, np.empty_like(run.Q[at]), np.empty_like(run.R[at])
        )
        run.recorded += 1

    def keep(self, checkpoint: Checkpoint) -> None:
        """Hand the runs to a checkpoint, also while they go on in other threads.

        What a run records after its snapshot may be in the arrays and is recorded again.
        """
        progress = np.zeros((3, len(self.runs)), dtype=np.int64)
        entry = {**self.results, "progress": progress}
        for index, run in enumerate(self.runs):
            snapshot = run.snapshot
            if run.finished:
                progress[:, index] = run.recorded, run.made, 2 if run.diverged else 1
            elif snapshot is not None:
                progress[:, index] = snapshot.recorded, snapshot.made, 0
                entry[f"{index} used"] = np.array(snapshot.used)
                entry[f"{index} generators"] = snapshot.generators
                for name, array in snapshot.weights.items():
                    entry[f"{index} weights {name}"] = array
        alpha = float(np.mean(progress[1])) / self.dimension
        checkpoint.keep(_ENTRY, entry, f"alpha = {alpha:.6g} (mean of {len(self.runs)} runs)")

    def _restore(self, entry: Mapping[str, np.ndarray] | None) -> None:
        if entry is None:
            return
        for name, values in self.results.items():
            values[:] = entry[name]
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
                used, words = int(entry[f"{index} used"]), entry[f"{index} generators"]
                run.snapshot = Snapshot(recorded, made, used, weights[index], words)


def simulate(
    study: Study,
    *,
    runs: int | None = None,
    kernel: Kernel | None = None,
    start: Initial | None = None,
    workers: int | None = None,
    progress: SimulationProgress | None = None,
    notice: Callable[[str], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> SimulationResult:
    """Simulate a study by one-pass stochastic gradient descent, several times.

    All runs share the teacher and the initial student of the integration and differ in their
    examples. The result depends on the study's seed only, not on the number of workers. With
    ``method = "auto"`` vectors are used where they are cheaper
    (:func:`~symderiv.dynamics.gram.gram_is_cheaper`).

    Args:
        study: a study without [sweep].
        runs: instead of [simulation] runs.
        kernel, start: see :func:`~symderiv.dynamics.integrate.solve`; the same start may be given
            to both.
        workers: threads; None for one per processor.
        progress: called a few times a second.
        notice: see :func:`~symderiv.dynamics.kernels.load_kernel`.
        checkpoint: see :func:`~symderiv.dynamics.integrate.solve`.

    Raises:
        InputError: the study cannot be simulated as it is.
    """
    if study.sweep:
        raise InputError(
            "sweep: a study with [sweep] is several runs; use symderiv sweep or symderiv study"
        )
    count = study.simulation.runs if runs is None else runs
    if count < 1:
        raise InputError(f"simulation.runs: {count} is below 1")
    start = start or initial(study)
    weights = _weights(study, start)
    if kernel is None:
        kernel = kernel_for(study, notice=notice)
    if checkpoint is not None:
        checkpoint.open(identity(study, kernel.sha256, command="simulate", runs=count))
    started = time.perf_counter()
    work = _Simulation(study, kernel, weights, start.state, count, checkpoint)
    interrupted = _run_all(work, workers or min(count, os.cpu_count() or 1), progress)
    reached = min(run.recorded for run in work.runs)
    N = work.dimension
    cause, message = "done", f"reached alpha = {work.examples[-1] / N:.10g}"
    diverged = [index for index, run in enumerate(work.runs) if run.diverged]
    if diverged:
        first = min(diverged, key=lambda index: work.runs[index].made)
        cause = "not-a-number"
        message = (
            f"run {first + 1} of {count} diverged at alpha = {work.runs[first].made / N:.6g}; "
            "the learning rate may be too large"
        )
    elif interrupted:
        cause, message = "interrupted", "interrupted"
    return SimulationResult(
        alpha=study.simulation_alpha[:reached].copy(),
        examples=work.examples[:reached],
        Q=np.stack([run.Q[:reached] for run in work.runs]),
        R=np.stack([run.R[:reached] for run in work.runs]),
        v=np.stack([run.v[:reached] for run in work.runs]),
        generalization_error=np.stack([run.error[:reached] for run in work.runs]),
        T=start.state.T,
        teacher_weights=start.state.teacher_weights,
        initial=start.state,
        dimension=N,
        runs=count,
        method="vectors" if isinstance(weights, Vectors) else "gram",
        alpha_end=min(run.made for run in work.runs) / N,
        cause=cause,
        message=message,
        wall_seconds=checkpoint.seconds if checkpoint else time.perf_counter() - started,
        warnings=start.warnings,
        study_text=study.text,
        student_activation=kernel.student_activation,
        teacher_activation=kernel.teacher_activation,
        kernel_sha256=kernel.sha256,
        kernel_name=kernel.path.name,
    )


def _weights(study: Study, start: Initial) -> Vectors | Factors:
    """What the study's method works on."""
    method = study.simulation.method
    if method == "auto":
        # without room for a frame of K + M vectors, given overlaps are a matter for factors
        crowded = (
            start.vectors is None
            and coordinates_of(start.data).min() < start.state.K + start.state.M
        )
        cheaper = crowded or gram_is_cheaper(start.state, start.data)
        method = "gram" if cheaper else "vectors"
    if method == "gram":
        return factors(start.state, start.data)
    if start.vectors is not None:
        return start.vectors
    return vectors_with_overlaps(start.state, start.data, study.initial.seed)


def _run_all(work: _Simulation, workers: int, progress: SimulationProgress | None) -> bool:
    """Make all runs; return whether they were interrupted."""
    total = int(work.examples[-1]) * len(work.runs)
    interrupted = False
    left = deque(index for index, run in enumerate(work.runs) if not run.finished)
    checkpoint = work.checkpoint
    pause = 0.2 if checkpoint is None else min(0.2, max(checkpoint.every, 0.01))
    listening = nullcontext() if checkpoint is None else checkpoint.listening()

    def make_runs() -> None:
        # one task per thread and not per run: there may be many thousands of short runs
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
                    # the loop goes on until all threads have seen it
                    work.stop.set()
                elif checkpoint.due:
                    work.keep(checkpoint)
                    checkpoint.write()
        except BaseException as error:
            # the other threads are told to stop; leaving the pool waits for them
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
