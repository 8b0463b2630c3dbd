"""Densities over eigenvalues: windows of F F^T/N for a few of them, moments of the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values, extended

from symderiv_papers.references.manifold import Manifold, manifold
from symderiv_papers.references.manifold_points import manifold_points

__all__ = [
    "spectra",
    "windows",
]

_SIZES: Final = ((3, 2, 4, 7, "erf"), (2, 3, 5, 8, "erf"))
#: Nodes of the limiting spectrum: their moments are exact to rounding.
_NODES: Final = 128


def windows(numbers: Any) -> Iterator[Point]:
    """Yield points of :func:`manifold_points` with windows of the eigenvalues.

    Further names: H, width, first[h], share[h] (eigenvalues in the window over D width),
    density[h, k, m] and density_S[h, k, l] by projectors that are polynomials in F F^T/N,
    mean[h, k, m], the density over share.
    """
    for seed, point in enumerate(manifold_points(sizes=_SIZES)(numbers)):
        K, M, D, N, activation = _SIZES[seed]
        f = ("sign", "x**3/8 + x/2")[seed % 2]
        state = manifold(K, M, D, N, f, activation, numbers.dps, seed)
        for count in (2, 6):
            more = _windowed(state, count)
            yield Point(f"{point.label}, {count} windows", extended(point.values, more))


@lru_cache(maxsize=8)
def _windowed(state: Manifold, count: int) -> dict[str, Any]:
    values = list(state.basis[0])
    numbers, D = state.numbers, state.D
    low, high = min(values), max(values)
    width = (high - low) * numbers.mpf(11) / 10 / count
    first = [low - width / 19 + h * width for h in range(count)]
    inside = [[x for x in values if start <= x <= start + width] for start in first]
    projectors = [sum((_projector(state, x) for x in found), numbers.zeros(D)) for found in inside]
    share = [len(found) / (D * width) for found in inside]
    teacher = [state.seen * P * state.teacher.T / (D * width) for P in projectors]
    student = [state.seen * P * state.seen.T / (D * width) for P in projectors]
    means = [matrix / part if part else matrix for matrix, part in zip(teacher, share, strict=True)]
    H, K, M = (1, count), (1, state.K), (1, state.M)

    def entries(matrices: list[Any], second: tuple[int, int]) -> Indexed:
        return Indexed(lambda h, k, m: matrices[h - 1][k - 1, m - 1], H, K, second)

    return {
        "H": count, "width": width, "first": Indexed(first, H), "share": Indexed(share, H),
        "density": entries(teacher, M), "density_S": entries(student, K), "mean": entries(means, M),
    }  # fmt: skip


def _projector(state: Manifold, value: Any) -> Any:
    """Return the projector on the eigenvector of one simple eigenvalue."""
    matrix = state.features * state.features.T / state.N
    found = state.numbers.eye(state.D)
    for other in state.basis[0]:
        if other != value:
            found = found * (matrix - other * state.numbers.eye(state.D)) / (value - other)
    return found


def spectra(which: str) -> Callable[[Any], Iterator[Point]]:
    """Return moments of the limiting spectrum of F F^T/N for ratios D/N below or above 1."""
    # squares of binary fractions: the ends of the spectrum have no rounding
    small = (Fraction(1, 4), Fraction(9, 16), Fraction(25, 64))
    large = (Fraction(25, 16), Fraction(4), Fraction(9, 4))

    def points(numbers: Any) -> Iterator[Point]:
        from symderiv.inputs.latent import marchenko_pastur

        for ratio in small if which == "D < N" else large:
            s, weight = marchenko_pastur(float(ratio), _NODES)
            rho = s * float(ratio)
            # the engine counts N eigenvalues of inputs, of which min(D, N) are not zero; here
            # they are D
            moments = [numbers.mpf(1)] + [
                numbers.mpf(float((weight * rho**q).sum())) * ratio.denominator / ratio.numerator
                for q in range(1, 4)
            ]
            yield Point(
                f"D/N = {ratio}",
                Values({
                    "D": ratio.numerator, "N": ratio.denominator,
                    "moment": Indexed(moments, (0, 3)),
                }),
            )  # fmt: skip

    return points
