"""Numbers of single-example learning that are equivalent to small batches and to momentum."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from symderiv.formula import parse_formula
from symderiv.foundation.packing import velocities_in
from symderiv.keys.study_tables import LEARNING_RATES, Training
from symderiv.problem.study import Study

if TYPE_CHECKING:
    import sympy as sp

DECAYS = ("weight_decay", "second_layer_weight_decay")


def exact_rate(rate: float | str) -> sp.Expr:
    """Return the factor of learning rates in a phase: the decimal, or the formula in ``alpha``."""
    import sympy as sp

    if isinstance(rate, str):
        return parse_formula(rate, ("alpha",))
    return sp.Rational(repr(float(rate)))


def equivalent_factors(
    study: Study, in_updates: Iterable[str] = (), *, exact: bool = False
) -> dict[str, Any]:
    """Return factors by which batches and momentum change numbers of single-example learning.

    With these numbers single examples do the same as small batches and heavy-ball momentum. Without
    both, no number is changed.

    Args:
        study: The study that states the batch and the momentum.
        in_updates: Names of numbers of a stated rule that act once in a step, as weight decays do.
        exact: Return expressions for the decimals of the study, and not doubles.
    """
    factors = _rate_factors(study.training, exact=exact)
    kinds = (
        (LEARNING_RATES, "rate"),
        ((*DECAYS, *in_updates), "decay"),
        (("update_noise",), "noise"),
        (("momentum_rate",), "memory"),
    )
    return {name: factors[kind] for names, kind in kinds for name in names if kind in factors}


def velocity_factor(study: Study) -> float:
    """Return the factor by which batches and momentum make the shown velocity larger."""
    return float(_rate_factors(study.training).get("velocity", 1.0))


def shown_factor(study: Study, field: str) -> float:
    """Return the factor by which an array of a state is larger than in vectors of solver modules,
    whose velocities are those of single examples.
    """
    return velocity_factor(study) ** velocities_in(field)


def _rate_factors(training: Training, *, exact: bool = False) -> dict[str, Any]:
    if training.batch is None and training.momentum == 0.0:
        return {}
    given = training.batch, training.momentum, training.momentum_rate is not None
    return _factors_of(*given, exact=exact)


@lru_cache(maxsize=1024)
def _factors_of(
    batch: int | None, momentum: float, velocities: bool, *, exact: bool
) -> dict[str, Any]:
    import sympy as sp

    from symderiv.learning.derivation.equivalent_rates import BATCH, BETA, rate_factors

    factors = rate_factors(
        batches=batch is not None, remembering=momentum > 0.0, velocities=velocities
    )
    # the decimal that was typed: doubles would round 1 - momentum
    numbers = {BATCH: batch or 1, BETA: sp.Rational(repr(momentum))}
    known = {name: sp.sympify(value).subs(numbers) for name, value in vars(factors).items()}
    return known if exact else {name: float(value) for name, value in known.items()}
