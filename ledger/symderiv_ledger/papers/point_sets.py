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
from symderiv_ledger.claims.claim import ComparisonRule, Conventions, Point, Use
from symderiv_ledger.claims.claim_graph import read_uses
from symderiv_ledger.papers.tables import names_of, pairs_of, refuse_unknown, text_of, texts_of
from symderiv_ledger.rules.comparison_rules import (
    Bound,
    Converges,
    Exact,
    ShownWithin,
    Symbolic,
    Within,
    WithinErrorBars,
)
from symderiv_ledger.rules.quantities import Reference, read_reference

#: Rules by the name that files give them.
RULES: Final[Mapping[str, Callable[..., ComparisonRule]]] = {
    rule.__name__: rule
    for rule in (Bound, Converges, Exact, ShownWithin, Symbolic, Within, WithinErrorBars)
}
_COMMON: Final = (
    *("regime", "where", "rests_on", "rule", "indices", "symmetric", "equal", "diagonal", "uses"),
)
#: Keys of a set that are not parameters of its reference.
SET_KEYS: Final = frozenset({*_COMMON, "function"})


@dataclass(frozen=True)
class PointSet:
    """Points and what is true of all of them; the fields are those of a claim.

    Args:
        points: A function that takes the arithmetic and returns the points; None: there are none.
        rule: How statements are tried there, unless a claim says otherwise.
        reference: The reference, which checks statements early; None for a function.
        indices: Ranges of indices by name.
        tried_at: The function or the reference as text, see
            :class:`~symderiv_ledger.claims.claim.Claim`.
    """

    points: Callable[[Any], Iterable[Point]] | None = None
    rule: ComparisonRule | None = None
    reference: Reference | None = None
    indices: Indices = field(default_factory=dict)
    regime: str = ""
    where: str = ""
    rests_on: str = ""
    symmetric: tuple[str, ...] = ()
    equal: tuple[tuple[str, str], ...] = ()
    diagonal: tuple[str, ...] = ()
    uses: tuple[Use, ...] = ()
    tried_at: str = ""

    def meant(self, names: frozenset[str]) -> PointSet:
        """Return the set for statements with these names: see :meth:`Reference.meant`."""
        if self.reference is None:
            return self
        meant = self.reference.meant(names)
        if meant.weights == self.reference.weights:
            return self
        said = f"{meant.weights}, of which the statement has none"
        return replace(
            self,
            points=meant.points,
            reference=meant,
            regime=f"{self.regime}; {said}" if self.regime else said,
            tried_at=f"{self.tried_at}, {meant.weights}",
        )

    @property
    def conventions(self) -> Conventions | None:
        """The conventions that the points may follow; None if there is one only."""
        if self.reference is None or not self.reference.conventions:
            return None
        return Conventions(self.reference.weights, self.reference.conventions)

    @classmethod
    def read(cls, table: Mapping[str, Any], package: str, indices: Indices) -> PointSet:
        """Return a set from its table.

        Args:
            table: The table without the keys of a claim.
            package: The package of functions; empty: the file is a user's and may name none.
            indices: The indices of the whole paper.
        """
        reference = None
        symmetric = names_of(table, "symmetric")
        if "function" in table:
            points = _function(table, package)
            call = ast.parse(text_of(table, "function"), mode="eval")
            tried_at = f"{package}.{ast.unparse(call)}"
            rule: ComparisonRule = Exact()
            if "rule" in table:
                rule = read_rule(text_of(table, "rule"))
            refuse_unknown(table, SET_KEYS)
        else:
            if "rule" in table:
                raise InputError("rule is allowed only with a function")
            keys = {key: value for key, value in table.items() if key not in SET_KEYS}
            reference = read_reference(keys)
            tried_at = ", ".join(f"{key} = {keys[key]!r}" for key in sorted(keys))
            points, rule = reference.points, reference.rule
            symmetric = symmetric or reference.symmetric
        return cls(
            points,
            rule,
            reference,
            {**indices, **read_indices(texts_of(table, "indices"))},
            symmetric=symmetric,
            equal=pairs_of(table, "equal"),
            diagonal=names_of(table, "diagonal"),
            uses=read_uses(table),
            tried_at=tried_at,
            regime=text_of(table, "regime"),
            where=text_of(table, "where"),
            rests_on=text_of(table, "rests_on"),
        )


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


def module_of(table: Mapping[str, Any]) -> str:
    """Return the module whose function a set names, empty if it names none."""
    return _call(text_of(table, "function"))[0].rpartition(".")[0]


def _function(table: Mapping[str, Any], package: str) -> Callable[[Any], Iterable[Point]]:
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
        tree = ast.parse(text.strip(), mode="eval").body
        call = tree if isinstance(tree, ast.Call) else ast.Call(tree, [], [])
        values = {str(word.arg): _frozen(ast.literal_eval(word.value)) for word in call.keywords}
    except (SyntaxError, ValueError):
        return "", None
    if call.args or not isinstance(call.func, ast.Name | ast.Attribute):
        return "", None
    return ast.unparse(call.func), values if isinstance(tree, ast.Call) else None


def _frozen(value: Any) -> Any:
    """Return lists as tuples, which can be keys where functions keep their results."""
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value
