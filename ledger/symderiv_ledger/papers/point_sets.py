"""Points at which claims are tried, with facts that hold for all of them, stated once.

A table ``[points.NAME]`` of a paper's file says where the points come from, a ``reference`` that
the engine derives or a ``function`` of the paper's package, and what belongs to them whatever is
claimed there: the rule, ranges of indices, the regime, what names stand for, which matrices are
symmetric. A claim names such a set, or carries the same keys itself.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final

from symderiv.foundation.errors import InputError
from symderiv_ledger.claims.abbreviations import Indices, read_indices
from symderiv_ledger.claims.claim import Claim, ComparisonRule, Conventions, Point
from symderiv_ledger.claims.claim_graph import read_uses
from symderiv_ledger.claims.tables import (
    Table,
    names_of,
    pairs_of,
    refuse_unknown,
    text_of,
    texts_of,
)
from symderiv_ledger.rules.comparison_rules import RULES, Exact
from symderiv_ledger.rules.quantities import Reference, read_reference

#: What is true of all points of a set, with the readers of the keys.
FACTS: Final[Mapping[str, Callable[[Table, str], Any]]] = {
    **dict.fromkeys(("regime", "where", "rests_on"), text_of),
    **dict.fromkeys(("symmetric", "diagonal"), names_of),
    "equal": pairs_of,
    "uses": lambda table, _: read_uses(table),
}
#: Keys of a set that are not parameters of its reference.
SET_KEYS: Final = frozenset({*FACTS, "rule", "indices", "function"})


@dataclass(frozen=True)
class PointSet:
    """Points and what is true of all of them."""

    # all this as a claim without a statement; without ``points`` if there are none
    claim: Claim = field(default_factory=lambda: Claim(""))
    # the reference, which checks statements early; None for a function
    reference: Reference | None = None
    indices: Indices = field(default_factory=dict)  # ranges of indices by name

    @classmethod
    def read(cls, table: Table, package: str, indices: Indices) -> PointSet:
        """Return a set from its table.

        Args:
            table: The table without the keys of a claim.
            package: The package of functions; empty: the file is a user's and may name none.
            indices: The indices of the whole paper.
        """
        reference = None
        facts = {key: read(table, key) for key, read in FACTS.items()}
        if "function" in table:
            points = _function(table, package)
            call = ast.parse(text_of(table, "function"), mode="eval")
            tried_at = f"{package}.{ast.unparse(call)}"
            rule = read_rule(text_of(table, "rule")) if "rule" in table else Exact()
            refuse_unknown(table, SET_KEYS)
        else:
            if "rule" in table:
                raise InputError("rule is allowed only with a function")
            keys = {key: value for key, value in table.items() if key not in SET_KEYS}
            reference = read_reference(keys)
            tried_at = ", ".join(f"{key} = {keys[key]!r}" for key in sorted(keys))
            points, rule = reference.points, reference.rule
            facts["symmetric"] = facts["symmetric"] or reference.symmetric
        claim = Claim("", points=points, rule=rule, tried_at=tried_at, **facts)
        return cls(claim, reference, {**indices, **read_indices(texts_of(table, "indices"))})

    def meant(self, names: frozenset[str]) -> PointSet:
        """Return the set for statements with these names: see :meth:`Reference.meant`."""
        if self.reference is None or len(self.reference.conventions) < 2:
            return self
        meant, claim = self.reference.meant(names), self.claim
        if meant.weights != self.reference.weights:
            said = f"{meant.weights}, of which the statement has none"
            claim = replace(
                claim,
                points=meant.points,
                regime="; ".join(filter(None, (claim.regime, said))),
                tried_at=f"{claim.tried_at}, {meant.weights}",
            )
        conventions = Conventions(meant.weights, meant.conventions)
        return replace(self, claim=replace(claim, conventions=conventions), reference=meant)


def read_rule(text: str) -> ComparisonRule:
    """Return a rule from its text, e.g. ``"Converges(order=2, digits=25)"``."""
    name, values = _call(text)
    if name not in RULES:
        raise InputError(
            f"rule must be one of {', '.join(RULES)}, as in Exact(digits=20), not {text!r}"
        )
    try:
        return RULES[name](**(values or {}))
    except (TypeError, ValueError):
        raise InputError(f"the rule {name} does not take the arguments in {text!r}") from None


def module_of(table: Table) -> str:
    """Return the module whose function a set names, empty if it names none."""
    return _call(text_of(table, "function"))[0].rpartition(".")[0]


def _function(table: Table, package: str) -> Callable[[Any], Iterable[Point]]:
    """Return the function that a set's key ``function`` names, or makes if it has arguments."""
    text = text_of(table, "function")
    if not package:
        raise InputError(
            f"function = {text!r} goes with a package that announces the paper; "
            "a file alone has reference"
        )
    name, values = _call(text)
    module, _, attribute = name.rpartition(".")
    try:
        function = getattr(import_module(f"{package}.{module}"), attribute)
    except (ImportError, AttributeError, ValueError):
        raise InputError(f"there is no function {text} in {package}") from None
    made: Callable[[Any], Iterable[Point]] = function if values is None else function(**values)
    return made


def _call(text: str) -> tuple[str, dict[str, Any] | None]:
    """Return the name in ``"module.name(a=1, b=[2, 3])"`` and its arguments, None without brackets.

    The name is empty if the text is something else.
    """
    try:
        match ast.parse(text.strip(), mode="eval").body:
            case ast.Call(func=ast.Name() | ast.Attribute() as name, args=[], keywords=words):
                values = {str(word.arg): ast.literal_eval(word.value) for word in words}
                return ast.unparse(name), {key: _frozen(value) for key, value in values.items()}
            case ast.Name() | ast.Attribute() as name:
                return ast.unparse(name), None
    except (SyntaxError, ValueError):
        pass
    return "", None


def _frozen(value: Any) -> Any:
    """Return lists as tuples, which can be keys where functions keep their results."""
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
