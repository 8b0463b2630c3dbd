"""Studies: solve and simulate against equations integrated here, and what has none."""

# A table: one case per line is easier to read than six.
# ruff: noqa: E501

from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from support.studies import toml

from silent_errors.evidence import pi
from silent_errors.gate import Case, Pair, Raises, RefusesOr, Returns

DEFAULT: dict[str, dict[str, Any]] = {
    "network": {"activation": "linear", "students": 1, "teachers": 1},
    "data": {"model": "isotropic", "dimension": 100},
    "training": {"learning_rate": 0.5},
    "initial": {"student_std": 0.5, "draw": "mean"},
    "time": {"values": [0, 1, 3]},
}


def study(**changes: Any) -> str:
    """A study's text; ``training__learning_rate=1`` changes a key, None removes it."""
    tables = {name: dict(table) for name, table in DEFAULT.items()}
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if value is None:
            tables[table].pop(name, None)
        elif name:
            tables.setdefault(table, {})[name] = value
    return toml(**{name: table for name, table in tables.items() if table})


SOLVE = ("solve", "s.toml", "--output", "run.nc")


def solved(
    value: Any,
    evidence: str,
    relative: float = 1e-7,
    at: Any = None,
    files: Any = None,
    **changes: Any,
) -> Case:
    """``solve``; by default the errors at all times are compared."""
    files = {"s.toml": study(**changes), **(files or {})}
    return Case(
        SOLVE, Returns(value, at or _read("generalization_error"), relative), evidence, files
    )


def _read(name: str) -> Any:
    def at(answer: Any, folder: Path) -> Any:
        import xarray

        with xarray.open_dataset(folder / "run.nc", engine="h5netcdf") as data:
            return np.squeeze(data[name].values)

    return at


def _linear(
    eta: float = 0.5,
    std: float = 0.5,
    noise: float = 0.0,
    decay: float = 0.0,
    quadratic: bool = True,
    rate_v: float = 0.0,
    decay_v: float = 0.0,
    times: Any = (0.0, 1.0, 3.0),
    variance: float = 1.0,
) -> Any:
    """ε_g of one linear unit that learns one: dR, dQ and dv written out, SciPy."""

    def rates(_: float, y: Any) -> list[float]:
        R, Q, v = y
        error = v * v * Q - 2 * v * R + variance
        dR = eta * v * (variance - v * R) - decay * R
        dQ = (
            2 * eta * v * (R - v * Q)
            - 2 * decay * Q
            + quadratic * eta**2 * v * v * (error + noise**2)
        )
        return [dR, dQ, rate_v * (R - v * Q) - decay_v * v]

    found = solve_ivp(
        rates,
        (0, times[-1]),
        [0.0, std**2, 1.0],
        t_eval=times,
        rtol=1e-11,
        atol=1e-13,
        method="DOP853",
    )
    R, Q, v = found.y
    return 0.5 * (v * v * Q - 2 * v * R + variance)


def _erf_small(eta: float, std: float, times: Any = (0.0, 1.0, 3.0)) -> Any:
    """The same for erf(x/sqrt 2) without η²: gradient of the arcsine form of the error."""

    def slopes(Q: float, R: float) -> tuple[float, float]:
        root = np.sqrt(2 * (1 + Q) - R * R)
        by_Q = (1 / ((1 + Q) * np.sqrt(1 + 2 * Q)) + R / ((1 + Q) * root)) / pi
        return by_Q, -2 / pi / root

    def rates(_: float, y: Any) -> list[float]:
        R, Q = y
        by_Q, by_R = slopes(Q, R)
        return [-eta * (2 * by_Q * R + by_R), -2 * eta * (2 * by_Q * Q + by_R * R)]

    found = solve_ivp(
        rates, (0, times[-1]), [0.0, std**2], t_eval=times, rtol=1e-11, atol=1e-13, method="DOP853"
    )
    R, Q = found.y
    return (np.arcsin(Q / (1 + Q)) - 2 * np.arcsin(R / np.sqrt(2 * (1 + Q))) + np.pi / 6) / np.pi


def solutions() -> list[Case]:
    """Trajectories with an independent integration or an exact law."""
    law = "dR, dQ, dv of a linear unit by hand, SciPy DOP853"
    small = {"training__order": "small-learning-rate"}
    v = {"network__train_second_layer": True, "training__second_layer_learning_rate": 0.3}
    decay = lambda kappa: np.exp(-2 * kappa * np.array([0.0, 1.0, 3.0]))  # noqa: E731
    wide = {"data__dimension": 1000, "network__students": 3, "network__teachers": 2}
    return [
        solved(lambda: _linear(), law),
        solved(lambda: _linear(eta=1.9), law, training__learning_rate=1.9),
        solved(lambda: _linear(eta=2.0), f"{law}; at η = 2 nothing decays", training__learning_rate=2.0),
        solved(lambda: _linear(noise=0.4), law, training__label_noise=0.4),
        solved(lambda: _linear(decay=0.2), f"{law}; κ J per example over N: J decays at κ, Q at 2κ", training__weight_decay=0.2),
        solved(lambda: _linear(quadratic=False), law, **small),
        solved(lambda: _linear(quadratic=False, noise=0.0), f"{law}; label noise enters by η² only", training__label_noise=3.0, **small),
        solved(lambda: _linear(rate_v=0.3), law, **v),
        solved(lambda: _linear(rate_v=0.3, decay_v=0.1), law, training__second_layer_weight_decay=0.1, **v),
        solved(lambda: _linear(std=0.0), law, initial__student_std=0.0),
        solved(lambda: _linear(std=3.0), law, initial__student_std=3.0),
        solved(lambda: 0.25 * decay(0.2), "η = 0: only the decay acts, Q = σ² exp(-2κα)", at=_read("Q"), training__learning_rate=0.0, training__weight_decay=0.2),
        solved([0.625] * 3, "η = 0: nothing moves, ε = (1 + σ²)/2", training__learning_rate=0.0),
        solved([1.0, 1.0, 1.0], "a fixed output weight stays: v = 1/sqrt(M) = 1", at=_read("v")),
        solved(lambda: _linear(), f"{law}; L eigenvalues that are equal", data__model="spectrum", data__eigenvalues=[1.0, 1.0], data__dimension=100),
        solved(lambda: _linear(), f"{law}; weights of equal eigenvalues", data__model="spectrum", data__eigenvalues=[1.0, 1.0], data__weights=[0.25, 0.75], data__dimension=100),
        solved(lambda: _linear(times=(0.0, 1.0, 3.0)), f"{law}; one eigenvalue of a power law is 1", data__model="power-law", data__distinct_eigenvalues=1, data__exponent=1.0),
        solved(lambda: _linear(), f"{law}; implicit steps", time__method="implicit"),
        solved(lambda: _linear()[-1], law, at="generalization_error_end"),
        solved(3.0, "the last time asked for", at="alpha_end"),
        solved(lambda: _erf_small(0.5, 0.5), "gradient of the arcsine form by hand, SciPy DOP853", network__activation="erf", **small),
        solved(lambda: _erf_small(0.5, 0.5, (0.0, 20.0, 60.0)), "gradient of the arcsine form by hand, SciPy DOP853", relative=1e-6, network__activation="erf", time__values=[0, 20, 60], **small),
        solved([1 / 6 + 0.5 / 3, 1 / 6 + 0.5 / 3], "η = 0, Q = 1, R = 0: two uniform variances 1/3, output weights 1/sqrt 2 with M = 2", relative=2e-2, network__activation="erf", network__students=2, network__teachers=2, network__student_weights="1/sqrt(M)", initial__student_std=1.0, initial__draw="mean", training__learning_rate=0.0, time__values=[0, 1]),
        solved([0.5 * (3 * 0.25 + 2)] * 2, "η = 0, linear, K = 3, M = 2, weights 1: ½(Σ v² σ² + Σ T)", network__student_weights=1.0, network__teacher_weights=1.0, training__learning_rate=0.0, time__values=[0, 1], **wide),
        solved([0.5 * (3 * 0.25 / 2 + 1)] * 2, "η = 0, linear, K = 3, M = 2: weights 1/sqrt(M) = 1/sqrt 2 by default, for students too", training__learning_rate=0.0, time__values=[0, 1], **wide),
        solved([0.5 * (1.5**2 * 0.25 + 4 * 0.25 + 0.25 + 1 + 9)] * 2, "η = 0, linear: signs and sizes of the weights given as lists", network__student_weights=[1.5, -2.0, 1.0], network__teacher_weights=[1.0, -3.0], training__learning_rate=0.0, time__values=[0, 1], **wide),
    ]  # fmt: skip


def simulations() -> list[Case]:
    """Means of runs against exact means of finite N, in standard errors."""
    N, eta, noise = 50, 0.5, 0.3

    def deviation(answer: Any, folder: Path) -> Any:
        # E|J - B|² by Isserlis: factor 1 - 2η/N + η²(N + 2)/N² per example, noise η²σ²/N per example
        steps = 3 * N
        factor = 1 - 2 * eta / N + eta**2 * (N + 2) / N**2
        grown = noise**2 * eta**2 / N * (1 - factor**steps) / (1 - factor)
        import xarray

        with xarray.open_dataset(folder / "sim.nc", engine="h5netcdf") as data:
            values = np.squeeze(data["generalization_error"].values)
            error = np.squeeze(data["generalization_error_standard_error"].values)
        exact = values[0] * factor**steps + 0.5 * grown
        return float((values[-1] - exact) / error[-1])

    found = []
    for method in ("vectors", "gram"):
        text = study(
            data__dimension=N, training__learning_rate=eta, training__label_noise=noise,
            simulation__runs=100, simulation__method=method, initial__draw="sampled",
        )  # fmt: skip
        words = ("simulate", "s.toml", "--output", "sim.nc")
        outcome = Returns(0.0, deviation, 5.0)
        found.append(
            Case(
                words,
                outcome,
                "exact mean of SGD on a linear unit at N = 50, Isserlis",
                {"s.toml": text},
            )
        )
        still = study(
            data__dimension=N,
            training__learning_rate=0.0,
            simulation__method=method,
            initial__draw="sampled",
        )
        outcome = Returns(0.0, _moved, 1e-12)
        found.append(Case(words, outcome, "η = 0: nothing moves", {"s.toml": still}))
    return found


def _moved(answer: Any, folder: Path) -> Any:
    import xarray

    with xarray.open_dataset(folder / "sim.nc", engine="h5netcdf") as data:
        values = np.squeeze(data["generalization_error"].values)
    return float(np.max(values) - np.min(values))


def keys() -> list[Case | Pair]:
    """Students without equations, and rates at which errors grow.

    Keys with impossible values are refused in ``unit/dynamics/test_study_files.py``.
    """
    fine = solved(lambda: _linear(), "dR, dQ of a linear unit by hand, SciPy DOP853")
    signs = [
        Case(
            SOLVE, Raises(2, ("Γ_ii",)), "E[δ(u)²] diverges",
            {"s.toml": study(network__activation="sign", training__order=order)},
        )
        for order in ("full", "small-learning-rate")
    ]  # fmt: skip
    growing = Returns(
        lambda: _linear(eta=3.0, times=(0.0, 1.0, 3.0)), _read("generalization_error"), 1e-6
    )
    why = "dR, dQ by hand: above η = 2 the error grows like exp((η² - 2η)α)"
    text = study(training__learning_rate=3.0)
    return [
        *(Pair(each, fine) for each in signs),
        Case(SOLVE, RefusesOr(growing), why, {"s.toml": text}),
    ]


CASES: list[Case | Pair] = [*solutions(), *simulations(), *keys()]
