"""Minima of empirical risks over α N examples: order parameters and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar

from symderiv.api.results.answer import Answer, Rows
from symderiv.api.results.equilibria.possible import output_of
from symderiv.api.results.equilibria.statics import WITH_LABELS, alpha_values, check_known
from symderiv.api.results.flows.homogeneous import spectrum_of
from symderiv.equilibrium.optimal.sign_channel import SignChannel
from symderiv.equilibrium.risk.minimum import (
    LabelledRisk,
    RiskMinimum,
    SmoothProximal,
    SquaredRisk,
    proximal_of,
)
from symderiv.formula import activation
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, NotYetError, check_one_of
from symderiv.learning.rule.loss import loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.problem.study import Study

_LOWEST, _HIGHEST = 1e-5, 1e4


class RiskMinima(Answer):
    """Minima of Σ ℓ(s, y) + λ|w|²/2 over the weights of one linear student s = w·ξ/√N.

    Attributes:
        alpha: the values that were asked for, shape (P,).
        ridge: λ, shape (P,); the best one at each α if none was given.
        overlap, norm, variance: m = w·Σ·B/N, q = w·Σ·w/N and V, the variance of a field whose
            example is left out; Σ is the covariance of inputs. Shape (P,).
        error: E[(s - t)²]/2 of the squared loss, with t the teacher's output without noise; else
            the probability that the sign of s is not that of the teacher's field. Shape (P,).
        training_loss: mean ℓ of the examples that were learned from, shape (P,).
        loss, output: ℓ, and what examples show.
    """

    _title = "Empirical risk"

    def plot(self, quantity: str = "error", ax: Axes | None = None) -> Axes:
        """Draw a quantity over α.

        Args:
            quantity: "error", "overlap", "norm", "variance", "ridge" or "training_loss".
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: there is no such quantity.
        """
        names = ("error", "overlap", "norm", "variance", "ridge", "training_loss")
        check_one_of("quantity", quantity, names)
        return drawn("analysis_plots.equilibrium_plots.risk_axes", self._record, quantity, ax)

    def _rows(self) -> Rows:
        record = self._record
        rows = [(name, record[name]) for name in ("output", "loss")]
        rows.append(("alpha", f"{record['alpha'][0]:g} to {record['alpha'][-1]:g}"))
        rows.append(("ridge at its end", f"{record['ridge'][-1]:.6g}"))
        rows.append(("error at its end", f"{record['error'][-1]:.6g}"))
        return rows


def risk_minima_of(
    study: Study,
    alpha: Iterable[float],
    ridge: float | None,
    output: str | None,
    progress: Callable[[float], None],
) -> RiskMinima:
    """Return minima of the risk of a study; see :meth:`symderiv.Problem.equilibrium`."""
    values = alpha_values(alpha)
    if values[0] == 0.0:
        raise InputError("must be above 0, as there is no example", argument="alpha")
    if ridge is not None and not 0.0 < ridge < np.inf:
        raise InputError(
            f"must be above 0, not {ridge!r}; left out, it is the best one", argument="ridge"
        )
    risk, clean, shown = _risk(study, output)
    minima, ridges, errors = [], [], []
    minimum: RiskMinimum | None = None
    for n, each in enumerate(values):
        chosen = ridge if ridge is not None else _best(risk, clean, each)
        minimum = risk.minimum(each, chosen, minimum)
        minima.append(minimum)
        ridges.append(chosen)
        errors.append(_error(risk, clean, minimum))
        progress((n + 1) / len(values))
    return RiskMinima(
        {
            "alpha": values,
            "ridge": ridges,
            "overlap": [each.m for each in minima],
            "norm": [each.q for each in minima],
            "variance": [each.V for each in minima],
            "error": errors,
            "training_loss": [each.loss for each in minima],
            "loss": study.training.loss,
            "output": shown,
        }
    )


def _error(risk: LabelledRisk, clean: float | None, minimum: RiskMinimum) -> float:
    """Return the generalisation error at a minimum; ``clean`` is E[t²] for the squared loss."""
    if clean is not None and isinstance(risk, SquaredRisk):
        return 0.5 * (clean - 2.0 * risk.first * minimum.m + minimum.q)
    size = (minimum.q * float(risk.weights @ risk.eigenvalues)) ** 0.5
    return float(np.arccos(np.clip(minimum.m / size, -1.0, 1.0)) / np.pi)


def _best(risk: LabelledRisk, clean: float | None, alpha: float) -> float:
    """Return the ridge with the smallest error at an α."""

    def error(log: float) -> float:
        return _error(risk, clean, risk.minimum(alpha, float(np.exp(log))))

    ends = (np.log(_LOWEST), np.log(_HIGHEST))
    minimum = minimize_scalar(error, bounds=ends, method="bounded", options={"xatol": 1e-6})
    return float(np.exp(minimum.x))


def _risk(study: Study, output: str | None) -> tuple[LabelledRisk, float | None, str]:
    """Return the risk, E[t²] for the squared loss (else None), and the output as text."""
    from symderiv.equilibrium.weak_learning.hermite_tensors import HermiteTensors

    x = activation("linear").expression
    if study.K != 1 or activation(study.student_activation).expression != x:
        raise NotYetError(
            "empirical risk is minimised for one student with the activation linear only",
            argument="students" if study.K != 1 else "activation",
        )
    check_known(study, "empirical risk", allowed=WITH_LABELS)
    if study.M != 1:
        raise NotYetError("must be 1 for empirical risk", argument="teachers")
    target, noise, flip = output_of(study, output)
    eigenvalues, weights = (np.ones(1), np.ones(1)) if study.data is None else spectrum_of(study)
    asked = loss(study.training.loss)
    shown = str(target.expression) + (f" + {noise:g} noise" if noise else "")
    if asked.name == "squared":
        if abs(float(weights @ eigenvalues) - 1.0) > 1e-12 or flip:
            raise NotYetError(
                "with the squared loss empirical risk needs inputs whose mean eigenvalue is 1, and "
                "no flips of labels",
                argument="inputs",
            )
        square = HermiteTensors(replace(target, expression=target.expression**2), 1)
        clean = square.coefficient((0,))[0]
        first = HermiteTensors(target, 1).coefficient((1,))[0]
        half = SmoothProximal(asked.expression)
        # the squared loss needs no law of outputs
        risk = SquaredRisk(None, half, eigenvalues, weights, first, clean + noise**2)  # type: ignore[arg-type]
        return risk, clean, shown
    if target.in_signs is None or noise or set(SignChannel(target).outputs) != {-1.0, 1.0}:
        raise NotYetError(
            f"the {asked.name} loss needs labels ±1 for empirical risk; take target='sign'",
            argument="loss",
        )
    proximal = proximal_of(asked.name, asked.expression)
    return LabelledRisk(SignChannel(target, 0.0, flip), proximal, eigenvalues, weights), None, shown
