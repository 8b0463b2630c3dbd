"""Gaussian means as an extension of the code generator."""

from __future__ import annotations

import inspect
from types import MappingProxyType
from typing import Final

import sympy as sp
from symderiv_codegen import Extension, Library, Many
from sympy.core.sorting import default_sort_key

from symderiv.numerics import nodes, templates
from symderiv.numerics.conditionals import FUNCTIONS_OF_VECTORS, through_vectors
from symderiv.numerics.digits import (
    owens_t_mpmath,
    shifted_signs_mpmath,
    sign_mean4_mpmath,
    waves_mpmath,
)
from symderiv.numerics.portable import portable
from symderiv.numerics.quadratures import (
    across_mean,
    all_forces,
    bounded,
    force_mean,
    joint_mean,
    kink_terms,
    kinked_mean,
    lattice_mean,
    line_mean,
    noise_mean,
    pair_series,
    plane_lines,
    plane_mean,
    polar_mean,
    smooth_mean,
    smoothed,
    tensor_mean,
)
from symderiv.numerics.signs import (
    fields,
    lane_signs,
    owens_t,
    plain,
    shifted_signs,
    sign_covariances,
    sign_mean4,
    waves,
)
from symderiv.numerics.special_slopes import DERIVATIVES

DOUBLES: Final = (
    *(sign_mean4, fields, waves, owens_t, shifted_signs),
    *(tensor_mean, noise_mean, kinked_mean),
    *(kink_terms, polar_mean, line_mean, plane_mean),
    *(force_mean, lattice_mean, all_forces, joint_mean),
)
"""The texts for doubles, in the order in which they are pasted; each may use those before it."""
OF_MANY: Final = (
    *(nodes, sign_covariances, bounded, smooth_mean),
    *(plane_lines, smoothed, across_mean, pair_series),
)
"""Texts of functions over arrays, in which products and sums may be fused (multiply-add)."""
LANES: Final = (lane_signs,)
"""The texts for several runs at a time; of functions with one name the last counts."""
MULTIPRECISION: Final = (sign_mean4_mpmath, waves_mpmath, owens_t_mpmath, shifted_signs_mpmath)
"""The texts of functions that take an mpmath context."""

_SPECIAL: Final = {
    "SignMean4": "sign_mean4",
    "Dawson": "_dawson",
    "TiltedSigns": "_tilted_signs",
    "ExpDifference": "_exp_difference",
    "OwenT": "_owen_t",
    "ShiftedSigns": "_shifted_signs",
}
_IN_SUMS: Final = {"MeanSign": "_mean_sign", "SignCovariance": "_sign_covariance"}
_OF_NUMBERS: Final = {
    "Decay": "_decay",
    "Saturation": "_saturation",
    "Gate": "_gate",
    "Ramp": "_ramp",
}


class MeanSign(sp.Function):  # type: ignore[misc]
    """The mean sign E[sgn(x + h)] for a standard normal x."""

    nargs = 1


class SignCovariance(sp.Function):  # type: ignore[misc]
    """The covariance of sgn(x + h) and sgn(y + k), symmetric in h and k."""

    nargs = 3

    @classmethod
    def eval(cls, h: sp.Expr, k: sp.Expr, r: sp.Expr) -> sp.Expr | None:
        """Put h and k into canonical order, because the function is symmetric in them."""
        return cls(k, h, r) if default_sort_key(k) < default_sort_key(h) else None


def _signs_apart(value: sp.Expr) -> sp.Expr:
    """Write means of two signs as product of the single means plus covariance.

    The single means depend on one index each, so that loops over pairs need not compute them.
    """

    def apart(call: sp.Function) -> sp.Expr:
        h, k, r = call.args
        return MeanSign(h) * MeanSign(k) + SignCovariance(h, k, r)

    if not any(type(call).__name__ == "ShiftedSigns" for call in value.atoms(sp.Function)):
        return value
    return value.replace(lambda call: type(call).__name__ == "ShiftedSigns", apart)


GAUSSIAN: Final = Extension(
    name="Gaussian means",
    doubles=Library(
        functions=MappingProxyType({**_SPECIAL, **_IN_SUMS, **_OF_NUMBERS, **FUNCTIONS_OF_VECTORS}),
        texts=(*map(inspect.getsource, DOUBLES), *templates.templates()),
        plain=inspect.getsource(plain),
        lanes="\n\n".join(map(inspect.getsource, LANES)),
        many=tuple(map(inspect.getsource, OF_MANY)),
        together=MappingProxyType(
            {
                "MeanSign": Many("_mean_signs", "mean_signs", 8),
                "SignCovariance": Many("_sign_covariances", "signs", 8, arguments=3, scratch=1),
            }
        ),
        in_sums=_signs_apart,
    ),
    multiprecision=Library(
        functions=MappingProxyType({name: f"{own}_mpmath" for name, own in _SPECIAL.items()}),
        texts=tuple(map(inspect.getsource, MULTIPRECISION)),
    ),
    portable=portable,
    restated=through_vectors,
    derivatives=DERIVATIVES,
)
