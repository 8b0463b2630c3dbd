"""The asymptotic error at the settings of the published figures, beside the values read off them.

Nothing is drawn: what is tried here is n = 1000 as published, for which drawn networks would take
minutes at every point. The equations are compared with networks in docs/notes/one-step.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values
from symderiv_models.one_step.asymptotic import asymptotic_errors
from symderiv_models.one_step.setting import Setting

__all__ = ["along", "published"]

_SIZE = 1000
_KEYS: dict[str, dict[str, Any]] = {
    "1(a)": {}, "1(b)": {}, "1(c)": {}, "2(a)": {"task": "classification"}, "2(b)": {},
    "2(c)": {"spikes": "uniform"},
}  # fmt: skip
_NAMES = {"1(b)": "alpha", "1(c)": "beta", "2(a)": "mixture_weight", "2(b)": "alignment",
          "2(c)": "rank"}  # fmt: skip
#: By figure and activation: x, and what is read there off the published figure.
_READ: dict[str, dict[str, dict[float, str]]] = {
    "1(a)": {"relu": {0.1: "0.023", 0.4: "0.024", 5: "0.015"},
             "tanh": {0.1: "0.034", 0.4: "0.036", 5: "0.029"},
             "sigmoid": {0.1: "0.022", 5: "0.017"}},
    "1(b)": {"relu": {1: "0.093"}, "tanh": {1: "0.156"}, "sigmoid": {1: "0.083"}},
    "1(c)": {"relu": {0: "0.107", 1: "0.010"}, "tanh": {0: "0.169", 1: "0.017"},
             "sigmoid": {0: "0.092", 1: "0.008"}},
    "2(a)": {"relu": {0.5: "0.72"}, "tanh": {0.5: "0.75"}, "sigmoid": {0.5: "0.54"}},
    "2(b)": {"relu": {0: "0.0216", 1: "0.012"}, "tanh": {0: "0.0345", 1: "0.019"},
             "sigmoid": {0: "0.018", 1: "0.010"}},
    "2(c)": {"relu": {1: "0.055", 10: "0.023"}},
}  # fmt: skip


def _error(figure: str, activation: str, x: float) -> float:
    place = {"k": round(x * _SIZE)} if figure == "1(a)" else {_NAMES[figure]: x}
    setting = Setting(n=_SIZE, activation=activation, **_KEYS[figure], **place)
    return asymptotic_errors(setting).test


def published(figure: str) -> Callable[[Any], Iterator[Point]]:
    """Return points: plotted, as read off, and error, E(y - yhat)^2 by the equations, n = 1000."""

    def points(numbers: Any) -> Iterator[Point]:
        for activation, read in _READ[figure].items():
            for x, plotted in read.items():
                error = numbers.mpf(_error(figure, activation, x))
                known = {"plotted": numbers.mpf(plotted), "error": error}
                yield Point(f"{activation}, x = {x:g}", Values(known))

    return points


def along(figure: str, places: list[float], activations: list[str]) -> Callable[..., Any]:
    """step[i], the sign of the error's change between neighbouring places along a figure's axis."""

    def points(numbers: Any) -> Iterator[Point]:
        for activation in activations:
            errors = [_error(figure, activation, x) for x in places]
            signs = [numbers.sign(after - before) for before, after in pairwise(errors)]
            yield Point(activation, Values({"step": Indexed(signs, (1, len(signs)))}))

    return points
