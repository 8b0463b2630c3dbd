"""A computation done twice, the second time with more digits; digits that agree are the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from flint import arb

from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.working import bits_of, working_bits

_ATTEMPTS: Final = 4
# The second computation has this many digits more, or a tenth more if that is more.
_MORE: Final = 15


@dataclass(frozen=True)
class Agreed:
    """Numbers on which two computations agree.

    Attributes:
        values: The second computation's balls.
        digits_used: Digits of the first computation.
        agreement: Decimal digits, relative, to which the two agree for every value; at most the
            accuracy of the first computation's balls.
    """

    values: tuple[arb, ...]
    digits_used: int
    agreement: int


def computed_twice(
    compute: Callable[[], Sequence[arb]], working: int, digits: int, *, fixed: bool = False
) -> Agreed:
    """Compute twice, the second time with more digits, and repeat with more until enough digits
    agree.

    Args:
        compute: Returns balls; called under the precision to work with.
        working: Decimal digits of the first attempt.
        digits: Decimal digits in which all values must agree.
        fixed: Make only one attempt.

    Raises:
        ToleranceError: Fewer digits agree, at the last attempt.
    """
    agreement = 0
    reason = ""
    for _ in range(1 if fixed else _ATTEMPTS):
        more = working + max(_MORE, working // 10)
        try:
            with working_bits(bits_of(working)):
                first = compute()
            with working_bits(bits_of(more)):
                second = compute()
                agreement = min(
                    (_agreeing(one, two, more) for one, two in zip(first, second, strict=True)),
                    default=more,
                )
            reason = ""
        except ToleranceError as error:
            # the computation itself found that it has too few digits
            agreement, reason = 0, f" ({error})"
        if agreement >= digits:
            return Agreed(tuple(second), working, min(agreement, working))
        working += max(2 * (digits - agreement), working // 2)
    raise ToleranceError(
        f"only {agreement} of {digits} digits agree between two computations, the second with "
        f"{more} digits{reason}; ask for fewer digits or let the working digits be chosen"
    )


def _agreeing(one: arb, two: arb, most: int) -> int:
    """Return the digits to which two midpoints agree, at most the accuracy of the first ball."""
    if not (one.is_finite() and two.is_finite()):
        return 0
    difference = abs(one.mid() - two.mid())
    if difference.is_zero():
        relative = most
    elif two.mid().is_zero():
        return 0
    else:
        ratio = difference / abs(two.mid())
        relative = int(float(-(ratio.log() / arb(10).log()).mid()))
    sure = most if one.is_exact() else math.floor(one.rel_accuracy_bits() * math.log10(2))
    return max(0, min(relative, sure))
