r"""Sums over products of one-dimensional rules in the variables themselves.

.. math:: \sum_k c_k \sum \prod_i w_i(x_i)\, x_i^{k_i} \, e^{-x^T P x/2}

The exponential is a product of functions of pairs, so three variables are a product of matrices,
and four are one such product for every node of the fourth.
"""

from __future__ import annotations

from collections.abc import Callable

from flint import arb, arb_mat

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import working_bits
from symderiv.precision.quadrature.component import FactorComponent, Polynomial


def inverse_covariance(component: FactorComponent, bits: int) -> tuple[arb_mat, arb]:
    """Return P = C^-1 and det C of the factors' variables."""
    with working_bits(bits):
        loading = arb_mat(component.loading(bits))
        covariance = loading * loading.transpose()
        return covariance.inv(), covariance.det()


def mean_exp(rate: arb) -> arb:
    """Return E[exp(rate |t|)] of a standard normal t."""
    return (rate * rate / 2).exp() * (1 + (rate / arb(2).sqrt()).erf())


_Rows = list[list[arb]]


def weighted_sum(polynomial: Polynomial, places: _Rows, weights: _Rows, precision: arb_mat) -> arb:
    """Return the sum over all combinations of nodes of one to four variables.

    Args:
        polynomial: Powers of the variables and their coefficients c_k.
        places: x_i, the nodes less the mean.
        weights: Weights times the values of the factor.
        precision: P.
    """
    d = len(places)
    kernels = {(i, j): _kernel(places, precision, i, j) for i in range(d) for j in range(i + 1, d)}
    total = arb(0)
    for powers, coefficient in polynomial.items():
        raised = [
            [w * x**k for w, x in zip(ws, xs, strict=True)] if k else ws
            for k, ws, xs in zip(powers, weights, places, strict=True)
        ]
        if d == 1:
            part = arb(0)
            for x, w in zip(places[0], raised[0], strict=True):
                part = part + w * (-precision[0, 0] * x * x / 2).exp()
        else:
            part = _contracted(raised, kernels)
        total = total + coefficient * part
    return total


def rule_sum(
    component: FactorComponent, row: Callable[[int, arb], tuple[list[arb], list[arb]]], bits: int
) -> arb:
    """Return the value of a product of one-dimensional rules, without the rules' error.

    Args:
        component: What is averaged.
        row: For the number of a variable and its mean: the nodes less the mean, and weights times
            values of the factor; called with the working precision.
        bits: The working precision.

    Raises:
        ToleranceError: A factor could not be evaluated at a node.
    """
    with working_bits(bits):
        means = component.means(bits)
        precision, determinant = inverse_covariance(component, bits)
        places, weights = [], []
        for i, mean in enumerate(means):
            xs, ws = row(i, mean)
            if not all(arb(w).is_finite() for w in ws):
                raise ToleranceError("a factor could not be evaluated at a node")
            places.append(xs)
            weights.append(ws)
        total = weighted_sum(component.in_variables(bits), places, weights, precision)
        return total / ((2 * arb.pi()) ** component.dimension * determinant).sqrt()


def _kernel(places: _Rows, precision: arb_mat, i: int, j: int) -> _Rows:
    """Return exp of the pair's cross term and its share of the squares, at all pairs of nodes."""
    share = 2 * (len(places) - 1)
    a = [-precision[i, i] * x * x / share for x in places[i]]
    b = [-precision[j, j] * y * y / share for y in places[j]]
    cross = [-precision[i, j] * x for x in places[i]]
    return [
        [(u + v + c * y).exp() for v, y in zip(b, places[j], strict=True)]
        for u, c in zip(a, cross, strict=True)
    ]


def _contracted(weights: _Rows, kernels: dict[tuple[int, int], _Rows]) -> arb:
    """Return Σ ∏ weights ∏ kernels over the product of the nodes of two, three or four variables.

    For three, with the nodes of the fourth fixed, Σ_mn K02 (K01 K12) is a product of matrices.
    """
    if len(weights) == 2:
        return _pair(weights[0], kernels[0, 1], weights[1])
    if len(weights) == 3:
        return _triangle(weights, kernels)
    total = arb(0)
    for s, weight in enumerate(weights[3]):
        fixed = [
            [w * row[s] for w, row in zip(weights[i], kernels[i, 3], strict=True)] for i in range(3)
        ]
        total = total + weight * _triangle(fixed, kernels)
    return total


def _pair(left: list[arb], kernel: _Rows, right: list[arb]) -> arb:
    total = arb(0)
    for w, row in zip(left, kernel, strict=True):
        inner = arb(0)
        for k, v in zip(row, right, strict=True):
            inner = inner + k * v
        total = total + w * inner
    return total


def _triangle(weights: _Rows, kernels: dict[tuple[int, int], _Rows]) -> arb:
    middle = weights[1]
    first = arb_mat([[k * v for k, v in zip(row, middle, strict=True)] for row in kernels[0, 1]])
    product = (first * arb_mat(kernels[1, 2])).entries()
    total, place = arb(0), 0
    for w, row in zip(weights[0], kernels[0, 2], strict=True):
        inner = arb(0)
        for k, v in zip(row, weights[2], strict=True):
            inner = inner + product[place] * k * v
            place += 1
        total = total + w * inner
    return total
