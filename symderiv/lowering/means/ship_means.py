"""Write the code of means by quadrature that comes with the package.

python -m symderiv.lowering.means.ship_means
"""

from __future__ import annotations

from dataclasses import replace

from symderiv.compiled_code.translation.ir_function import function_text
from symderiv.compiled_code.translation.module_source import module_names
from symderiv.compiled_code.translation.shipped_parts import ship_parts
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import PLAIN
from symderiv.lowering.means.quadrature_means import Quadrature

_RULE, _MATRIX, _CUBE, _FOUR = (("array", "f", size, True) for size in (1, 2, 3, 4))
_FIELDS = ("array", "i", 1, True)
_MOMENTS = ("tuple", (_MATRIX, _MATRIX, _MATRIX, _RULE, _RULE))
_PAIR = ("tuple", ("i", "i"))


def _of(count: int) -> tuple[object, ...]:
    """Return the argument types of a mean of ``count`` factors."""
    sizes = (count, "i"), (count * (count + 1) // 2, "f"), (count, "f")
    return _RULE, *(("tuple", (kind,) * size) for size, kind in sizes)


_SMOOTH = {
    "_mean_of_2": _of(2),
    "_mean_of_4": _of(4),
    "_series": (_RULE, ("array", "i", 2, True), _MATRIX, _MATRIX, _RULE),
    "_means_of_pair": (_RULE, _MATRIX, _RULE, ("tuple", ("i",) * 3), _CUBE, _RULE),
    "_noise_means": (_RULE, _MOMENTS, ("tuple", (_FOUR, _FOUR, _FOUR, _MATRIX))),
    "_pair_means": (_RULE, _MOMENTS, *(("tuple", (_MATRIX,) * count) for count in (3, 2, 2))),
}
_PLANE = {
    "_line_mean_of_2": _of(2),
    "_means_of_plane": (_RULE, _FIELDS, _PAIR, _PAIR, _MATRIX, _CUBE, _RULE, "i"),
    "_mean_at": (_RULE, "i", "f", *_of(2)[2:]),
}
_PANELS = {"_kinked_mean_of_2": _of(2), "_kinked_mean_of_4": _of(4)}
KINDS = {
    ("softplus", False): _SMOOTH,
    ("Max(-1,Min(1,x))", False): _PLANE,
    ("x/(1+Abs(x))", False): {
        "_polar_mean_of_2": _of(2),
        "_polar_products": (_RULE, _PAIR, ("tuple", ("f",) * 3)),
    },
    ("Max(-1,Min(1,x))", True): _PANELS,
}
"""The functions with their argument types, by an activation that needs them and whether units have
biases; any other activation of that family would do.
"""


def text_of_means(activation: str, biased: bool) -> str:
    """Return a module of means of an activation, with the rule as an argument."""
    rule = replace(PLAIN, biases=biased)
    return Quadrature(learning_problem(activation, rule=rule), 1e-2).text


if __name__ == "__main__":
    made = []
    for which, functions in KINDS.items():
        names = module_names(text_of_means(*which))
        made += [(names[name], kinds) for name, kinds in functions.items()]
    ship_parts(made, function_text)
