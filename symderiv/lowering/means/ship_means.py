"""Writes the code of means by quadrature that comes with the package.

python -m symderiv.lowering.means.ship_means
"""

from __future__ import annotations

from symderiv.compiled_code.translation.ir_function import function_text
from symderiv.compiled_code.translation.module_source import module_names
from symderiv.compiled_code.translation.shipped_parts import ship_parts
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means.quadrature_means import Quadrature

_RULE, _MATRIX, _CUBE = (("array", "f", size, True) for size in (1, 2, 3))


def _of(count: int) -> tuple[object, ...]:
    """Return kinds of what a mean of so many factors takes."""
    sizes = (count, "i"), (count * (count + 1) // 2, "f"), (count, "f")
    return _RULE, *(("tuple", (kind,) * size) for size, kind in sizes)


KINDS = {
    "_mean_of_2": _of(2),
    "_mean_of_4": _of(4),
    "_means_of_pair": (_RULE, _MATRIX, _RULE, ("tuple", ("i",) * 3), _CUBE, _RULE),
}
"""The functions and what they are called with."""


def text_of_means() -> str:
    """Return a module that has them, of any analytic activation."""
    return Quadrature(learning_problem("softplus"), 1e-6).text


if __name__ == "__main__":
    names = module_names(text_of_means())
    ship_parts({kinds: names[name] for name, kinds in KINDS.items()}, function_text)
