r"""The late dynamics of K = M units: decay rates, ε_g(α), scaling exponent, stability.

Numbers from the symbolic linearisation (:mod:`symderiv.analysis.late.perfect_learning`), in its
basis (uniform, differing), multiplicities μ = (1, M-1). Per eigenspace ρ_k (weight w_k) let r be
the deviation of the students' overlaps with the teachers and D⊥ the overlaps of the students'
components orthogonal to the teachers, D⊥ = (J·J) - (J·B)(B·B)⁻¹(B·J). Then

.. math::
    \dot r_{a,k} &= -\eta\rho_k\Big(A_a r_{a,k}
        + t_{a,k}\sum_b H_{ab}\sum_l w_l\rho_l r_{b,l}\Big)\\
    \dot D^\perp_{a,k} &= -2\eta\rho_k A_a D^\perp_{a,k} + \eta^2\rho_k\Gamma_a

(label noise σ adds σ² N_a to Γ_a: D⊥ then comes to rest where that balances the drift, at the same
value in all eigenspaces) and the error to second order in the distance to the teacher is

.. math::
    \epsilon_g = \tfrac12\sum_a\mu_a\Big[A_a\sum_k w_k\rho_k\Big(D^\perp_{a,k}
        + \frac{r_{a,k}^2}{t_{a,k}}\Big) + X_a \sum_b H_{ab} X_b\Big] ,
    \qquad X = \sum_k w_k\rho_k r_k .

An expansion to first order in order parameters, as it is often done, keeps only d = Q - 2R + T
= D⊥ + r²/t and lets all of it decay as D⊥ does. But r² is of the same order as D⊥ (larger, when
students come to their teachers from afar), and decays at the rates of r. Both are given here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from symderiv.analysis.late.perfect_learning import Coefficients, PerfectLearning, perfect_learning
from symderiv.analysis.low_rank import (
    LowRankSpectrum,
    check_count,
    exponential_sum,
    low_rank_spectrum,
)
from symderiv.formula.activations import activation as read_activation
from symderiv.foundation.errors import InputError
from symderiv.numerics.nodes import gauss_panels

Floats = npt.NDArray[np.float64]
Order = Literal["full", "small-learning-rate"]

#: Most eigenvalues for the second order with η² terms, which needs all eigenvectors (a second).
MOST_DRIVEN = 512
#: Gauss nodes on one panel of the integral over the driving terms.
_NODES = 16
#: Names of the two components in the basis of the linearisation.
KINDS = ("uniform", "differing")


@dataclass(frozen=True)
class RateGroup:
    """Decay rates of one kind of deviations.

    Attributes:
        name: the deviations that decay.
        rates: the rates per unit α, ascending, shape (n,); a negative one grows.
        direction: the deviations (r, s, q, c) of an eigenspace that take part.
    """

    name: str
    rates: Floats
    direction: str


@dataclass(frozen=True)
class PowerFit:
    """An exponent fitted as the slope of a straight line through logarithms.

    Attributes:
        exponent: slope of ln ε_g over ln α.
        error: half the spread of local slopes in the window, or the standard error if larger.
        window: the α between which it was fitted.
    """

    exponent: float
    error: float
    window: tuple[float, float]


class LateDynamics:
    """The linearised dynamics of a learning problem around Q = R = T.

    Args:
        activation: a name or a formula in ``x``.
        units: K = M ≥ 2; output weights 1/√M.
        eigenvalue: distinct eigenvalues ρ of the inputs' covariance, shape (L,), > 0.
        weight: their multiplicities over N, shape (L,), sum 1.
        learning_rate: η > 0.
        order: "full" keeps the η² terms.
        teachers: T1 and D1, their covariance per mean eigenvalue: the overlaps of teacher weights
            in every eigenspace are T1 on the diagonal, and D1 is the sum of a row without it.
        label_noise: σ ≥ 0; it acts by the η² terms.

    Raises:
        InputError: a value outside its range, or no linearisation (see :func:`perfect_learning`).
    """

    def __init__(
        self,
        activation: str,
        units: int,
        eigenvalue: Sequence[float] | Floats,
        weight: Sequence[float] | Floats,
        learning_rate: float,
        order: Order = "small-learning-rate",
        teachers: tuple[Any, Any] = (1, 0),
        label_noise: float = 0.0,
    ) -> None:
        if not (math.isfinite(learning_rate) and learning_rate > 0):
            raise InputError(
                f"{learning_rate!r} is not a positive number", argument="learning_rate"
            )
        if not (math.isfinite(label_noise) and label_noise >= 0):
            raise InputError(f"{label_noise!r} is not a number >= 0", argument="label_noise")
        if label_noise > 0 and order != "full":
            raise InputError(
                "acts only through terms of order η²; ask for these terms, or leave it out",
                argument="label_noise",
            )
        check_count(len(eigenvalue))
        self.units, self.learning_rate, self.order = units, float(learning_rate), order
        self.eigenvalue = np.asarray(eigenvalue, dtype=np.float64)
        self.weight = np.asarray(weight, dtype=np.float64)
        if not np.all(self.eigenvalue > 0):
            raise InputError("the linearisation needs positive eigenvalues", argument="eigenvalue")
        self.mean_eigenvalue = float(np.dot(self.weight, self.eigenvalue))
        self.theory: PerfectLearning = perfect_learning(read_activation(activation).text)
        # The order parameters T, D that the activations see carry the mean eigenvalue.
        scale = self.mean_eigenvalue
        T1, D1 = (float(each) for each in teachers)
        exact = teachers if abs(scale - 1) < 1e-12 else (T1 * scale, D1 * scale)
        self.teacher_moments = exact
        self.coefficients: Coefficients = self.theory.coefficients(units, *exact)
        self.stiffness = np.array(self.coefficients.stiffness, dtype=float)
        self.response = np.array(self.coefficients.response, dtype=float)
        self.noise_slope = np.array(self.coefficients.noise_slope, dtype=float)
        noise = np.array(self.coefficients.label_noise, dtype=float)
        self.source = float(label_noise) ** 2 * noise
        self.multiplicity = np.array([1.0, units - 1.0])
        self._overlaps: tuple[Floats, LowRankSpectrum] | None = None
        self.teacher = np.array([T1 + D1, T1 - D1 / (units - 1)])

    @property
    def critical_learning_rate(self) -> float:
        """The largest η at which perfect learning is stable."""
        return float(self.coefficients.critical_learning_rate) / self.mean_eigenvalue

    @property
    def stable(self) -> bool:
        """True if no rate is negative: always at first order, up to the critical η with η²."""
        return self.order != "full" or self.learning_rate < self.critical_learning_rate

    @property
    def window(self) -> tuple[float, float]:
        """Times between which many eigenvalues are being learnt.

        It is the middle half, in ln α, of the span between the times of the fastest and the slowest
        rate of the distance to the teachers.
        """
        rates = (float(end(self.stiffness) * end(self.eigenvalue)) for end in (np.max, np.min))
        low, high = (math.log(1.0 / (2.0 * self.learning_rate * rate)) for rate in rates)
        return math.exp(0.75 * low + 0.25 * high), math.exp(0.25 * low + 0.75 * high)

    @property
    def rest(self) -> Floats:
        """D⊥ of every eigenspace where label noise and drift balance, (uniform, differing).

        Raises:
            InputError: deviations grow.
        """
        self._require_stable()
        eta, mass = self.learning_rate, self.mean_eigenvalue
        drift = 2.0 * np.diag(self.stiffness) - eta * mass * self.noise_slope
        return np.asarray(eta * np.linalg.solve(drift, self.source))

    @property
    def plateau(self) -> float:
        """The ε_g that label noise leaves, to first order in D⊥: ~ η σ² at small η."""
        return float(0.5 * self.mean_eigenvalue * self.multiplicity @ (self.stiffness * self.rest))

    def _require_stable(self) -> None:
        if not self.stable:
            raise InputError(
                f"{self.learning_rate:g} is not below {self.critical_learning_rate:.6g}, the "
                "largest at which perfect learning is stable: deviations grow, and the "
                "linearisation has no late error",
                argument="learning_rate",
            )

    def _overlap_spectrum(self, *vectors: Floats) -> LowRankSpectrum:
        """Return the spectrum of overlaps with the teachers, y = √(μ w/t) r.

        Vectors, of shape (2, L), are projected on the eigenvectors.

        It takes O(L²), so that the last one is kept; it also serves requests for eigenvalues alone.
        """
        asked = np.array(vectors)
        if self._overlaps is not None and (not vectors or np.array_equal(self._overlaps[0], asked)):
            return self._overlaps[1]
        strength = np.sqrt(self.weight * self.teacher[:, None]) * self.eigenvalue
        spectrum = self._spectrum(1.0, strength, self.response, vectors)
        self._overlaps = asked, spectrum
        return spectrum

    def _distance_spectrum(self, *vectors: Floats) -> LowRankSpectrum:
        """Return the spectrum of distances to the teachers with η² terms, y = √(μ w) D."""
        strength = np.tile(np.sqrt(self.weight) * self.eigenvalue, (2, 1))
        return self._spectrum(2.0, strength, -self.learning_rate * self.noise_slope, vectors)

    def _spectrum(
        self, drift: float, strength: Floats, coupling: Floats, vectors: Sequence[Floats]
    ) -> LowRankSpectrum:
        """Return the spectrum of the matrix with poles drift A ρ and a coupling of rank two.

        It is symmetric in y.
        """
        root = np.sqrt(self.multiplicity)
        matrix = root[:, None] * coupling / root
        pole = drift * self.stiffness[:, None] * self.eigenvalue
        numerator = np.reshape(vectors, (-1, *strength.shape)) * strength
        return low_rank_spectrum(pole, strength**2, 0.5 * (matrix + matrix.T), numerator)

    def groups(self) -> tuple[RateGroup, ...]:
        """Return all 4L decay rates by group, as they decay in r, s, q, c (not in ε_g)."""
        eta = self.learning_rate
        overlap = RateGroup("overlap", eta * self._overlap_spectrum().value, "(r, s, 2r, 2s)")
        if self.order == "full":
            rates = eta * self._distance_spectrum().value
            return overlap, RateGroup("distance", rates, "(r, s, q, c)")
        both = np.sort(2.0 * eta * self.stiffness[:, None] * self.eigenvalue)
        directions = "(0, 0, q, q)", "(0, 0, q, -q/(M-1))"
        kinds = zip(KINDS, both, directions, strict=True)
        return overlap, *(RateGroup(f"distance, {kind}", *each) for kind, *each in kinds)

    def rates(self) -> Floats:
        """Return all 4L decay rates per unit α, ascending; a negative one grows."""
        return np.sort(np.concatenate([group.rates for group in self.groups()]))

    # -- the error -------------------------------------------------------------------------------

    def generalization_error(
        self,
        alpha: Sequence[float] | Floats,
        student_std: float = 0.0,
        *,
        second_order: bool = True,
    ) -> Floats:
        r"""Return ε_g(α) of students with random initial weights, from the linearisation.

        They have J·B = 0 and J·J = σ_J².

        The start is far from the teachers; the decay of each mode is exact as soon as the order
        parameters are close to the teachers'. For nonlinear activations the curve therefore has the
        right shape late in learning, up to a factor, and holds as it stands for states given by
        :meth:`error_of`.

        Args:
            alpha: times, shape (P,).
            student_std: σ_J.
            second_order: consistent to second order in the distance to the teacher, or the
                expansion to first order in the order parameters.
        """
        L = self.eigenvalue.size
        distance = np.full((2, L), float(student_std) ** 2)
        overlap = -np.repeat(self.teacher[:, None], L, axis=1)
        return self.error_of(alpha, overlap, distance, second_order=second_order)

    def error_of(
        self,
        alpha: Sequence[float] | Floats,
        overlap: Floats,
        distance: Floats,
        *,
        second_order: bool = True,
    ) -> Floats:
        """Return ε_g(α) from given deviations per eigenspace, in the basis (uniform, differing).

        Args:
            alpha: times, shape (P,).
            overlap: r = (J·B - B·B) of each eigenspace at α = 0, shape (2, L).
            distance: D⊥ of each eigenspace at α = 0, shape (2, L).
            second_order: see :meth:`generalization_error`.

        Raises:
            InputError: the second order together with η² (see :meth:`driven_error`), or an η at
                which deviations grow: there is no late learning to linearise.
        """
        self._require_stable()
        time = np.asarray(alpha, dtype=np.float64)
        if not second_order:
            total = distance + overlap**2 / self.teacher[:, None]
            if not self.source.any():
                return self._distance_error(time, total)
            return self.plateau + self._distance_error(time, total - self.rest[:, None])
        if self.order == "full":
            return self.driven_error(time, overlap, distance)
        return self._distance_error(time, distance) + self._overlap_error(time, overlap)

    def _distance_error(self, alpha: Floats, distance: Floats) -> Floats:
        """Return ½ Σ μ A Σ w ρ D(α) for D that decays without a driving term.

        It takes O(L) per time; with η² terms also O(L²) once.
        """
        eta, rho = self.learning_rate, self.eigenvalue
        factor = 0.5 * (self.multiplicity * self.stiffness)[:, None] * self.weight * rho
        if self.order != "full":
            rate = 2.0 * eta * self.stiffness[:, None] * rho
            return exponential_sum(alpha, rate.ravel(), (factor * distance).ravel())
        # in y = √(μ w) D the coupling is symmetric
        scale = np.sqrt(self.multiplicity[:, None] * self.weight)
        start = scale * distance
        readout = factor / scale
        spectrum = self._distance_spectrum(start, readout)
        amplitude = spectrum.projection[:, 0] * spectrum.projection[:, 1]
        return exponential_sum(alpha, eta * spectrum.value, amplitude)

    def _overlap_error(self, alpha: Floats, overlap: Floats) -> Floats:
        """Return ½ yᵀ 𝓗 y with the decaying overlaps y."""
        y = np.sqrt(self.weight * self.multiplicity[:, None] / self.teacher[:, None]) * overlap
        spectrum = self._overlap_spectrum(y)
        amplitude = 0.5 * spectrum.value * spectrum.projection[:, 0] ** 2
        return exponential_sum(alpha, 2.0 * self.learning_rate * spectrum.value, amplitude)

    def driven_error(self, alpha: Floats, overlap: Floats, distance: Floats) -> Floats:
        """Return ε_g(α) to second order with the η² terms: r decays, and r² and D drive D.

        Raises:
            InputError: more than :data:`MOST_DRIVEN` eigenvalues.
        """
        L, eta = self.eigenvalue.size, self.learning_rate
        if L > MOST_DRIVEN:
            raise InputError(
                f"{L} is more than {MOST_DRIVEN}, the most for which the "
                "second order is computed together with the η² terms; leave one of them out",
                argument="distinct_eigenvalues",
            )
        curvature = self.theory.noise_curvature(self.units, *self.teacher_moments)
        mass, teacher = self.weight * self.eigenvalue, self.teacher[:, None]
        # The overlaps as combinations of the eigenvectors of their symmetric matrix.
        scale = np.sqrt(self.weight * self.multiplicity[:, None] / teacher)
        spectrum = self._overlap_spectrum(*np.eye(2 * L).reshape(-1, 2, L))
        vectors = spectrum.projection
        amplitude = vectors @ (scale * overlap).ravel()

        def moved(times: Floats) -> tuple[Floats, Floats]:
            """Return Σ w ρ r and Σ w ρ r²/t at times, shape (P, 2)."""
            decayed = np.exp(-eta * np.multiply.outer(times, spectrum.value)) * amplitude
            r = (decayed @ vectors).reshape(-1, 2, L) / scale
            return r @ mass, (r * r / teacher) @ mass

        # Initial D whose decay is the response at later times to a noise Γ in one component.
        answers = [np.repeat(np.eye(2)[a][:, None], L, axis=1) * self.eigenvalue for a in (0, 1)]

        def error_at(time: float) -> float:
            nodes, weights = _graded(time, eta * float(np.max(spectrum.value)))
            X, square = moved(nodes)
            noise = self.source + square @ self.noise_slope.T
            noise = noise + 0.5 * np.einsum("abc,pb,pc->pa", curvature, X, X)
            driven = [self._distance_error(time - nodes, each) for each in answers]
            return float(eta**2 * (weights * noise.T * driven).sum())

        X, square = moved(alpha)
        static = (self.stiffness * square) @ self.multiplicity
        moving = np.einsum("pa,ab,pb,a->p", X, self.response, X, self.multiplicity)
        forced = np.array([error_at(float(time)) for time in alpha])
        return np.asarray(self._distance_error(alpha, distance) + forced + 0.5 * (static + moving))


def _graded(end: float, fastest: float) -> tuple[Floats, Floats]:
    """Return nodes and weights on [0, t] for products of decays from either end.

    Rates are at most ``fastest``.

    The widths of panels double from both ends, so that every exponential that has not decayed is
    smooth on them.
    """
    halvings = max(1, math.ceil(math.log2(max(end * fastest, 1.0))) + 2)
    ends = 0.5 * end * np.append(0.0, 0.5 ** np.arange(halvings, -1, -1.0))
    nodes, weights = gauss_panels(ends, _NODES)
    return np.concatenate([nodes, end - nodes]), np.concatenate([weights, weights])


def fitted_exponent(alpha: Floats, error: Floats, window: tuple[float, float]) -> PowerFit:
    """Return the exponent x of ε_g ∝ α^x between two times.

    Args:
        alpha, error: a curve, shape (P,), at least five points in the window.
        window: first and last time.

    Raises:
        InputError: too few points.
    """
    inside = (alpha >= window[0]) & (alpha <= window[1]) & (error > 0)
    if np.count_nonzero(inside) < 5:
        raise InputError(
            "fewer than five points are inside the window of the fit", argument="alpha"
        )
    x, y = np.log(alpha[inside]), np.log(error[inside])
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    local = np.gradient(y, x)
    spread = 0.5 * float(np.max(local) - np.min(local))
    deviation = float(math.sqrt(max(covariance[0, 0], 0.0)))
    return PowerFit(float(slope), max(spread, deviation), window)
