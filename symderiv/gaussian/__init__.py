"""Gaussian calculus: expectations of products of one-variable functions of Gaussian fields."""

from __future__ import annotations

from symderiv.gaussian.distributions import derivative
from symderiv.gaussian.engine import DerivedExpectation, expectation
from symderiv.gaussian.forms.evaluate import Value
from symderiv.gaussian.functions import OwenT, SignMean4
from symderiv.gaussian.student_integrals import (
    i2,
    i3,
    i4,
    integrand,
)
from symderiv.gaussian.terms.covariance import covariance_symbols
from symderiv.gaussian.terms.existence import Existence, existence

__all__ = [
    "DerivedExpectation",
    "Existence",
    "OwenT",
    "SignMean4",
    "Value",
    "covariance_symbols",
    "derivative",
    "existence",
    "expectation",
    "i2",
    "i3",
    "i4",
    "integrand",
]
