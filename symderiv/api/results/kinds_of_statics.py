"""The kinds of an equilibrium: what each is stated by, and what computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from symderiv.api.results.answer import Answer
from symderiv.api.results.possible import bayes_optimal_of
from symderiv.api.results.risk_minima import risk_minima_of
from symderiv.api.results.statics import equilibrium_of
from symderiv.foundation.errors import InputError

if TYPE_CHECKING:
    from symderiv.problem.study import Study

__all__ = ["statics_of"]

_OF_KIND: dict[str, dict[str, Any]] = {
    "annealed": {"constraint": "sphere", "T": None},
    "bayes-optimal": {"prior": "gaussian", "output": None},
    "erm": {"ridge": None, "output": None},
}
"""What each kind of equilibrium is stated by, and what it is where it is left out."""


def statics_of(
    kind: str,
    study: Study,
    alpha: Iterable[float],
    progress: Callable[[float], None],
    **stated: Any,
) -> Any:
    """Return the equilibrium of a kind; see :meth:`symderiv.Problem.equilibrium`.

    Raises:
        InputError: There is no such kind, or it is not stated by one of these arguments.
    """
    if kind not in _OF_KIND:
        raise InputError(f"{kind!r} is not one of {', '.join(_OF_KIND)}", argument="kind")
    defaults = {name: value for each in _OF_KIND.values() for name, value in each.items()}
    for name, value in stated.items():
        left_out = value is None or (isinstance(value, str) and value == defaults[name])
        if name not in _OF_KIND[kind] and not left_out:
            kinds = " and ".join(other for other, names in _OF_KIND.items() if name in names)
            raise InputError(f"belongs to {kinds}, not to {kind}; leave it out", argument=name)
    of: dict[str, Callable[..., Answer]] = {
        "annealed": equilibrium_of,
        "bayes-optimal": bayes_optimal_of,
        "erm": risk_minima_of,
    }
    own = {name: stated[name] for name in _OF_KIND[kind]}
    return of[kind](study, alpha, progress=progress, **own)
