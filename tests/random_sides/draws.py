"""Random functions in place of what the names of a statement stand for.

What a name is follows from how the statement uses it: a number, a quantity with indices, a function
of its arguments, or an integer where it is an index or the end of a range. Each draw gives every
name another function of the same arguments; names that the claim calls symmetric, equal or diagonal
are drawn so.
"""

import ast
import random
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from symderiv_ledger.claims.abbreviations import FUNCTIONS
from symderiv_ledger.claims.claim import Claim
from symderiv_ledger.claims.statement import BINDERS, Relation, parse_ranges
from symderiv_ledger.rules.arithmetic import Indexed

__all__ = [
    *("ANY", "LARGE", "SMALL", "RandomFunction", "RandomIndexed", "quantities_of", "random_values"),
    *("randomised", "sizes_of"),
]

#: Functions of the language itself, whose arguments are numbers or matrices.
_LANGUAGE: Final = {
    *BINDERS, *FUNCTIONS, "delta", "If", "Max", "Min", "Matrix", "Vector", "transpose", "inverse",
    "det", "trace", "kron", "identity", "expm", "floor", "factorial", "binomial", "bernoulli",
    "erfc", "tanh", "cosh", "sinh",
}  # fmt: skip
_OF_INTEGERS: Final = {"factorial", "binomial", "bernoulli", "identity"}
_CONSTANTS: Final = {"pi", "oo"}
#: A draw is positive and below one, so that roots and arc functions have values, any number, or
#: above one, for roots of what is less by one.
SMALL, ANY, LARGE = "small", "any", "large"
_SCALES: Final = {SMALL: (7, 11), ANY: (18, 0), LARGE: (7, 31)}


class RandomFunction:
    """A smooth function of numbers, another one for every name and seed.

    Args:
        name: What it stands for.
        seed: Of the draw.
        numbers: The arithmetic.
        kind: ``"small"`` (values in (0.2, 0.9)), ``"any"`` (either sign, below 1) or ``"large"``
            (in (1.2, 1.9)).
    """

    def __init__(self, name: str, seed: int, numbers: Any, kind: str = SMALL) -> None:
        self.name, self.seed, self.numbers, self.kind = name, seed, numbers, kind

    def __call__(self, *arguments: Any) -> Any:
        generator = random.Random(f"{self.name} {self.seed} {len(arguments)}")
        found = self.numbers.mpf(generator.uniform(-1, 1))
        wave = self.numbers.mpf(0)
        for argument in arguments:
            frequency = self.numbers.mpf(generator.uniform(0.7, 2.3))
            wave = wave + frequency * argument + generator.uniform(0, 6)
            found = found + self.numbers.sin(wave)
        return self._scaled(found / (1 + len(arguments)))

    def _scaled(self, value: Any) -> Any:
        """From (-1, 1) to the range of the kind."""
        factor, shift = _SCALES[self.kind]
        return (value * factor + shift) / 20


class RandomIndexed(Indexed):
    """Numbers by name and indices, of any index there may be.

    Args:
        function: Gives a number for a name with indices.
        symmetric: Whether the order of the indices does not matter.
        diagonal: Whether entries with different indices vanish.
    """

    def __init__(
        self, function: RandomFunction, *, symmetric: bool = False, diagonal: bool = False
    ) -> None:
        super().__init__(None)
        self.function, self.symmetric, self.diagonal = function, symmetric, diagonal

    def __getitem__(self, indices: tuple[int, ...]) -> Any:
        numbers = self.function.numbers
        if self.diagonal and len(set(indices)) > 1:
            return numbers.mpf(0)
        # the last two indices are those of units
        pair = sorted(indices[-2:]) if self.symmetric else list(indices[-2:])
        place = (*indices[:-2], *pair)
        of_place = f"{self.function.name}{place}"
        value = RandomFunction(of_place, self.function.seed, numbers, self.function.kind)()
        if self.symmetric and len(pair) == 2:
            # far from singular
            return value + 1 if pair[0] == pair[1] else value / 3
        return value


def sizes_of(statement: Relation, ranges: str) -> set[str]:
    """Names that stand for integers: in ranges, as indices, as arguments that must be whole."""
    found: set[str] = set()

    def names(node: ast.AST) -> None:
        found.update(part.id for part in ast.walk(node) if isinstance(part, ast.Name))

    for node in ast.walk(statement.tree):
        if isinstance(node, ast.Subscript):
            names(node.slice)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in ("Sum", "Product"):
                for part in node.args[1:]:
                    if isinstance(part, ast.Tuple):
                        names(part)
            elif node.func.id in _OF_INTEGERS or node.func.id == "delta":
                for part in node.args:
                    names(part)
            elif node.func.id == "Derivative":
                for part in node.args[2:]:
                    names(part)
    for index in parse_ranges(ranges):
        names(index.first)
        names(index.last)
        found.add(index.name)
    bound = _bound(statement) | {index.name for index in parse_ranges(ranges)}
    return found - bound - _CONSTANTS - _called(statement) - _subscripted(statement)


def _bound(statement: Relation) -> set[str]:
    found = set()
    for node in ast.walk(statement.tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in BINDERS:
            firsts = [part.elts[0] for part in node.args[1:] if isinstance(part, ast.Tuple)]
            found |= {name.id for name in firsts if isinstance(name, ast.Name)}
    return found


def _called(statement: Relation) -> set[str]:
    return {
        node.func.id
        for node in ast.walk(statement.tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def _subscripted(statement: Relation) -> set[str]:
    return {
        node.value.id
        for node in ast.walk(statement.tree)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name)
    }


def quantities_of(statement: Relation, ranges: str) -> set[str]:
    """All names that a statement takes from its points: no indices, no functions of numbers."""
    heads = {
        id(node.func)
        for node in ast.walk(statement.tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _LANGUAGE
    }
    found = {
        node.id
        for node in ast.walk(statement.tree)
        if isinstance(node, ast.Name) and id(node) not in heads
    }
    free = {index.name for index in parse_ranges(ranges)}
    return found - _CONSTANTS - _bound(statement) - free


def random_values(
    claim: Claim, statement: Relation, seed: int, numbers: Any, kind: str
) -> Mapping[str, Any]:
    """A random function for every name of a statement.

    Args:
        claim: Says which names are symmetric, equal or diagonal, and which indices are free.
        statement: Of it.
        seed: Of the draw.
        numbers: The arithmetic.
        kind: ``"small"``, ``"any"`` or ``"large"``, see :class:`RandomFunction`.
    """
    called, entries = _called(statement) - _LANGUAGE, _subscripted(statement)
    alone = quantities_of(statement, claim.ranges)
    same = dict(claim.equal)
    values: dict[str, Any] = {}
    sizes = sizes_of(statement, claim.ranges)
    for size, name in enumerate(sorted({same.get(name, name) for name in sizes}), start=2):
        values[name] = size
    for name in sorted(alone - sizes):
        function = RandomFunction(same.get(name, name), seed, numbers, kind)
        if name in entries:
            values[name] = RandomIndexed(
                function, symmetric=name in claim.symmetric, diagonal=name in claim.diagonal
            )
        elif name in called:
            values[name] = function
        else:
            values[name] = function()
    return values | {name: values[same[name]] for name in sizes & set(same) if same[name] in values}


def randomised(
    claim: Claim,
    statement: Relation,
    values: Mapping[str, Any],
    seed: int,
    numbers: Any,
    kind: str,
) -> Mapping[str, Any]:
    """A random function for every name, of the kind that its value at a point has.

    Where a statement does not show what its names are (matrices), the point does.

    Args:
        claim, statement, seed, numbers, kind: As for :func:`random_values`.
        values: At the point.
    """
    drawn = dict(random_values(claim, statement, seed, numbers, kind))
    drawn |= {name: values[name] for name in _LANGUAGE & set(values)}
    sizes = sizes_of(statement, claim.ranges)
    for name in quantities_of(statement, claim.ranges):
        if name not in values:
            continue
        value = values[name]
        if isinstance(value, int) or name in sizes:
            drawn[name] = value
        else:
            drawn[name] = _like(value, name, drawn.get(name), seed, numbers, kind)
    return drawn


def _like(value: Any, name: str, drawn: Any, seed: int, numbers: Any, kind: str) -> Any:
    if hasattr(value, "rows"):
        return _matrix_like(value, name, seed, numbers, kind)
    if isinstance(value, Indexed):
        return _IndexedLike(value, name, drawn, seed, numbers, kind)
    if callable(value):
        return lambda *given: _like(value(*given), f"{name}{given}", None, seed, numbers, kind)
    if not hasattr(value, "__float__"):
        return value  # the name of a field, say: an argument, no function
    return RandomFunction(name, seed, numbers, kind)() if drawn is None else drawn


class _IndexedLike(Indexed):
    """Random entries, matrices where the point has matrices."""

    def __init__(
        self, value: Indexed, name: str, drawn: Any, seed: int, numbers: Any, kind: str
    ) -> None:
        super().__init__(None)
        self.value, self.name, self.drawn = value, name, drawn
        self.how = (seed, numbers, kind)

    def __getitem__(self, indices: tuple[int, ...]) -> Any:
        value = self.value[indices]
        if self.drawn is None or not hasattr(value, "__float__"):
            return _like(value, f"{self.name}{indices}", None, *self.how)
        return self.drawn[indices]


def _matrix_like(value: Any, name: str, seed: int, numbers: Any, kind: str) -> Any:
    """Random entries; a symmetric matrix stays symmetric."""
    rows, columns = value.rows, value.cols
    doubles = getattr(value, "values", None)  # a matrix of doubles of its own class
    entry = value.__getitem__ if doubles is None else doubles.__getitem__
    symmetric = rows == columns and all(
        entry((i, j)) == entry((j, i)) for i in range(rows) for j in range(i)
    )
    entries = RandomIndexed(RandomFunction(name, seed, numbers, kind), symmetric=symmetric)
    found = [[entries[(i, j)] for j in range(columns)] for i in range(rows)]
    if doubles is None:
        return numbers.matrix(found)
    return type(value)(np.array(found, dtype=float))
