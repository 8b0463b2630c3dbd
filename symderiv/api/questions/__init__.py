"""Questions about Gaussian expectations, each answered by one call.

``mean``, ``integral`` (``i2``, ``i3``, ``i4``) and ``check`` take texts, symbols, fractions, floats
and arrays, choose between closed form, quadrature and refusal, and return a result that shows
itself. The commands ``expect``, ``integral`` and ``check`` make these calls.
"""

from __future__ import annotations

from symderiv.api.questions.expectation import Expectation
from symderiv.api.questions.formula import FormulaCheck, check
from symderiv.api.questions.means import MAX_DIGITS, i2, i3, i4, integral, mean

__all__ = [
    "MAX_DIGITS",
    "Expectation",
    "FormulaCheck",
    "check",
    "i2",
    "i3",
    "i4",
    "integral",
    "mean",
]
