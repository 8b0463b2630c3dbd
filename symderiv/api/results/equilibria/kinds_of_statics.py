"""The kinds of an equilibrium, with their arguments and the functions that compute them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from symderiv.api.results.equilibria.possible import BayesOptimal, bayes_optimal_of
from symderiv.api.results.equilibria.risk_minima import RiskMinima, risk_minima_of
from symderiv.api.results.equilibria.statics import Equilibrium, equilibrium_of
from symderiv.foundation.errors import InputError, check_one_of
from symderiv.problem.study import Study

Statics = Equilibrium | BayesOptimal | RiskMinima

_KINDS: dict[str, tuple[Callable[..., Statics], dict[str, Any]]] = {
    "annealed": (equilibrium_of, {"constraint": "sphere", "T": None}),
    "bayes-optimal": (bayes_optimal_of, {"prior": "gaussian", "output": None}),
    "erm": (risk_minima_of, {"ridge": None, "output": None}),
}
"""For each kind the function that computes it, and the arguments of this kind alone with
defaults."""


def statics_of(
    kind: str,
    study: Study,
    alpha: Iterable[float],
    progress: Callable[[float], None],
    **stated: Any,
) -> Statics:
    """Return the equilibrium of one kind; see :meth:`symderiv.Problem.equilibrium`.

    Raises:
        InputError: There is no such kind, or an argument belongs to another one.
    """
    check_one_of("kind", kind, _KINDS)
    compute, own = _KINDS[kind]
    for name in (each for each in stated if each not in own):
        kinds = {other: names for other, (_, names) in _KINDS.items() if name in names}
        value, default = stated[name], next(iter(kinds.values()))[name]
        if value is None or (isinstance(value, str) and value == default):
            continue
        raise InputError(
            f"belongs to {' and '.join(kinds)}, not to {kind}; leave it out", argument=name
        )
    return compute(study, alpha, progress=progress, **{name: stated[name] for name in own})
