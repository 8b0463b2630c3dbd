"""Equations 82 to 88: training outside of the eigenbasis."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import numpy as np

from symderiv.analysis.linear import rotated_covariance
from symderiv.verification.arithmetic import Indexed, extended
from symderiv.verification.bounds import Bound
from symderiv.verification.claim import Claim, Point
from symderiv.verification.rules import Converges, Exact, Measured, WithinErrorBars
from symderiv_papers.references.linear_flows import (
    END,
    VectorFlow,
    block_flows,
    blocks,
    diagonal,
    sgd_error,
)
from symderiv_papers.references.power_laws import fraction

Points = Callable[[Any], Iterator[Point]]

_SPECTRUM: Final = (Fraction(2), Fraction(6, 5), Fraction(3, 5), Fraction(1, 5))
_BETAS: Final = (Fraction(1, 2), Fraction(1), Fraction(3))


def _blocks(time: Fraction) -> Points:
    """Random covariances; N/L = 2, 1, 3."""

    def points(numbers: Any) -> Iterator[Point]:
        for point in blocks(numbers, time):
            names = point.values
            N, cut = names["N"], names["N_l"]
            unit = numbers.eye(N)
            decay = numbers.expm(names["tilde_Sigma"] * (-names["eta"] * names["alpha"]))
            more = {"E_1": unit[:, :cut], "E_2": unit[:, cut:], "E": decay}
            yield Point(point.label, extended(names, more))

    return points


def _small_rates(numbers: Any) -> Iterator[Point]:
    """Exact SGD at finite N, run to its end, η to 0."""
    for flow in block_flows(numbers, Fraction(1)):
        deviation = 1 + float(flow.student_std) ** 2
        for part in (8, 16, 32):
            exact = sgd_error(flow.covariance, flow.trained, 1 / part, deviation, 10**6)
            series = f"N = {flow.N}, covariance {flow.seed}"
            point = flow.point(f"{series}, eta = 1/{part}")
            more = {"epsilon_g": numbers.mpf(exact)}
            yield Point(point.label, extended(point.values, more), 1 / part, series)


def _in_eigenbasis(numbers: Any) -> Iterator[Point]:
    yield diagonal(numbers, _SPECTRUM, 2, 2, END, spaces=True)
    yield diagonal(numbers, (5, Fraction(1, 2)), 1, 3, END)
    yield diagonal(numbers, (3, Fraction(2)), 2, 1, END, spaces=True)


def _turned(numbers: Any) -> Iterator[Point]:
    """Eigenvectors turned away from the trained directions, by little and by much."""
    for trained in (1, 2, 3):
        for angle in ("0.001", "0.4", "1.1"):
            values = [fraction(numbers, value) for value in _SPECTRUM]
            N, turn = len(values), numbers.mpf(angle)
            basis = numbers.eye(N)
            for i, j in ((0, 2), (1, 3), (0, 3), (1, 2)):
                plane = numbers.eye(N)
                plane[i, i] = plane[j, j] = numbers.cos(turn)
                plane[j, i] = numbers.sin(turn)
                plane[i, j] = -plane[j, i]
                basis = basis * plane
            matrix = basis * numbers.diag(values) * basis.T
            mask = tuple(k < trained for k in range(N))
            flow = VectorFlow(numbers, matrix, mask, Fraction(4 * 10**6), N)
            point = flow.point(f"N_l = {trained}, turned by {angle}")
            more = {"lambda_": Indexed(values, (1, N))}
            yield Point(point.label, extended(point.values, more), series=f"N_l = {trained}")


def _doubled(numbers: Any) -> Iterator[Point]:
    """ε_g,asymp with 2 N_l trained directions over that with N_l; L = N_l^6, N_l to infinity."""
    for beta in _BETAS:
        b = fraction(numbers, beta)
        for trained in (20, 40, 80):
            end = numbers.zeta(1 + b, trained**6 + 1)
            one, two = (numbers.zeta(1 + b, n + 1) - end for n in (trained, 2 * trained))
            values = {"beta": b, "ratio": two / one}
            yield Point(f"beta = {beta}, N_l = {trained}", values, 1 / trained, str(beta))


_SIZES: Final = (16, 32, 64)


@lru_cache(maxsize=4)
def _random_errors(beta: float, N: int = 4000, samples: int = 12) -> np.ndarray[Any, Any]:
    """N ε_g,asymp (up to one factor) of random orthogonal bases, shape (samples, sizes).

    With W_1 the rows of W that are trained the blocks give N - tr((W_1 Λ W_1ᵀ)⁻¹ W_1 Λ² W_1ᵀ),
    which any basis of the same rows gives, so that normal numbers need not be made orthogonal.
    """
    source = np.random.default_rng(5)
    eigenvalue = np.arange(1, N + 1) ** -(1.0 + beta)
    eigenvalue *= N / eigenvalue.sum()
    found = np.empty((samples, len(_SIZES)))
    for sample in range(samples):
        rows = source.standard_normal((_SIZES[-1], N))
        inner, square = (
            np.einsum("ik,k,jk->ij", rows, values, rows, optimize=False)
            for values in (eigenvalue, eigenvalue**2)
        )
        for place, size in enumerate(_SIZES):
            part = np.linalg.solve(inner[:size, :size], square[:size, :size])
            found[sample, place] = N - np.trace(part)
    return found


def _random_doubled(numbers: Any) -> Iterator[Point]:
    for beta in (Fraction(1), Fraction(3, 2)):
        errors = _random_errors(float(beta))
        for place in range(len(_SIZES) - 1):
            one, two = errors[:, place], errors[:, place + 1]
            ratio = two.mean() / one.mean()
            spread = ratio * np.std(two / two.mean() - one / one.mean(), ddof=1)
            measured = Measured(float(ratio), float(spread / np.sqrt(len(one))))
            yield Point(
                f"beta = {beta}, N = 4000, N_l = {_SIZES[place]}",
                {"beta": numbers.mpf(float(beta)), "ratio": measured},
            )


def _orthogonal(numbers: Any) -> Iterator[Point]:
    """Squares of one entry of random eigenbases, in the engine's rotated covariances."""
    for N in (3, 8):
        squares = []
        for seed in range(400):
            # two eigenvalues: the entry of the covariance is that of W²
            values = np.zeros(N)
            values[0] = 1.0
            squares.append(rotated_covariance(values, seed)[1, 1])
        error = np.std(squares, ddof=1) / np.sqrt(len(squares))
        measured = Measured(float(np.mean(squares)), float(error))
        yield Point(f"N = {N}", {"N": N, "L": 2, "M": 1, "K": 1, "square": measured})


_SCHUR: Final = "trace(transpose(Sigma_cross) @ inverse(tilde_Sigma) @ Sigma_cross)"
_SHIFT: Final = "inverse(tilde_Sigma) @ Sigma_cross @ (hat_B - hat_J)"
_LEARNING: Final = "(identity(N_l) - E)"
_EQUATION_88: Final = (
    "1/2*(1 - 1/N*trace(tilde_Sigma) + 1/N*sigma_J**2*trace(hat_Sigma)"
    f" - (1 + sigma_J**2)/N*{_SCHUR})"
)

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "82",
        "covariance == E_1 @ tilde_Sigma @ transpose(E_1) + E_1 @ Sigma_cross @ transpose(E_2)"
        " + E_2 @ transpose(Sigma_cross) @ transpose(E_1) + E_2 @ hat_Sigma @ transpose(E_2)",
        _blocks(Fraction(0)),
        Exact(),
        definition=True,
        where="E_1 and E_2 put trained and other components into their places",
    ),
    Claim(
        "83",
        "drift[i] == eta*Sum(Sigma[i, k]*(B[k] - J0[k]), (k, 1, N))",
        _blocks(Fraction(0)),
        Exact(),
        ranges="i = 1..N_l",
        symmetric=("Sigma",),
        regime="the mean over inputs, at any eta",
        where="drift is the mean change of J per unit of alpha",
    ),
    Claim(
        "84",
        f"tilde_J == E @ tilde_J0 + tilde_B @ {_LEARNING} + ({_SHIFT}) @ {_LEARNING}",
        _blocks(Fraction(13, 10)),
        Exact(),
        where="E is the exponential",
        corrected=f"tilde_J == E @ tilde_J0 + {_LEARNING} @ tilde_B + {_LEARNING} @ ({_SHIFT})",
        note="A column cannot stand left of the matrix; the factors belong in the other order.",
    ),
    Claim(
        "85",
        f"tilde_J == tilde_B + {_SHIFT}",
        _blocks(END),
        Exact(),
    ),
    Claim(
        "86",
        "R_1 == 1/N*transpose(J_vector) @ covariance @ B_vector"
        " == 1/N*(transpose(tilde_J) @ tilde_Sigma @ tilde_B"
        " + transpose(tilde_J) @ Sigma_cross @ hat_B"
        " + transpose(hat_J) @ transpose(Sigma_cross) @ tilde_B"
        " + transpose(hat_J) @ hat_Sigma @ hat_B)",
        _blocks(Fraction(13, 10)),
        Exact(),
        part="R",
        printed=0,
        where="R_1 is R^(1); J_vector and B_vector are all components",
    ),
    Claim(
        "86",
        "Q_1 == 1/N*transpose(J_vector) @ covariance @ J_vector"
        " == 1/N*(transpose(tilde_J) @ tilde_Sigma @ tilde_J"
        " + 2*transpose(tilde_J) @ Sigma_cross @ hat_J"
        " + transpose(hat_J) @ hat_Sigma @ hat_J)",
        _blocks(Fraction(13, 10)),
        Exact(),
        part="Q",
        printed=1,
        where="Q_1 is Q^(1); J_vector is all components",
    ),
    Claim(
        "87",
        f"mean_R == 1/N*(trace(tilde_Sigma) + {_SCHUR})",
        _blocks(END),
        Exact(),
        part="R",
        printed=0,
    ),
    Claim(
        "87",
        f"mean_Q == 1/N*(trace(tilde_Sigma) + (1 + sigma_J**2)*{_SCHUR}"
        f" + sigma_J**2*trace(hat_Sigma) - 2*sigma_J**2*{_SCHUR})",
        _blocks(END),
        Exact(),
        part="Q",
        printed=1,
    ),
    Claim("88", f"epsilon_g == {_EQUATION_88}", _blocks(END), Exact(), regime="eta to 0"),
    Claim(
        "88",
        f"epsilon_g == {_EQUATION_88}",
        _small_rates,
        Converges(1.0),
        part="SGD",
        regime="eta to 0: exact mean of SGD with its fluctuations at N = 6 and 4, after 10^6 steps",
    ),
    Claim(
        "after 88",
        f"{_EQUATION_88} == (1 + sigma_J**2)/(2*L)*Sum(lambda_[k], (k, N_l + 1, L))",
        _in_eigenbasis,
        Exact(),
        part="in the eigenbasis",
        printed=0,
        regime="diagonal covariances: the limit of equation 10",
    ),
    Claim(
        "after 88",
        "epsilon_g > (1 + sigma_J**2)/(2*N)*Sum(lambda_[k], (k, N_l + 1, N))",
        _turned,
        Bound(0.999),
        part="lower in the eigenbasis",
        printed=0,
        regime="against the largest N_l eigenvalues; eigenvectors turned by little and by much",
        equal=(("L", "N"),),
    ),
    Claim(
        "after 88",
        "ratio == 2**(-beta)",
        _doubled,
        Converges(1.0),
        part="exponent in the eigenbasis",
        printed=1,
        regime="N_l to 2 N_l, L = N_l^6; the small parameter is 1/N_l",
        where="ratio is the error with 2 N_l over that with N_l trained directions",
    ),
    Claim(
        "after 88",
        "ratio == 2**(-beta)",
        _random_doubled,
        WithinErrorBars(4.0, systematic=0.03),
        part="exponent in random bases",
        printed=1,
        regime="N_l from 16 to 32 to 64 in N = 4000 dimensions, 12 random bases; 3 % are allowed "
        "for the finite sizes",
        where="ratio is the error with 2 N_l over that with N_l trained directions",
    ),
    Claim(
        "after 88",
        "square == 1/N",
        _orthogonal,
        WithinErrorBars(),
        part="random bases",
        printed=2,
        regime="400 of the engine's random bases",
        where="square is the mean of the square of an entry of W",
    ),
)
