"""Means over a batch of cN fresh examples, where weights move by amounts of order one."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from symderiv.foundation.errors import InputError


class BatchMean(sp.Function):  # type: ignore[misc]
    """The mean of an expression over the examples of a step; it occurs only in statements as made.

    As a step is linear in such means, they can be replaced by their arguments.
    """

    nargs = 1
    is_real = True


def of_one_example(
    expression: sp.Expr, is_random: Callable[[sp.Symbol], bool], where: str
) -> sp.Expr:
    """Return an expression that is linear in means over a batch, with the means replaced by one
    example.

    Args:
        expression: The expression as stated.
        is_random: Whether a symbol differs from example to example.
        where: The statement, for messages.

    Raises:
        InputError: It is not linear in such means, or an example occurs outside of them.
    """
    means = expression.atoms(BatchMean)
    places = {mean: sp.Dummy(real=True) for mean in means}
    outside = expression.xreplace(places)
    inside = [mean.args[0] for mean in means]
    symbols = set(places.values())
    curved = any(sp.diff(outside, place).free_symbols & symbols for place in symbols)
    if curved or any(each.has(BatchMean) for each in inside):
        raise InputError(
            f"{where}: a step must be linear in means over a batch; inside another function "
            "write P.average(…), which equals the mean over cN examples"
        )
    for symbol in sorted(outside.free_symbols - symbols, key=str):
        if is_random(symbol):
            raise InputError(
                f"{where}: {symbol} belongs to an example of a batch, but stands outside a mean; "
                "write x.mean(…)"
            )
    return expression.xreplace(dict(zip(means, inside, strict=True)))
