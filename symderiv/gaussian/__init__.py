"""Gaussian calculus: expectations of products of one-variable functions of Gaussian fields.

The names below are imported when they are first used, so that a caller who only evaluates a closed
form does not load the code that derives one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from symderiv.gaussian.distributions import derivative as derivative
    from symderiv.gaussian.engine import DerivedExpectation as DerivedExpectation
    from symderiv.gaussian.engine import expectation as expectation
    from symderiv.gaussian.forms.evaluate import Value as Value
    from symderiv.gaussian.functions import OwenT as OwenT
    from symderiv.gaussian.functions import SignMean4 as SignMean4
    from symderiv.gaussian.student_integrals import i2 as i2
    from symderiv.gaussian.student_integrals import i3 as i3
    from symderiv.gaussian.student_integrals import i4 as i4
    from symderiv.gaussian.student_integrals import integrand as integrand
    from symderiv.gaussian.terms.covariance import covariance_symbols as covariance_symbols
    from symderiv.gaussian.terms.existence import Existence as Existence
    from symderiv.gaussian.terms.existence import existence as existence

_HOMES = {
    "DerivedExpectation": "engine",
    "Existence": "terms.existence",
    "OwenT": "functions",
    "SignMean4": "functions",
    "Value": "forms.evaluate",
    "covariance_symbols": "terms.covariance",
    "derivative": "distributions",
    "existence": "terms.existence",
    "expectation": "engine",
    "i2": "student_integrals",
    "i3": "student_integrals",
    "i4": "student_integrals",
    "integrand": "student_integrals",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
