"""Outputs that are functions of signs: Z(y, ω, V) and its gradient from the Gaussian calculus.

Z(y) is the probability of y for fields of mean ω and covariance V. It is a sum of means of products
of signs, and its gradient one of means with a delta function in place of a sign. The calculus gives
them in closed form, with Owen's function for two signs. For three signs of fields with means it has
no closed form: their mean is an integral over the third field.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np
import sympy as sp
from scipy.special import xlogy

from symderiv.equilibrium.weak_learning.stated_target import FewFieldTarget
from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError, ToleranceError
from symderiv.gaussian import expectation
from symderiv.numerics.nodes import gauss_legendre, normal_steps

_REACH, _WIDEST, _SHARE = 7.2, 0.3, 0.31
_LEAST = 1e-14
#: For conditional variances below this, points are concentrated where signs change.
_NARROW, _CROWDED = 0.02, 0.06
_MOST = 50_000_000
TOO_NEAR = "a state is so near to exact knowledge that its means would need too many points"


def lattice(q: np.ndarray, V: np.ndarray, fine: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return points ω (K, n) of covariance q and weights (n,), with a step adapted to V."""
    sizes, turn = np.linalg.eigh(q)
    sizes = np.maximum(sizes, 0.0)
    least = max(float(np.linalg.eigvalsh(V)[0]), 1e-9)
    axes, weights = [], []
    for size in sizes:
        step = min(_WIDEST, _SHARE * (least / size) ** 0.5 / fine) if size > 0.0 else _WIDEST
        nodes, _ = normal_steps(_REACH, step)
        nodes = nodes + 0.377 * step  # shifted so that no field is exactly zero
        axes.append(size**0.5 * nodes)
        weights.append(step * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi))
    if np.prod([float(each.size) for each in axes]) > _MOST:
        raise ToleranceError(TOO_NEAR)
    points = np.array(np.meshgrid(*axes, indexing="ij")).reshape(len(axes), -1)
    whole = weights[0]
    for each in weights[1:]:
        whole = np.multiply.outer(whole, each)
    whole = whole.ravel()
    used = whole > 1e-16
    omega: np.ndarray = turn @ points[:, used]
    return omega, whole[used]


def crowded(
    forms: tuple[np.ndarray, np.ndarray], q: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return points ω (K, n) of covariance q and weights (n,), concentrated where signs change.

    They are a grid of the K arguments of the signs, each a hyperbolic sine of equal steps with the
    conditional standard deviation of the argument given ω as its scale.

    Args:
        forms: A and c: the arguments are A ω + c.
        q: The covariance of ω, regular.
        V: The covariance of the fields given ω.
    """
    A, c = forms
    axes, steps = [], []
    for width, centre, size in zip(
        np.diag(A @ V @ A.T), np.abs(c), np.diag(A @ q @ A.T), strict=True
    ):
        scale = max(float(width), 1e-30) ** 0.5
        end = np.arcsinh((centre + _REACH * size**0.5) / scale)
        # shifted so that no argument is exactly zero
        even = np.arange(-np.ceil(end / _CROWDED), np.ceil(end / _CROWDED) + 1) + 0.377
        axes.append(scale * np.sinh(_CROWDED * even))
        steps.append(_CROWDED * scale * np.cosh(_CROWDED * even))
    arguments, sizes = (
        np.array(np.meshgrid(*each, indexing="ij")).reshape(len(axes), -1) for each in (axes, steps)
    )
    omega = np.linalg.solve(A, arguments - c[:, None])
    density = np.exp(-np.einsum("in,in->n", omega, np.linalg.solve(q, omega)) / 2)
    weights = density * np.prod(sizes, axis=0) / abs(np.linalg.det(A))
    weights /= np.linalg.det(2.0 * np.pi * q) ** 0.5
    used = weights > 1e-18 * weights.max()
    return omega[:, used], weights[used]


class Channel(ABC):
    """A law of outputs y given K fields."""

    K: int
    sharp: bool

    @property
    @abstractmethod
    def limit(self) -> float:
        """The limit of E ∫ Z ln Z dy at q = 1."""

    @property
    @abstractmethod
    def second_moment(self) -> float:
        """E[y²] without additive noise."""

    @abstractmethod
    def mean_square(self, q: np.ndarray, V: np.ndarray) -> float:
        """Return E[E[y | ω]²], without additive noise."""

    @abstractmethod
    def information(self, q: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        """Return E ∫ Z ln Z dy and E[∇ ln Z ∇ ln Zᵀ] over ω of covariance q."""


class SignChannel(Channel):
    """A channel with finitely many outputs, possibly with additive noise or flipped signs.

    Args:
        target: A function of at most three signs.
        noise: The standard deviation of the noise added to y.
        flip: The probability that -y replaces y.
    """

    def __init__(self, target: FewFieldTarget, noise: float = 0.0, flip: float = 0.0) -> None:
        assert target.in_signs is not None
        self.signs = target.in_signs[1]
        self.target, self.noise = target, noise
        # two boundaries in one field may be closer than the width of one
        self.fine = 2.0 if len(self.signs) > len(target.fields) else 1.0
        self.K = len(target.fields)
        if len(self.signs) > 3:
            raise NotYetError(
                f"has {len(self.signs)} signs; channels are known for at most three",
                argument="output",
            )
        self.subsets, values = target.patterns
        # values of y, and coefficients of Z(y) as a sum over subsets of signs, (values, subsets)
        self.outputs, self.matrix = np.array([*values], float), np.array([*values.values()], float)
        opposite = [int(np.argmin(np.abs(self.outputs + y))) for y in self.outputs]
        same = np.eye(len(opposite))
        self.shown = (1 - flip) * same + flip * same[opposite] if flip else same
        self.matrix = self.shown @ self.matrix
        #: True if q̂ diverges as q → 1, so that weights ±1 can be known exactly, also with noise
        # added to y; noise inside of signs bounds q̂.
        self.sharp = not target.noisy

    @cached_property
    def _symbols(self) -> tuple[sp.Matrix, sp.Matrix, list[sp.Symbol]]:
        """Symbolic covariance and mean of all variables, with the symbols in them."""
        K, size = self.K, len(self.target.variables)
        V = sp.eye(size)
        names: list[sp.Symbol] = []
        for i in range(K):
            for j in range(i, K):
                V[i, j] = V[j, i] = sp.Symbol(
                    f"v{i + 1}{j + 1}", real=True, positive=True if i == j else None
                )
                names.append(V[i, j])
        m = sp.Matrix([sp.Symbol(f"m{i + 1}", real=True) if i < K else 0 for i in range(size)])
        return V, m, [*m[:K], *names]

    def _function(self, integrand: sp.Expr) -> Callable[..., np.ndarray]:
        V, m, names = self._symbols
        value = expectation(integrand, self.target.variables, V, m).unfolded()
        return as_function(names, value)

    @cached_property
    def _means(
        self,
    ) -> list[tuple[Callable[..., np.ndarray] | None, list[Callable[..., np.ndarray]]]]:
        """The mean (None for three signs) and its gradient for each subset of signs."""
        means = []
        for taken in self.subsets:
            signs = [s for s, one in zip(self.signs, taken, strict=True) if one]
            mean = self._function(sp.prod(signs)) if len(signs) < 3 else None
            slopes = [self._function(self._slope(signs, z)) for z in self.target.fields]
            means.append((mean, slopes))
        return means

    @staticmethod
    def _slope(signs: list[sp.Expr], z: sp.Symbol) -> sp.Expr:
        """Return an expression whose mean is the derivative of E[∏ signs] by the mean of
        a field.
        """
        total = sp.S.Zero
        for n, one in enumerate(signs):
            inner = one.args[0]
            rest = sp.prod(signs[:n] + signs[n + 1 :])
            total += 2 * sp.diff(inner, z) * sp.DiracDelta(inner) * rest
        return total

    def at(self, omega: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Z(y) (y, n) and its gradient (K, y, n) at means ω (K, n)."""
        rows, columns = np.triu_indices(self.K)
        # closed forms of two signs divide by means
        omega = omega + 1e-13 * (1.0 + np.arange(self.K))[:, None]
        given = [*omega, *V[rows, columns]]
        n = omega.shape[1]
        means, slopes = np.empty((len(self.subsets), n)), np.zeros((self.K, len(self.subsets), n))
        with np.errstate(all="ignore"):
            for place, (mean, gradient) in enumerate(self._means):
                means[place] = self._three(omega, V) if mean is None else mean(*given)
                for k, slope in enumerate(gradient):
                    slopes[k, place] = slope(*given)
        return self.matrix @ means, self.matrix @ slopes

    def _three(self, omega: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the mean of three signs, integrating the conditional mean of two over the third
        field.
        """
        if self.target.noisy or [s.args[0] for s in self.signs] != list(self.target.fields):
            raise NotYetError(
                "three signs are known only as those of z1, z2 and z3", argument="output"
            )
        two = self._means[self.subsets.index((1, 1, 0))][0]
        assert two is not None
        nodes, weights = gauss_legendre(40)
        slope = V[:2, 2] / V[2, 2]
        rest = V[:2, :2] - np.outer(V[:2, 2], slope)
        total = np.zeros(omega.shape[1])
        cut = np.clip(-omega[2] / V[2, 2] ** 0.5, -8.0, 8.0)
        # the remaining entries do not occur in the mean of two signs
        for side, low, high in (
            (-1.0, np.full_like(cut, -8.0), cut),
            (1.0, cut, np.full_like(cut, 8.0)),
        ):
            for x, w in zip(nodes, weights, strict=True):
                u = low + (high - low) * (x + 1.0) / 2.0
                third = V[2, 2] ** 0.5 * u
                means = [
                    omega[0] + slope[0] * third + 1e-300,
                    omega[1] + slope[1] * third,
                    omega[2],
                ]
                value = two(*means, rest[0, 0], rest[0, 1], 0.0, rest[1, 1], 0.0, 1.0)
                total += (
                    side * w * (high - low) / 2 * np.exp(-u * u / 2) / np.sqrt(2 * np.pi) * value
                )
        return total

    @cached_property
    def _forms(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The matrix A and vector c if the signs have K independent arguments A z + c,
        else None.
        """
        fields = list(self.target.fields)
        arguments = sp.Matrix([s.args[0] for s in self.signs])
        if self.target.noisy or len(self.signs) != self.K:
            return None
        A, c = arguments.jacobian(fields), arguments.xreplace(dict.fromkeys(fields, sp.S.Zero))
        if A.free_symbols or A.det() == 0:
            return None
        return np.array(A, dtype=float), np.array(c, dtype=float).ravel()

    def _points(self, q: np.ndarray, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return points ω and weights, adapted to V."""
        if float(np.linalg.eigvalsh(V)[0]) < _NARROW and self._forms is not None:
            return crowded(self._forms, q, V)
        return lattice(q, V, self.fine)

    def information(self, q: np.ndarray, V: np.ndarray) -> tuple[float, np.ndarray]:
        omega, weights = self._points(q, V)
        total, square = 0.0, np.zeros((self.K, self.K))
        for part in np.array_split(np.arange(weights.size), 1 + weights.size // 40000):
            Z, slopes = self.at(omega[:, part], V)
            shares = np.ones(len(Z))
            if self.noise:
                Z, slopes, shares = self._with_noise(Z, slopes)
            good = Z > _LEAST
            Z = np.where(good, Z, 1.0)
            slopes = np.where(good, slopes, 0.0)
            total += float(shares @ (Z * np.log(Z)) @ weights[part])
            square += np.einsum(
                "iyn,jyn,yn,y,n->ij", slopes, slopes, 1.0 / Z, shares, weights[part]
            )
        return total, (square + square.T) / 2

    @cached_property
    def limit(self) -> float:
        Z, shares = self.shown, np.ones(len(self.shown))
        if self.noise:
            Z, _, shares = self._with_noise(Z, Z)
        zero = np.zeros((self.K, 1))
        return float(shares @ xlogy(Z, Z) @ self.at(zero, np.eye(self.K))[0][:, 0])

    @cached_property
    def second_moment(self) -> float:
        zero = np.zeros((self.K, 1))
        return float((self.outputs**2 @ self.at(zero, np.eye(self.K))[0])[0])

    def mean_square(self, q: np.ndarray, V: np.ndarray) -> float:
        omega, weights = self._points(q, V)
        return float((self.outputs @ self.at(omega, V)[0]) ** 2 @ weights)

    def _with_noise(
        self, Z: np.ndarray, slopes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Z, its gradient and weights at nodes of y with additive noise."""
        step = 0.4 * self.noise
        y = np.arange(
            self.outputs.min() - 8 * self.noise, self.outputs.max() + 8 * self.noise, step
        )
        density = np.exp(-(((y[:, None] - self.outputs) / self.noise) ** 2) / 2)
        density /= self.noise * np.sqrt(2 * np.pi)
        return density @ Z, density @ slopes, np.full(y.size, step)
