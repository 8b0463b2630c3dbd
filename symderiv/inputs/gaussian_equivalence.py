r"""Tests whether the fields (λ, ν) of structured inputs are Gaussian, as the equations assume.

The fields are λ_i = J_i·x/√N of a student and ν_n = W_n·c/√D of a teacher of latent vectors. Three
measurements on samples, each with its sampling error:

- skewness and excess kurtosis of every field, for random J these are random projections of x;
- Mardia's skewness and kurtosis of all fields jointly, which detect dependences of fields;
- E[g(λ_i) g(λ_j)] and E[g(λ_i) g(ν_n)] against their Gaussian values I2 at the sampled covariances.

At finite N and D no structured input has exactly Gaussian fields, and enough samples show it. The
verdict is therefore about size: deviations within their sampling error plus an allowance c/√N, the
rate of the theorem of Goldt et al. (Gaussian equivalence of generative models, 2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError
from symderiv.inputs.latent_teacher import Sampler

#: The number of standard errors beyond which deviations count.
_STANDARD_ERRORS = 4.0


@dataclass(frozen=True, eq=False)
class Gaussianity:
    """Deviations of the fields (λ, ν), p = K + M of them, from a Gaussian law.

    Args:
        skewness, kurtosis: the skewness and kurtosis of every field, excess kurtosis; shape (p,).
        skewness_error, kurtosis_error: their standard errors from the samples, shape (p,).
        joint_skewness: Mardia's skewness minus its mean under a Gaussian law, divided by p (p + 1)
            (p + 2): the mean square of a standardised third moment.
        joint_skewness_error: its standard deviation under a Gaussian law.
        joint_kurtosis: Mardia's E|z|⁴/(p (p + 2)) - 1 of whitened fields z.
        joint_kurtosis_error: its standard error from the samples.
        correlation: E[g g̃] of the pairs (i, j) of students and (i, n), shape (K, p).
        gaussian_correlation: I2 of the same pairs at the sampled covariances.
        correlation_error: standard error of the difference; I2 moves with the sampled covariances.
        samples, dimension: the number of samples; N.
        allowance: c/√N.
    """

    skewness: np.ndarray
    kurtosis: np.ndarray
    skewness_error: np.ndarray
    kurtosis_error: np.ndarray
    joint_skewness: float
    joint_skewness_error: float
    joint_kurtosis: float
    joint_kurtosis_error: float
    correlation: np.ndarray
    gaussian_correlation: np.ndarray
    correlation_error: np.ndarray
    samples: int
    dimension: int
    allowance: float

    @property
    def distance(self) -> np.ndarray:
        """Difference of the correlations over the size of a field's own, shape (K, p)."""
        K = self.correlation.shape[0]
        size = float(np.max(np.abs(np.diagonal(self.gaussian_correlation[:, :K]))))
        return np.asarray((self.correlation - self.gaussian_correlation) / size)

    @property
    def distance_error(self) -> np.ndarray:
        """Standard error of :attr:`distance`."""
        K = self.correlation.shape[0]
        size = float(np.max(np.abs(np.diagonal(self.gaussian_correlation[:, :K]))))
        return np.asarray(self.correlation_error / size)

    def excess(self) -> dict[str, float]:
        """Return the excess of each kind of deviation over its allowance, negative if below it.

        It is the largest |deviation| minus 4 standard errors minus the allowance: c/√N for
        correlations, twice and four times that for third and fourth moments, whose scales are √6
        and √24; joint kurtosis is relative to its Gaussian value, and has a third of the allowance
        of kurtosis.
        """
        beyond = _STANDARD_ERRORS

        def largest(value: np.ndarray, error: np.ndarray, allowed: float) -> float:
            return float(np.max(np.abs(value) - beyond * error)) - allowed

        return {
            "skewness": largest(self.skewness, self.skewness_error, 2.0 * self.allowance),
            "kurtosis": largest(self.kurtosis, self.kurtosis_error, 4.0 * self.allowance),
            "joint skewness": math.sqrt(
                max(0.0, self.joint_skewness - beyond * self.joint_skewness_error)
            )
            - 2.0 * self.allowance,
            "joint kurtosis": abs(self.joint_kurtosis)
            - beyond * self.joint_kurtosis_error
            - 4.0 / 3.0 * self.allowance,
            "correlations": largest(self.distance, self.distance_error, self.allowance),
        }

    @property
    def passed(self) -> bool:
        """True if all deviations are within sampling error and allowance."""
        return max(self.excess().values()) <= 0.0

    def __str__(self) -> str:
        def worst(value: np.ndarray, error: np.ndarray) -> str:
            k = np.unravel_index(np.argmax(np.abs(value)), value.shape)
            return f"{value[k]:+.4f} ± {error[k]:.4f}"

        verdict = "Gaussian within" if self.passed else "not Gaussian within"
        beyond = [name for name, size in self.excess().items() if size > 0.0]
        return (
            f"{self.samples} samples, largest deviations: skewness "
            f"{worst(self.skewness, self.skewness_error)}, excess kurtosis "
            f"{worst(self.kurtosis, self.kurtosis_error)}, joint kurtosis "
            f"{self.joint_kurtosis:+.4f} ± {self.joint_kurtosis_error:.4f}, correlations "
            f"{worst(self.distance, self.distance_error)} of their size; {verdict} sampling error "
            f"and {self.allowance:.3g}{': ' + ', '.join(beyond) if beyond else ''}"
        )


def gaussianity(
    sampler: Sampler,
    J: np.ndarray,
    W: np.ndarray,
    *,
    activation: str = "erf",
    teacher_activation: str | None = None,
    samples: int = 50_000,
    seed: int = 0,
    constant: float = 1.0,
) -> Gaussianity:
    """Measure how Gaussian the fields of given weights are.

    Args:
        sampler: random generator and count to centred inputs (count, N) and latent vectors
            (count, D): ``DataModel.latent.sampler`` or
            :func:`symderiv.inputs.generator_sampler`.
        J: student weights, shape (K, N); independent normal entries make random projections.
        W: teacher weights, shape (M, D).
        activation, teacher_activation: activations with a closed I2.
        samples: the number of samples.
        seed: the seed of the samples.
        constant: c of the allowance c/√N.

    Raises:
        InputError: shapes do not fit, there are too few samples, a field is constant, or an
            activation is not acceptable or without a closed I2.
    """
    if J.ndim != 2 or W.ndim != 2 or min(J.shape) < 1:
        raise InputError("J must be of shape (K, N), W of shape (M, D)", argument="weights")
    K, p = J.shape[0], J.shape[0] + W.shape[0]
    if samples < 100 * p:
        raise InputError(f"{samples} is below {100 * p}, 100 for each field", argument="samples")
    fields = _fields(sampler, J, W, samples, seed)
    centred = fields - fields.mean(axis=0)
    covariance = centred.T @ centred / samples
    deviation = np.sqrt(np.diag(covariance))
    if not np.all(deviation > 0.0):
        raise InputError(
            "lead to a field without variance; change them so that every field varies",
            argument="weights",
        )
    moments = _single_moments(centred / deviation)
    joint = _joint(centred, covariance)
    sampled, exact, error = _correlations(
        centred, fields, covariance, K, activation, teacher_activation or activation
    )
    return Gaussianity(
        **moments,
        joint_skewness=joint[0],
        joint_skewness_error=joint[1],
        joint_kurtosis=joint[2],
        joint_kurtosis_error=joint[3],
        correlation=sampled,
        gaussian_correlation=exact,
        correlation_error=error,
        samples=samples,
        dimension=J.shape[1],
        allowance=constant / math.sqrt(J.shape[1]),
    )


def _single_moments(u: np.ndarray) -> dict[str, np.ndarray]:
    """Return skewness and kurtosis of standardised fields, shape (samples, p), with standard
    errors.
    """
    third, fourth = np.mean(u**3, axis=0), np.mean(u**4, axis=0)
    # influence function of a standardised moment: mean and variance are estimated, too
    of_third = u**3 - third - 3.0 * u - 1.5 * third * (u**2 - 1.0)
    of_fourth = u**4 - fourth - 4.0 * third * u - 2.0 * fourth * (u**2 - 1.0)
    root = math.sqrt(len(u))
    return {
        "skewness": third,
        "kurtosis": fourth - 3.0,
        "skewness_error": of_third.std(axis=0) / root,
        "kurtosis_error": of_fourth.std(axis=0) / root,
    }


def _fields(sampler: Sampler, J: np.ndarray, W: np.ndarray, samples: int, seed: int) -> np.ndarray:
    random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
    block = max(1, (1 << 20) // J.shape[1])
    parts, left = [], samples
    while left:
        x, c = sampler(random, min(block, left))
        if x.shape[1] != J.shape[1] or c.shape[1] != W.shape[1]:
            raise InputError(
                f"J and W have {J.shape[1]} and {W.shape[1]} columns, inputs and latent "
                f"vectors {x.shape[1]} and {c.shape[1]}",
                argument="weights",
            )
        student, teacher = x @ J.T / math.sqrt(J.shape[1]), c @ W.T / math.sqrt(W.shape[1])
        parts.append(np.concatenate([student, teacher], axis=1))
        left -= len(x)
    return np.concatenate(parts)


def _joint(centred: np.ndarray, covariance: np.ndarray) -> tuple[float, float, float, float]:
    """Return Mardia's two measures, each with its standard deviation."""
    n, p = centred.shape
    values, axes = np.linalg.eigh(covariance)
    alive = values > 1e-10 * values[-1]
    z = centred @ (axes[:, alive] / np.sqrt(values[alive]))
    p = z.shape[1]
    tensor = np.einsum("ea,eb,ec->abc", z, z, z, optimize=True) / n
    count = p * (p + 1) * (p + 2)
    # n/6 times the sum of squares has a chi-squared law of count/6 degrees of freedom
    skewness = float(np.sum(tensor**2)) / count - 1.0 / n
    skewness_error = math.sqrt(12.0 / count) / n
    squares = np.sum(z**2, axis=1)
    fourth = squares**2
    # effect of whitening with the estimated variance: to first order 2 E|z|⁴/p per relative change
    influence = fourth - 2.0 * (p + 2) * squares
    scale = p * (p + 2)
    return (
        skewness,
        skewness_error,
        float(np.mean(fourth)) / scale - 1.0,
        float(np.std(influence)) / scale / math.sqrt(n),
    )


def _correlations(
    centred: np.ndarray,
    fields: np.ndarray,
    covariance: np.ndarray,
    K: int,
    activation: str,
    teacher_activation: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sampled E[g g̃], its Gaussian value, and the standard error of the difference."""
    n, p = fields.shape
    student = _closed_i2(activation, activation)
    cross = _closed_i2(activation, teacher_activation)
    own = _closed_square(activation)
    g, g_teacher = _function(activation), _function(teacher_activation)
    outputs = np.concatenate([g(fields[:, :K]), g_teacher(fields[:, K:])], axis=1)
    sampled, exact, error = (np.empty((K, p)) for _ in range(3))
    for i in range(K):
        for j in range(p):
            i2 = own if i == j else (student if j < K else cross)
            at = np.array([covariance[i, i], covariance[i, j], covariance[j, j]])
            product = outputs[:, i] * outputs[:, j]
            moving = np.stack(
                [
                    centred[:, i] ** 2,
                    centred[:, i] * centred[:, j],
                    centred[:, j] ** 2,
                ]
            )
            step = 1e-5 * math.sqrt(at[0] * at[2])
            slope = np.array(
                [(i2(*(at + d)) - i2(*(at - d))) / (2.0 * step) for d in step * np.eye(3)]
            )
            sampled[i, j], exact[i, j] = product.mean(), i2(*at)
            error[i, j] = (product - slope @ moving).std() / math.sqrt(n)
    return sampled, exact, error


_OfCovariance = Callable[[float, float, float], float]


def _closed_i2(one: str, other: str) -> _OfCovariance:
    """Return E[g(u) g̃(v)] as a function of (C_uu, C_uv, C_vv)."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.formula.as_function import as_function
    from symderiv.gaussian import i2

    symbols = sp.symbols("c11 c12 c22", real=True)
    value = i2(activation(one).expression, activation(other).expression).value
    by_name = {s.name: s for s in value.free_symbols}
    value = value.subs({by_name[s.name]: s for s in symbols if s.name in by_name})
    made = as_function(symbols, value)
    return lambda a, b, c: float(made(a, b, c))


def _closed_square(name: str) -> _OfCovariance:
    """Return E[g(u)²] as a function of C_uu alone."""
    import sympy as sp

    from symderiv.formula import activation
    from symderiv.formula.as_function import as_function
    from symderiv.gaussian import i2

    g = activation(name).expression
    value = i2(g, g, fields=(0, 0)).value
    (variance,) = value.free_symbols or {sp.Symbol("c11")}
    made = as_function(variance, value)
    return lambda a, b, c: float(made(a))


def _function(name: str) -> Callable[[np.ndarray], np.ndarray]:
    from symderiv.inputs.nonlinearity import nonlinearity

    return nonlinearity(name).function


@dataclass(frozen=True)
class BoundTerms:
    """The computable terms of the theorem's bound; see :func:`bound_terms`.

    Args:
        teacher: ‖W Aᵀ/√D‖²/√N, spectral norm.
        teacher_frobenius: the same with the Frobenius norm.
        dimension: 1/√N.
        student_with_omega: ‖J Ω^(1/2)/√N‖², the largest eigenvalue of Q.
    """

    teacher: float
    teacher_frobenius: float
    dimension: float
    student_with_omega: float


def bound_terms(J: np.ndarray, W: np.ndarray, features: np.ndarray, Q: np.ndarray) -> BoundTerms:
    r"""Return the computable terms of the bound on the distance of the law of (λ, ν) from a
    Gaussian.

    The theorem for one-layer generators x_n = f(a_n·c), |a_n| = 1, on the slides of Goldt et al.
    (MSML 2021) is, in our letters,

    .. math:: d = O\left(\|J M_1^{1/2}/\sqrt N\|^2 + \|J M_2^{1/2}/\sqrt N\|^2
       + \|W A^T/\sqrt D\|^2/\sqrt N + 1/\sqrt N\right).

    The last two terms are defined up to the norm; both norms are given. The first two are not:
    M_1 and M_2 are "related to input correlations" only. With Ω in their place the term is the
    largest eigenvalue of Q, which does not shrink with N: the bound would say nothing, so M_1
    and M_2 are not Ω. It is given to show that, and belongs to no bound.

    Args:
        J: shape (K, N).
        W: shape (M, D).
        features: a_n as rows, shape (N, D); scaled to length 1.
        Q: λ's covariance J Ω Jᵀ/N, shape (K, K).

    Raises:
        InputError: shapes do not fit.
    """
    N, D = features.shape
    if J.shape[1] != N or W.shape[1] != D or Q.shape != (J.shape[0], J.shape[0]):
        raise InputError(
            f"J, W and Q have the shapes {J.shape}, {W.shape}, {Q.shape}, which do not fit "
            f"features of shape {features.shape}",
            argument="weights",
        )
    A = features / np.linalg.norm(features, axis=1)[:, None]
    singular = np.linalg.svd(W @ A.T / math.sqrt(D), compute_uv=False)
    return BoundTerms(
        teacher=float(singular[0] ** 2) / math.sqrt(N),
        teacher_frobenius=float(np.sum(singular**2)) / math.sqrt(N),
        dimension=1.0 / math.sqrt(N),
        student_with_omega=float(np.linalg.eigvalsh(Q)[-1]),
    )
