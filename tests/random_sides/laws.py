"""Random laws in place of the means of statements about random variables.

A mean is linear, and conditional means, regressions and gated inputs are made of it and of the
variables. So a law is drawn at random, and every variable as a function of the outcome that has
nothing to do with the others; what the points make of them (their own functions are called) is
made of the random ones too. A claim that holds then says nothing about any law or network.
"""

from collections import ChainMap
from collections.abc import Callable, Mapping
from typing import Any, Final

from symderiv_ledger.claims.claim import Claim, Point
from symderiv_ledger.rules.arithmetic import Indexed
from symderiv_papers.relu_localization.populations import FiniteClasses, Tabled
from symderiv_papers.relu_localization.single_unit import _split as split_by_class
from symderiv_papers.relu_localization.splits import with_one_constraint, with_two_constraints

from random_sides.draws import RandomFunction, RandomIndexed

__all__ = ["Law", "law_of"]

#: Values of the names of a draw, its seed and the arithmetic; gives the values with a random law.
Law = Callable[[Mapping[str, Any], int, Any], Mapping[str, Any]]
_OUTCOMES: Final = 7
_SIZE: Final = 2


def law_of(paper: str, claim: Claim) -> Law | None:
    """The random law for a claim about random variables; None for statements about numbers."""
    if paper != "relu-localization-notes":
        return None
    module, _, function = claim.tried_at.partition("(")[0].rpartition(".")
    module = module.rpartition(".")[2]
    if module == "gated":
        return _gated
    if module == "single_unit":
        return _one_unit
    if module in ("flow", "gates") or (module == "references" and "points" in function):
        return _any
    if module == "constrained":
        return _one_constraint if function.startswith("one") else _two_constraints
    return None


class _Drawn:
    """Variables on the outcomes of two populations."""

    def __init__(self, seed: int, numbers: Any) -> None:
        self.seed, self.numbers = seed, numbers
        outcomes = range(_OUTCOMES)
        self.classes = FiniteClasses(outcomes, [-1 - each for each in outcomes], numbers)

    def variable(self, name: str) -> Tabled:
        function = RandomFunction(name, self.seed, self.numbers, "any")
        return self.classes.variable(function)

    def indexed(self, name: str, count: int) -> Indexed:
        return Indexed([self.variable(f"{name}[{k}]") for k in range(count)], (1, count))

    def of_variables(self, name: str) -> Callable[[Tabled], Tabled]:
        """A random function in place of a step or a ReLU."""
        return lambda variable: variable.map(RandomFunction(name, self.seed, self.numbers))

    def regression(self, name: str) -> Callable[..., Tabled]:
        """A variable that has nothing to do with what it is the mean of."""
        return lambda *variables: self.variable(f"{name} {len(variables)}")


def _any(values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    drawn = _Drawn(seed, numbers)
    classes = drawn.classes
    opened = drawn.of_variables("theta")
    sizes = dict.fromkeys(("K", "n"), _SIZE)
    ones, zeros = ([numbers.mpf(value)] * _OUTCOMES for value in (1, 0))

    def given(variable: Tabled, event: Tabled) -> Any:
        return classes.mean(variable * event) / classes.mean(event)

    law = {
        **sizes, "X": drawn.indexed("X", _SIZE), "T": drawn.indexed("T", _SIZE),
        "S": drawn.variable("S"), "Snext": drawn.variable("Snext"),
        "Slast": drawn.variable("Slast"), "Y": Tabled(ones, zeros),
        "theta": opened, "opened": opened, "relu": drawn.of_variables("relu"),
        "E": classes.mean, "E1": classes.mean1, "E0": classes.mean0, "P": classes.mean,
        "P1": classes.mean1, "E1given": classes.given1, "E1of": drawn.regression("E1of"),
        "Egiven": given,
    }  # fmt: skip
    for name in ("w", "Sigma1", "Sigma0"):
        law[name] = RandomIndexed(RandomFunction(name, seed, numbers), symmetric=name != "w")
    return ChainMap(law, dict(values))


def _with(made: Any, values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    (point,) = made([Point("", _any(values, seed, numbers))], numbers)
    found: Mapping[str, Any] = point.values
    return found


def _one_constraint(values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    return _with(with_one_constraint, values, seed, numbers)


def _two_constraints(values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    return _with(with_two_constraints, values, seed, numbers)


def _one_unit(values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    return split_by_class(_any(values, seed, numbers), numbers)


def _gated(values: Mapping[str, Any], seed: int, numbers: Any) -> Mapping[str, Any]:
    base = _any(values, seed, numbers)
    drawn, mean = _Drawn(seed, numbers), base["E"]
    gates = drawn.indexed("gate", _SIZE)
    inputs = [
        gates[(k,)] * base["X"][(i,)] for k in range(1, _SIZE + 1) for i in range(1, _SIZE + 1)
    ]
    size = len(inputs)
    rows = numbers.matrix([[mean(f * g) for g in inputs] for f in inputs])
    inverse = numbers.inverse(rows)
    whole = (1, size)
    made = {
        "gate": gates, "D": size, "XT": Indexed(inputs, whole),
        "A": Indexed(rows, whole, whole), "Ainv": Indexed(inverse, whole, whole),
        "b": Indexed([mean(f * base["Y"]) for f in inputs], whole),
    }  # fmt: skip
    return ChainMap(made, base)  # type: ignore[arg-type]
