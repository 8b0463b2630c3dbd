"""Long loops: rows of outputs are computed together and written directly to their places.

An assignment such as d[i, n, k] = sum_p a[i, p] b[p, n, k] + ... over a long range of k reads every
row b[p, n, :] once for every i. Here it is computed for several i in one turn of the loop over k:
each number of b is loaded once into a register. Further savings in the loop:

- Coefficients with scalar factors, -rate*a[i, p], are multiplied before it.
- Sums over many units are split into parts, so that several rows of a part fit into registers. Rows
  of coefficients are padded with zeros to a multiple of the width of a part.
- A symmetric target whose value is h(i, j) + h(j, i) + g(i, j) receives h first, of which only
  half as many products are needed, and the sum of both halves in a second turn.
- Terms with a factor that is mostly zero are added in a further turn, where it is not.

Long ranges are cut into blocks, so that the data of these turns stay in a cache. The compiler has
to know that outputs do not overlap with what is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import sympy as sp

from symderiv_codegen.ir.arrays import Array
from symderiv_codegen.ir.loops import Block, Conditional, Groups, Loop, Node, Set
from symderiv_codegen.ir.names import NamePool
from symderiv_codegen.ir.procedures import Assignment, Procedure
from symderiv_codegen.ir.walk import (
    Total,
    array_name,
    plain_index,
    range_symbol,
    with_plain_indices,
)

# Half of it would cost a tenth more time at four units each: every block begins with coefficients.
LENGTH = 1024
# Rows at a time times units: more are not unrolled by LLVM, and then not vectorised.
MOST_PRODUCTS = 56
# Units in one part of the sums: with more, too few rows fit into registers.
MOST_UNITS = 10


def long_axis(step: Assignment, arrays: dict[str, Array], small: Sequence[str]) -> bool:
    """Return whether the assignment is over two short ranges and, innermost, a long one."""
    if not step.indices:
        return False
    shape = arrays[step.name].shape
    return len(shape) == 3 and shape[-1] not in small and set(shape[:-1]) <= set(small)


def sums_long_range(procedure: Procedure, small: Sequence[str]) -> bool:
    """Return whether a procedure sums over a long range.

    Such a procedure is compiled on its own: its sums may be reordered, but products are rounded
    before they are added, so that equal numbers give equal sums.
    """
    limits = [
        str(limit[2] + 1)
        for step in procedure.body
        if isinstance(step, Assignment)
        for total in step.value.atoms(sp.Sum)
        for limit in total.limits
    ]
    return any(size not in small for size in limits)


@dataclass(frozen=True)
class Lower:
    """Functions that turn expressions with sums into nodes."""

    rewrite: Callable[[sp.Expr], sp.Expr]
    assigned: Callable[[sp.Expr, sp.Expr], list[Node]]


class LongLoops:
    """A translator of assignments over one long range into a loop over blocks.

    Args:
        arrays: All arrays by name.
        mostly_zero: Names of scalars that are mostly zero.
        lower: The functions that turn values into nodes.
        names: The register of names, for arrays of coefficients.
    """

    def __init__(
        self,
        arrays: dict[str, Array],
        mostly_zero: Sequence[str],
        lower: Lower,
        names: NamePool,
    ) -> None:
        self.local: list[Array] = []
        self._arrays = arrays
        self._mostly_zero = mostly_zero
        self._lower = lower
        self._names = names
        self._scaled: dict[tuple[sp.Expr, str], sp.IndexedBase] = {}
        self._in_front: list[Node] = []
        self._first, self._last, self._group, self._begin, self._row, self._piece = (
            sp.Symbol(names.take(wish), integer=True)
            for wish in ("first", "last", "group", "begin", "row", "part")
        )
        self._before = sp.Symbol(names.take("before"), real=True)

    def nodes(self, steps: Sequence[Assignment]) -> tuple[list[Node], Block]:
        """Return the nodes that run once before, and the loop over blocks."""
        body: list[Node] = []
        for step in steps:
            body += self._step(step)
        size = self._arrays[steps[0].name].shape[-1]
        return self._in_front, Block(
            self._first, self._last, range_symbol(size), LENGTH, tuple(body)
        )

    def _step(self, step: Assignment) -> list[Node]:
        shape = self._arrays[step.name].shape
        target = with_plain_indices(step.target)
        i, j, k = (plain_index(index) for index in step.indices)
        rows, columns = range_symbol(shape[0]), range_symbol(shape[1])
        value, later = self._apart(with_plain_indices(step.value))
        rest = sp.Integer(0)
        if step.symmetric:
            long = {name for name, array in self._arrays.items() if len(array.shape) == 3}
            value, rest = halves(value, i, j, long)

        def over(index: sp.Symbol, stop: sp.Expr, inside: Sequence[Node]) -> Loop:
            return Loop(index, sp.Integer(0), stop, tuple(inside))

        def along(inside: Sequence[Node]) -> Loop:
            return Loop(k, self._first, self._last, tuple(inside))

        # several rows in one turn of the long loop, and one part of each sum
        here = {i: self._begin + self._row}
        start, sums = self._in_parts(self._lower.rewrite(value))
        start, sums, element = (e.xreplace(here) for e in (start, sums, target))
        inside: list[Node] = [
            Conditional(
                (
                    (sp.Eq(self._piece, 0), tuple(self._lower.assigned(self._before, start))),
                    (sp.true, (Set(self._before, element),)),
                )
            ),
            *self._lower.assigned(element, self._before + sums),
        ]
        turn = over(
            self._piece,
            sp.Symbol("parts"),
            [along([over(self._row, _in_all("rows", shape[0]), inside)])],
        )
        result: list[Node] = [
            over(j, columns, [Groups(self._group, self._begin, shape[0], (turn,))])
        ]
        if step.symmetric:
            both = self._lower.assigned(target, rest + target + target.base[j, i, k])
            mirrored = Set(target.base[j, i, k], target)
            result.append(over(i, rows, [over(j, i + 1, [along([*both, mirrored])])]))
        for name, terms in later.items():
            added = along(self._lower.assigned(target, target + terms))
            # as sizes unknown to the compiler, which would otherwise make a copy for every row
            unknown = (_in_all("number", size) for size in shape[:2])
            turn = over(i, next(unknown), [over(j, next(unknown), [added])])
            result.append(Conditional(((sp.Ne(sp.Symbol(name, real=True), 0), (turn,)),)))
        return result

    def _apart(self, value: sp.Expr) -> tuple[sp.Expr, dict[str, sp.Expr]]:
        """Return the usual terms, and those with a factor that is mostly zero, by the factor's
        name.
        """
        usual: list[sp.Expr] = []
        later: dict[str, sp.Expr] = {}
        for term in sp.Add.make_args(sp.expand(value)):
            factors = {str(f) for f in sp.Mul.make_args(term) if isinstance(f, sp.Symbol)}
            name = next((name for name in self._mostly_zero if name in factors), None)
            if name is None:
                usual.append(term)
            else:
                later[name] = later.get(name, sp.Integer(0)) + term
        return sp.Add(*usual), later

    def _in_parts(self, value: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return the terms that are added once, and the sums over a part, with scalar factors moved
        into the coefficients.
        """
        once: list[sp.Expr] = []
        sums: list[sp.Expr] = []
        for term in sp.Add.make_args(sp.expand(value)):
            part = self._part(term)
            if part is None:
                once.append(term)
            else:
                sums.append(part)
        return sp.Add(*once), sp.Add(*sums)

    def _part(self, term: sp.Expr) -> sp.Expr | None:
        factors = sp.Mul.make_args(term)
        totals = [factor for factor in factors if isinstance(factor, Total)]
        if len(totals) != 1:
            return None
        index, low, high = totals[0].limit
        elements = sp.Mul.make_args(totals[0].summand)
        if low != 0 or not all(isinstance(element, sp.Indexed) for element in elements):
            return None
        small = [e for e in elements if len(self._arrays[array_name(e)].shape) == 2]
        if len(small) != 1 or small[0].indices[1] != index:
            return None
        size = self._arrays[array_name(small[0])].shape[1]
        scalars = [f for f in factors if f.is_number or isinstance(f, sp.Symbol)]
        row, _ = small[0].indices
        place = self._piece * _in_all("width", size) + index
        rest = totals[0].summand / small[0]
        summand = rest.xreplace({index: sp.Min(place, high)})
        summand *= self._coefficients(small[0], sp.Mul(*scalars))[row, place]
        part = Total(summand, index, low, _in_all("width", size) - 1)
        return sp.Mul(part, *(f for f in factors if f not in (*totals, *scalars)))

    def _coefficients(self, element: sp.Indexed, factor: sp.Expr) -> sp.IndexedBase:
        """Return an array of ``factor * element``, padded with zeros to the end of the
        last part.
        """
        name = array_name(element)
        if (factor, name) not in self._scaled:
            rows, columns = self._arrays[name].shape
            scaled = Array(self._names.take(f"scaled_{name}"), (rows, f"padded_{columns}"))
            self.local.append(scaled)
            base = self._scaled[factor, name] = sp.IndexedBase(scaled.name)
            i, p = element.indices
            size, end = range_symbol(columns), _in_all("padded", columns)
            body = (
                Loop(p, sp.Integer(0), size, (Set(base[i, p], factor * element),)),
                Loop(p, size, end, (Set(base[i, p], sp.Integer(0)),)),
            )
            self._in_front.append(Loop(i, sp.Integer(0), range_symbol(rows), body))
        return self._scaled[factor, name]


def _in_all(what: str, size: str) -> sp.Symbol:
    """Return the symbol of a number that ``specialised`` computes from a range."""
    return range_symbol(f"{what}_{size}")


def halves(value: sp.Expr, i: sp.Symbol, j: sp.Symbol, long: set[str]) -> tuple[sp.Expr, sp.Expr]:
    """Return h and g with value = h(i, j) + h(j, i) + g(i, j); long arrays in h have the
    index j.
    """
    left = list(sp.Add.make_args(sp.expand(value)))
    half: list[sp.Expr] = []
    rest: list[sp.Expr] = []
    while left:
        term = left.pop(0)
        exchanged = term.xreplace({i: j, j: i})
        if exchanged == term or exchanged not in left:
            rest.append(term)
            continue
        left.remove(exchanged)
        in_long = {
            index
            for element in term.atoms(sp.Indexed)
            if array_name(element) in long
            for index in element.indices
        }
        half.append(term if i not in in_long else exchanged)
    return sp.Add(*half), sp.Add(*rest)
