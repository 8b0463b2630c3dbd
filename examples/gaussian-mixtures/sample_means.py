"""Figures S1 and S2: means of functions under laws that share two cumulants; the divergence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from drawn_figures import COLOURS, styled
from matplotlib.figure import Figure
from mixture_laws import Law, divergence
from scipy.special import owens_t

from symderiv.formula import activation
from symderiv.gaussian import expectation

#: Draws per sample mean, and sample means.
COUNT, MEANS = 1000, 2000
#: Separation of the figure; ±α of equal weight, standardised.
SEPARATION = 9.0
DIMENSION = 500

_X = sp.Symbol("x", real=True)
_FUNCTIONS: dict[str, sp.Expr] = {
    "erf": activation("erf").expression,
    "ReLU": activation("relu").expression,
    "sgn": sp.sign(_X),
}


@dataclass(frozen=True)
class Compared:
    """A function's mean and standard deviation under N(0, 1) and under the mixture."""

    name: str
    normal: tuple[float, float]
    mixed: tuple[float, float]

    @property
    def apart(self) -> float:
        """Distance of both sample means in standard errors of their difference."""
        spread = np.hypot(self.normal[1], self.mixed[1]) / np.sqrt(COUNT)
        return float(abs(self.mixed[0] - self.normal[0]) / spread)


def components(separation: Any) -> tuple[Any, Any]:
    """Mean of the upper component and variance of both, standardised."""
    scale = 1.0 + np.square(separation)
    return separation / np.sqrt(scale), 1.0 / scale


@lru_cache(maxsize=16)
def _mean(expression: sp.Expr) -> Callable[[float, float], float]:
    """E of a function of x ~ N(mu, s), by the engine, as a function of mu and s."""
    mu, s = sp.Symbol("mu", real=True), sp.Symbol("s", positive=True)
    value = expectation(expression, [_X], sp.Matrix([[s]]), sp.Matrix([mu])).value
    found: Callable[[float, float], float] = sp.lambdify(
        (mu, s), value, modules=[{"OwenT": owens_t}, "scipy", "numpy"]
    )
    return found


def mixed_mean(expression: sp.Expr, separation: float) -> float:
    """E of a function under the standardised mixture of ±α; separation 0 is N(0, 1)."""
    mean = _mean(expression)
    place, variance = components(separation)
    return float(0.5 * (mean(place, variance) + mean(-place, variance)))


def compared() -> list[Compared]:
    """The functions of figure S1, by closed forms."""
    found = []
    for name, function in _FUNCTIONS.items():
        pairs = []
        for separation in (0.0, SEPARATION):
            mean = mixed_mean(function, separation)
            square = 1.0 if name == "sgn" else mixed_mean(function**2, separation)
            pairs.append((mean, float(np.sqrt(square - mean**2))))
        found.append(Compared(name, *pairs))
    return found


def distributions() -> Figure:
    """Figure S1: histograms of sample means, drawn, and their normal limits, computed."""
    random = np.random.default_rng(0)
    place, variance = components(SEPARATION)
    normal = random.standard_normal((MEANS, COUNT))
    sign = np.where(random.random((MEANS, COUNT)) < 0.5, -1.0, 1.0)
    mixed = place * sign + np.sqrt(variance) * random.standard_normal((MEANS, COUNT))
    with styled():
        figure = Figure(figsize=(11.5, 3.2), layout="constrained")
        axes = figure.subplots(1, 4)
        for axis, law in zip(axes, compared(), strict=False):
            function = sp.lambdify(_X, _FUNCTIONS[law.name], modules=["scipy", "numpy"])
            both = ((normal, law.normal, "$N(0,1)$"), (mixed, law.mixed, "mixture"))
            for colour, (x, (mean, spread), label) in zip(COLOURS, both, strict=False):
                values = function(x).mean(axis=1)
                error = spread / np.sqrt(COUNT)
                edges = _edges(mean, error)
                axis.hist(values, edges, density=True, color=colour, alpha=0.35, label=label)
                grid = mean + error * np.linspace(-4.0, 4.0, 161)
                density = np.exp(-0.5 * ((grid - mean) / error) ** 2) / (error * np.sqrt(2 * np.pi))
                axis.plot(grid, density, color=colour, lw=1.3)
            axis.set(title=f"{law.name}: {law.apart:.1f} standard errors apart", yticks=())
            axis.set_xlabel(f"mean of {COUNT} draws")
            axis.grid(visible=False)
        axes[0].legend()
        _relative(axes[3])
        return figure


def _edges(mean: float, error: float) -> np.ndarray:
    """Bins between the values that means of signs can have, which are 2/COUNT apart."""
    step = 2.0 / COUNT
    width = max(1, round(0.25 * error / step))
    first = round((mean - 4.0 * error) / step) - 0.5
    edges: np.ndarray = (first + width * np.arange(8.0 * error / step / width + 2)) * step
    return edges


def relative_differences() -> dict[str, np.ndarray]:
    """E under the mixture relative to N(0, 1), less 1, at 37 separations from 0 to 9.

    E u sgn u = 2 E ReLU, for even laws.
    """
    erf, relu = _FUNCTIONS["erf"], _FUNCTIONS["ReLU"]
    functions = {
        "E ReLU": relu,
        "E erf²": erf**2,
        "E ReLU²": relu**2,
        "E u erf u": _X * erf,
    }
    separations = np.linspace(0.0, SEPARATION, 37)
    return {
        name: np.array([mixed_mean(function, a) for a in separations]) / mixed_mean(function, 0.0)
        - 1.0
        for name, function in functions.items()
    }


def _relative(axis: Any) -> None:
    separations = np.linspace(0.0, SEPARATION, 37)
    for colour, (name, values) in zip(COLOURS, relative_differences().items(), strict=True):
        axis.plot(separations, 100.0 * values, color=colour, label=name)
    axis.set(title="means relative to $N(0,1)$", xlabel=r"separation $\alpha$", ylabel="%")
    axis.legend()


def divergences() -> tuple[Figure, dict[tuple[int, bool], np.ndarray]]:
    """Figure S2, and its lines by number of components and whether standardised."""
    separations = range(10)
    lines = {
        (m, kind): np.array([divergence(Law(m, a, kind), DIMENSION, 0) for a in separations])
        for kind in (False, True)
        for m in (2, 4, 8)
    }
    with styled():
        figure = Figure(figsize=(7.5, 3.2), layout="constrained")
        for axis, kind in zip(figure.subplots(1, 2), (False, True), strict=True):
            for colour, marker, m in zip(COLOURS, "os^", (2, 4, 8), strict=False):
                axis.plot(separations, lines[m, kind], f"{marker}-", ms=3.5, color=colour,
                          label=f"$m={m}$")  # fmt: skip
            axis.set(title="standardised" if kind else "not standardised")
            axis.set_xlabel(r"separation $\alpha$")
            axis.legend()
        figure.axes[0].set_ylabel("divergence per coordinate (nats)")
        return figure, lines
