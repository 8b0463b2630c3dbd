"""Sums over tables as loop nests in which everything is computed as far outside as possible.

A subexpression depends on a set of loops. If these are the outermost ones it is a scalar computed
in the innermost of them; if there is one further loop among them (or two, if the last loop is over
a list of pairs), it becomes an array computed before the loops that it skips; anything else is
computed in its innermost loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import sympy as sp

from symderiv_codegen.ir.functions import ScalarFunction
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.tables import TableSum, TableTerm
from symderiv_codegen.passes.row_pairs import Pairs, paired_rows
from symderiv_codegen.passes.scalars import StraightLine, straight_line

Loops = frozenset[int]
Later = tuple[int, ...]


@dataclass
class Level:
    """Computations inside the first ``n`` loops, before the next one.

    ``rows`` are arrays over the indices of later loops: (name, numbers of these loops, expression).
    ``factor`` multiplies the sum over the loops further inside.
    """

    scalars: list[tuple[sp.Symbol, sp.Expr]] = field(default_factory=list)
    rows: list[tuple[sp.Symbol, Later, sp.Expr]] = field(default_factory=list)
    factor: sp.Expr = field(default_factory=lambda: sp.Integer(1))


@dataclass(frozen=True)
class TableNest:
    """The levels of one term, outermost first: one more than there are loops.

    ``pairs``: the list of pairs that is its last row, if there is one.
    """

    term: TableTerm
    levels: tuple[Level, ...]
    pairs: Pairs | None = None

    @property
    def operations(self) -> int:
        """The number of operations in the text, each counted once."""
        expressions = [e for level in self.levels for _, e in level.scalars]
        expressions += [e for level in self.levels for _, _, e in level.rows]
        expressions += [level.factor for level in self.levels]
        return int(sum(sp.count_ops(e) + 1 for e in expressions))


def table_nests(function: TableSum, names: NamePool, paired: bool = False) -> tuple[TableNest, ...]:
    """Return the loop nests of all terms; temporaries get unique names.

    Args:
        function: The sum.
        names: The register of names of this function, which contains its own names.
        paired: Whether to put the first two rows of a term of more than three into one list of
            pairs.
    """
    return tuple(
        _nest(function, *(paired_rows(term, names) if paired else (term, None)), names)
        for term in function.terms
    )


def _nest(function: TableSum, term: TableTerm, pairs: Pairs | None, names: NamePool) -> TableNest:
    entries = {
        symbol: frozenset({number})
        for number, row in enumerate(term.rows, start=1)
        for symbol, _ in row.entries
    }
    code = _straight(function.arguments, term)
    placer = _Placer(entries, len(term.rows), names, most_later=1 if pairs is None else 2)
    for symbol, expression in code.definitions:
        placer.define(symbol, expression)
    placer.finish(code.value)
    return TableNest(term, tuple(placer.levels), pairs)


@lru_cache(maxsize=256)
def _straight(arguments: tuple[sp.Symbol, ...], term: TableTerm) -> StraightLine:
    """Return the summand of a term with common subexpressions, shared between printers.

    Its names are provisional: final ones come from the function's register.
    """
    entries = tuple(symbol for row in term.rows for symbol, _ in row.entries)
    definitions, value = _scaled(term, set(entries))
    plain = ScalarFunction("summand", (*arguments, *entries), definitions, value, "")
    return straight_line(plain, NamePool(plain.names))


def _scaled(
    term: TableTerm, entries: set[sp.Symbol]
) -> tuple[tuple[tuple[sp.Symbol, sp.Expr], ...], sp.Expr]:
    """Return definitions without common powers of table entries, which are moved to where they are
    used, and the value.
    """
    replaced: dict[sp.Symbol, sp.Expr] = {}
    definitions = []
    for symbol, expression in term.definitions:
        common, rest = _common_powers(sp.expand(expression.xreplace(replaced)), entries)
        if common != 1:
            replaced[symbol] = common * symbol
        definitions.append((symbol, sp.factor_terms(rest)))
    return tuple(definitions), sp.powsimp(term.value.xreplace(replaced))


def _common_powers(expression: sp.Expr, entries: set[sp.Symbol]) -> tuple[sp.Expr, sp.Expr]:
    powers = [
        {base: power for base, power in summand.as_powers_dict().items() if base in entries}
        for summand in sp.Add.make_args(expression)
    ]
    shared = set.intersection(*(set(found) for found in powers))
    common = sp.Mul(*(base ** min(found[base] for found in powers) for base in shared))
    return common, sp.Add(*(summand / common for summand in sp.Add.make_args(expression)))


class _Placer:
    """An assignment of expressions to levels."""

    def __init__(
        self, entries: dict[sp.Symbol, Loops], loops: int, names: NamePool, most_later: int
    ) -> None:
        self.levels = [Level() for _ in range(loops + 1)]
        self._loops: dict[sp.Symbol, Loops] = dict(entries)
        self._final: dict[sp.Symbol, sp.Symbol] = {}
        self._count = loops
        self._names = names
        self._most_later = most_later

    def define(self, wish: sp.Symbol, expression: sp.Expr) -> None:
        """Define a named intermediate term."""
        inside = self._placed(expression.xreplace(self._final))
        if inside.is_Symbol or (self._is_row(inside) and not _worth(inside)):
            self._final[wish] = inside
            return
        self._final[wish] = self._stored(self._names.take(str(wish)), inside)

    def finish(self, value: sp.Expr) -> None:
        """Add the summand: each factor goes to the level of its innermost loop."""
        for factor in sp.Mul.make_args(value.xreplace(self._final)):
            inside = self._placed(factor)
            self.levels[self._level(self._of(inside))].factor *= inside
        for level in self.levels:
            level.factor = self._placed(level.factor)

    def _of(self, expression: sp.Expr) -> Loops:
        """Return the loops of an expression, extended to all outer loops if it is neither scalar
        nor array.
        """
        found: Loops = frozenset()
        for symbol in expression.free_symbols:
            found |= self._loops.get(symbol, frozenset())
        outer = self._outer(found)
        if len(found) > outer + self._most_later:
            return frozenset(range(1, max(found) + 1))
        return found

    def _outer(self, loops: Loops) -> int:
        """Return the number of outermost loops that are all among the given ones."""
        return next(n for n in range(self._count + 1) if n + 1 not in loops)

    def _is_row(self, expression: sp.Expr) -> bool:
        loops = self._of(expression)
        return len(loops) > self._outer(loops)

    def _level(self, loops: Loops) -> int:
        return max(loops, default=0)

    def _stored(self, name: str, expression: sp.Expr) -> sp.Symbol:
        loops = self._of(expression)
        symbol = sp.Symbol(name, real=True)
        self._loops[symbol] = loops
        outer = self._outer(loops)
        if len(loops) == outer:
            self.levels[outer].scalars.append((symbol, expression))
        else:
            later = tuple(sorted(number for number in loops if number > outer))
            self.levels[outer].rows.append((symbol, later, expression))
        return symbol

    def _placed(self, expression: sp.Expr) -> sp.Expr:
        """Return the expression with parts that depend on fewer loops computed outside."""
        if not expression.args:
            return expression
        arguments = [self._placed(argument) for argument in expression.args]
        if not isinstance(expression, sp.Add | sp.Mul):
            return expression.func(*arguments)
        whole = self._of(sp.Tuple(*arguments))
        groups: dict[Loops, list[sp.Expr]] = {}
        for argument in arguments:
            groups.setdefault(self._of(argument), []).append(argument)
        for loops in sorted(groups, key=lambda found: (len(found), sorted(found))):
            # Merge into a larger group that is still outside, if there is one.
            larger = [g for g in groups if loops < g and g != whole]
            if larger and loops != whole and not _numbers(groups[loops]):
                target = min(larger, key=lambda found: (len(found), sorted(found)))
                groups[target] += groups.pop(loops)
        parts = []
        for loops, members in groups.items():
            part = expression.func(*members)
            if loops != whole and _worth(part):
                part = self._stored(self._names.take(self._name(part)), part)
            parts.append(part)
        return expression.func(*parts)

    def _name(self, part: sp.Expr) -> str:
        loops = "".join(str(number) for number in sorted(self._of(part)))
        return f"part_{loops}" if loops else "part"


def _numbers(members: Iterable[sp.Expr]) -> bool:
    return all(member.is_number for member in members)


def _worth(part: sp.Expr) -> bool:
    """Return whether a value is worth storing: more than one operation."""
    return not part.is_number and bool(sp.count_ops(part) > 1)
