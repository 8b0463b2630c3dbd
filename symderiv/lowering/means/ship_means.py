"""Write the code of means by quadrature that comes with the package.

python -m symderiv.lowering.means.ship_means
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from symderiv.compiled_code.translation.ir_function import function_text
from symderiv.compiled_code.translation.module_source import module_names
from symderiv.compiled_code.translation.shipped_parts import ship_parts
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import PLAIN
from symderiv.lowering.means.compiled_means import _KINDS, RULE
from symderiv.lowering.means.quadrature_means import Quadrature

_FIELDS = ["<f8 2", "<f8 2", "<f8 2", "<f8 1", "<f8 1"]
_MORE = {
    "_noise_means": (RULE, _FIELDS, ["<f8 4", "<f8 4", "<f8 4", "<f8 2"]),
    "_pair_means": (RULE, _FIELDS, *(["<f8 2"] * count for count in (3, 2, 2))),
    "_polar_products": (RULE, ["int64"] * 2, ["double"] * 3),
    "_mean_at": (RULE, "int64", "double", ["double"] * 3, ["double"] * 2),
}
_ASKED = {
    ("softplus", False): (
        *("_mean_of_2", "_mean_of_4", "_series", "_means_of_pair"),
        *("_noise_means", "_pair_means"),
    ),
    ("Max(-1,Min(1,x))", False): ("_line_mean_of_2", "_means_of_plane", "_mean_at"),
    ("x/(1+Abs(x))", False): ("_polar_mean_of_2", "_polar_products"),
    ("Max(-1,Min(1,x))", True): ("_kinked_mean_of_2", "_kinked_mean_of_4"),
}


def _kind(word: Any) -> object:
    """Return a kind of arguments as the translator has it."""
    if isinstance(word, list):
        return "tuple", tuple(map(_kind, word))
    item, _, size = word.partition(" ")
    letter = "f" if item in ("<f8", "double") else "i"
    return ("array", letter, int(size), True) if size else letter


KINDS = {
    which: {name: tuple(map(_kind, (_KINDS | _MORE)[name])) for name in names}
    for which, names in _ASKED.items()
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
