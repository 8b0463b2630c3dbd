"""The values of expression trees, by one walk for all kinds of numbers.

A domain says for each node which function it is, and of which other nodes; the walk does the rest.
Equal nodes are computed once, and a compiled walk can be run again for other values of names. Trees
are SymPy's, or those of formulas that SymPy has not seen. Domains are doubles, numbers of mpmath,
balls, bounds and SymPy's expressions.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol

Meaning = tuple[Callable[..., Any], Sequence[Any]]
"""A function, and the nodes whose values are its arguments."""


class Domain(Protocol):
    """A kind of numbers in which trees are evaluated."""

    def meaning(self, node: Any) -> Meaning:
        """Return a node's function and arguments; without arguments it is computed once for all
        runs.
        """


def value_of(tree: Hashable, domain: Domain, known: Mapping[Any, Any]) -> Any:
    """Return the value of a tree in which the nodes ``known`` have these values."""
    return values_of([tree], domain, known)[0]


def values_of(trees: Iterable[Hashable], domain: Domain, known: Mapping[Any, Any]) -> list[Any]:
    """Return :func:`value_of` of several trees, with common nodes computed once."""
    values = dict(known)

    def value(node: Any) -> Any:
        if node not in values:
            function, parts = domain.meaning(node)
            values[node] = function(*[value(part) for part in parts])
        return values[node]

    return [value(tree) for tree in trees]


def compiled_walk(tree: Hashable, domain: Domain, names: Iterable[Any]) -> Callable[..., Any]:
    """Return a tree as a function of the values of names, or of other nodes in it."""
    given = tuple(names)
    meanings: dict[Any, Meaning] = {}
    _collect(tree, domain, frozenset(given), meanings)
    fixed = [node for node, (_, parts) in meanings.items() if not parts]
    computed = [node for node, (_, parts) in meanings.items() if parts]
    places = {node: place for place, node in enumerate((*given, *fixed, *computed))}
    constants = tuple(meanings[node][0]() for node in fixed)
    steps = tuple(
        _step(meanings[node][0], [places[part] for part in meanings[node][1]]) for node in computed
    )
    last = places[tree]

    def run(*values: Any) -> Any:
        values_so_far = [*values, *constants]
        for step in steps:
            values_so_far.append(step(values_so_far))
        return values_so_far[last]

    return run


def _collect(
    node: Any, domain: Domain, given: frozenset[Any], meanings: dict[Any, Meaning]
) -> None:
    """Add the meanings of a node and its parts, parts first."""
    if node not in given and node not in meanings:
        function, parts = domain.meaning(node)
        for part in parts:
            _collect(part, domain, given, meanings)
        meanings[node] = function, parts


def _step(function: Callable[..., Any], sources: list[int]) -> Callable[[list[Any]], Any]:
    """Return a function of the list of all values that takes its arguments from these places."""
    first, *rest = sources
    if not rest:
        return lambda values: function(values[first])
    if len(rest) == 1:
        (second,) = rest
        # inlined operators: adding balls of some hundred bits takes no longer than two calls
        if function is operator.add:
            return lambda values: values[first] + values[second]
        if function is operator.mul:
            return lambda values: values[first] * values[second]
        return lambda values: function(values[first], values[second])
    chosen = operator.itemgetter(*sources)
    return lambda values: function(*chosen(values))


def constant(value: Any) -> Meaning:
    """Return the meaning of a node that has this value."""
    return lambda: value, ()


def added(terms: Sequence[Any]) -> Meaning:
    """Return the meaning of a sum of these nodes."""
    return (operator.add if len(terms) == 2 else _total), terms


def multiplied(factors: Sequence[Any]) -> Meaning:
    """Return the meaning of a product of these nodes."""
    return (operator.mul if len(factors) == 2 else _product), factors


def _total(*terms: Any) -> Any:
    return functools.reduce(operator.add, terms)


def _product(*factors: Any) -> Any:
    return functools.reduce(operator.mul, factors)
