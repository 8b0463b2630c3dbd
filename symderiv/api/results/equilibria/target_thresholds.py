"""Exponents and leaps of a target of a few fields, and the threshold of its recovery."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from symderiv.api.results.answer import Answer, Rows
from symderiv.foundation.drawing import drawn
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from symderiv.equilibrium.weak_learning.hermite_tensors import HermiteTensors
    from symderiv.equilibrium.weak_learning.recovery import Exponent, Recovery

_DEGREE = 6


class Thresholds(Answer):
    """Exponents and threshold of a target y = f(z1, …, zr, noise).

    Attributes:
        information_exponent: the smallest n ≥ 1 with E[y He_n(z)] ≠ 0; None if there is none up to
            ``degree``.
        generative_exponent: the smallest n ≥ 1 for which E[He_n(z) | y] is not zero.
        leap: degrees in which directions are found one after the other, each the smallest one given
            the directions before.
        directions: how many directions these leaps find, at most r.
        examples: examples that one-pass SGD of the squared loss needs from a random start: "O(N)",
            "O(N log N)", "O(N^2)", …
        weak_recovery: α_c, examples per dimension above which the best first-order method finds
            something; 0 or infinite as well; None where it is not known.
        closed_form: α_c as text, where it is exact.
        error: the difference of α_c between two quadratures, which is no bound; 0 where it is
            exact.
        decided: by "symbols" or "numbers", for each of the exponents and the leaps.
        y, moments: values of y, or of what it is an increasing function of, and
            E[zzᵀ - 1 | y] there, shape (q, r, r).
        warnings: what limits the result.
    """

    _title = "Thresholds"
    _first = (
        *("target", "information_exponent", "generative_exponent", "leap", "examples"),
        *("weak_recovery", "closed_form", "error"),
    )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw what y tells of products of fields, E[z_i z_j - δ_ij | y].

        Args:
            ax: Matplotlib axes to draw into; None makes new ones.

        Returns:
            The axes.

        Raises:
            InputError: the means given y were not computed, as α_c is 0, infinite or not known.
        """
        if not self._record["y"]:
            raise InputError(
                "has no A(y) to draw: it is known only if the generative exponent is 2 and α_c "
                "is known",
                argument="target",
            )
        return drawn("analysis_plots.equilibrium_plots.moment_axes", self._record, ax)

    def _rows(self) -> Rows:
        record = self._record
        ways = record["decided"]
        rows: list[tuple[str, object]] = [("target", record["target"])]
        for name in ("information_exponent", "generative_exponent", "leap"):
            value = record[name]
            if isinstance(value, list):
                value = ", ".join(map(str, value)) or None
            told = f"none up to {record['degree']}" if value is None else value
            rows.append((name.replace("_", " "), f"{told} (by {ways[name]})"))
        rows.append(("online SGD", record["examples"] or "not known"))
        alpha = record["weak_recovery"]
        if alpha is None:
            shown = "not known"
        elif alpha in (0.0, math.inf):
            shown = "0" if alpha == 0.0 else "no multiple of N suffices"
        else:
            exact = record["closed_form"]
            shown = f"{alpha:.10g}" + (f" = {exact}" if exact else "")
        rows.append(("weak recovery", shown))
        return rows


@public
@following("looking for exponents")
def thresholds(target: Any) -> Thresholds:
    """Return how many examples are needed to find the directions of a target.

    The inputs are standard normal in N dimensions, and the target y is a function of z1, …, zr,
    their projections onto unknown orthonormal directions. If y has closed means, the Gaussian
    calculus and symmetries decide the exponents, otherwise numbers do; the result says which. The
    threshold of weak recovery α_c is that of Troiani, Dandi, Defilippis, Zdeborová, Loureiro and
    Krzakala (2024), 1/α_c = sup ‖E[A(y) M A(y)]‖ over M ⪰ 0 of norm 1 with A(y) = E[zzᵀ - 1 | y].
    Means given y have closed forms for functions of signs; otherwise they are computed by
    quadrature over level sets.

    Args:
        target: a formula in z1, …, zr with r at most 4 (z is z1), and ``noise``, a standard normal
            variable of its own; or a SymPy expression in these names.

    Returns:
        The exponents, and α_c with at least 8 digits if it is not exact.

    Raises:
        InputError: the target is not such a formula.
        NotYetError: the target has more than four fields.

    Example:
        >>> import symderiv as sd
        >>> found = sd.thresholds("sign(z1*z2)")
        >>> found.information_exponent, found.generative_exponent, found.closed_form
        (2, 2, 'pi**2/4')
    """
    from symderiv.equilibrium.weak_learning.hermite_tensors import HermiteTensors
    from symderiv.equilibrium.weak_learning.recovery import (
        Exponent,
        generative_exponent,
        weak_recovery,
    )
    from symderiv.equilibrium.weak_learning.stated_target import read_target

    read = read_target(target)
    tensors = HermiteTensors(read, _DEGREE)
    _, directions = tensors.leaps
    warnings = []
    recovery: Recovery | None = None
    exponent = Exponent(None, False)
    try:
        exponent = generative_exponent(read, _DEGREE)
        recovery = weak_recovery(read, exponent)
    except NotYetError as error:
        warnings.append(error.reason)
    if directions < len(read.fields):
        warnings.append(
            f"{len(read.fields) - directions} directions have no coefficient up to degree {_DEGREE}"
        )
    record = {
        "target": str(target),
        "fields": len(read.fields),
        **_degrees(tensors, exponent),
        **_recovered(recovery),
        "warnings": warnings,
    }
    return Thresholds(record)


def _degrees(tensors: HermiteTensors, exponent: Exponent) -> dict[str, Any]:
    """Return exponents, leaps, their consequence for SGD, and how each was decided."""
    leaps, directions = tensors.leaps
    way = "symbols" if tensors.exact else "numbers"
    return {
        "degree": _DEGREE,
        "information_exponent": tensors.information_exponent,
        "generative_exponent": exponent.value,
        "leap": leaps,
        "directions": directions,
        "examples": _examples(leaps),
        "decided": {
            "information_exponent": way,
            "generative_exponent": "symbols" if exponent.by_symbols else "numbers",
            "leap": way,
        },
    }


def _recovered(recovery: Recovery | None) -> dict[str, Any]:
    """Return the threshold of weak recovery with the curve behind it, or None for each."""
    if recovery is None:
        return {"weak_recovery": None, "closed_form": None, "error": None, "y": [], "moments": []}
    y, moments = ([], []) if recovery.curve is None else (each.tolist() for each in recovery.curve)
    return {
        "weak_recovery": recovery.alpha,
        "closed_form": None if recovery.closed is None else str(recovery.closed),
        "error": recovery.error,
        "y": y,
        "moments": moments,
    }


def _examples(leaps: list[int]) -> str | None:
    """Return the order of the number of examples that one-pass SGD needs, from the largest leap."""
    if not leaps:
        return None
    largest = max(leaps)
    return {1: "O(N)", 2: "O(N log N)"}.get(largest, f"O(N^{largest - 1})")
