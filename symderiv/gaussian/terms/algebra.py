r"""Exact arithmetic for covariance entries, and their tidy way back to expressions.

All entries live in one domain: the rationals, a number field (square roots), or polynomials or
rational functions over one of these in the symbols of the covariance. Zero is therefore always
recognised, and nothing is ever simplified by guessing. A variance that always occurs shifted
(1 + c11 for erf) is replaced by the shifted variable inside the domain, which keeps determinants
short; both forms are tried when a polynomial is written out and the shorter one is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import gcd, lcm
from typing import Any

import sympy as sp
from sympy.polys.domains import QQ

from symderiv.foundation.errors import InexactError, InputError, NotYetError
from symderiv.gaussian.terms.roots import exact_power
from symderiv.gaussian.terms.working_terms import sign_of

_FACTOR_TERMS = 80
_SPLIT_TERMS = 24
# Exact arithmetic with k independent square roots happens in a field of degree 2**k.
_MAX_SURDS = 5


class Algebra:
    """The domain of the covariance entries.

    Args:
        expressions: All expressions that will be converted (entries, means, constants).
        shifts: For a symbol c, the positive rational s such that c + s is the natural variable.
        opaque_roots: Leave roots of large integers alone (see :mod:`roots`).

    Raises:
        InexactError: An expression contains a Float.
        InputError: An expression is not a rational function of symbols and constants.
    """

    def __init__(
        self,
        expressions: Iterable[sp.Expr],
        shifts: Mapping[sp.Symbol, sp.Rational],
        opaque_roots: bool = False,
    ) -> None:
        exprs = list(expressions)
        for e in exprs:
            if e.has(sp.Float):
                raise InexactError(f"the entry {e} is a float; write it as an exact decimal")
        self._into: dict[sp.Expr, sp.Expr] = {}
        self._outof: dict[sp.Symbol, sp.Expr] = {}
        self._plain: dict[sp.Symbol, sp.Expr] = {}
        self._replace_transcendentals(exprs)
        self._replace_roots(exprs)
        exprs = [self._inward(e) for e in exprs]
        self._replace_shifted(exprs, shifts)
        self.generators = self._choose_domain([self._inward(e) for e in exprs])
        self.numeric = not self.generators
        self._positive: set[sp.Expr] = set()
        self._minors: list[Any] = []
        self._written: dict[Any, tuple[sp.Expr, sp.Expr]] = {}
        self._factor_memo: dict[Any, tuple[sp.Expr, dict[sp.Expr, int]]] = {}
        self.reference: dict[sp.Symbol, sp.Rational] = {}
        self.opaque_roots = opaque_roots

    # -- choosing the domain ---------------------------------------------------------------

    def _replace_transcendentals(self, exprs: list[sp.Expr]) -> None:
        """Map pi, e, log 2 and the like to positive generators of their own."""
        constants: set[sp.Expr] = set()
        for e in exprs:
            constants |= e.atoms(sp.NumberSymbol) | {sp.E for _ in e.atoms(sp.exp) if e.has(sp.E)}
            constants |= {f for f in e.atoms(sp.Function) if f.is_number and f.is_positive}
        for constant in sorted(constants, key=sp.default_sort_key):
            symbol = sp.Symbol(f"constant_{constant}", positive=True)
            self._into[constant] = symbol
            self._outof[symbol] = constant

    def _replace_roots(self, exprs: list[sp.Expr]) -> None:
        """Map c to root**q wherever a fractional power of the symbol c occurs."""
        roots: dict[sp.Symbol, int] = {}
        for e in exprs:
            for power in e.atoms(sp.Pow):
                base, exponent = power.args
                if exponent.is_Rational and exponent.q > 1 and isinstance(base, sp.Symbol):
                    roots[base] = int(sp.ilcm(roots.get(base, 1), exponent.q))
        for symbol in sorted(roots, key=str):
            root = sp.Symbol(f"root_{symbol.name}", positive=True)
            self._into[symbol] = root ** roots[symbol]
            self._outof[root] = symbol ** sp.Rational(1, roots[symbol])

    def _replace_shifted(
        self, exprs: list[sp.Expr], shifts: Mapping[sp.Symbol, sp.Rational]
    ) -> None:
        for symbol, shift in shifts.items():
            if symbol in self._into:
                continue
            shifted = sp.Symbol(f"shifted_{symbol.name}", positive=True)
            self._into[symbol] = shifted - shift
            self._outof[shifted] = symbol + shift
            self._plain[shifted] = symbol + shift

    def _inward(self, e: sp.Expr) -> sp.Expr:
        if not self._into:
            return e
        return e.subs(self._into, simultaneous=True) if e.has(*self._into) else e

    def _choose_domain(self, exprs: list[sp.Expr]) -> tuple[sp.Symbol, ...]:
        # Shifted variances lead, so that division by a determinant leaves the off-diagonal part.
        symbols = sorted(
            set().union(*(e.free_symbols for e in exprs)),
            key=lambda s: (s not in self._plain, str(s)),
        )
        surds = {
            p
            for e in exprs
            for p in e.atoms(sp.Pow)
            if p.args[0].is_Rational and p.args[1].is_Rational and not p.is_Rational
        }
        base: Any = QQ
        if len(surds) > _MAX_SURDS:
            raise InputError(
                f"the numbers contain {len(surds)} different roots; at most {_MAX_SURDS} are "
                "handled exactly"
            )
        if surds:
            base = QQ.algebraic_field(*sorted(surds, key=sp.default_sort_key))
        strange = {
            number
            for e in exprs
            for number in e.atoms(sp.Function, sp.exp, sp.CRootOf)
            if number.is_number
        }
        if strange:
            raise NotYetError(
                f"no closed form: {min(strange, key=sp.default_sort_key)} is not rational, and no "
                "square root of a rational number"
            )
        self.domain: Any = base
        self._ring = True
        if symbols:
            field = base.frac_field(*symbols)
            try:
                elements = [field.from_sympy(e) for e in exprs]
            except Exception as error:  # SymPy raises several kinds of conversion errors here
                raise InputError(
                    "covariance and mean must be rational functions of their symbols: "
                    f"{str(error).splitlines()[0]}"
                ) from error
            self._ring = all(x.denom.is_ground for x in elements)
            self.domain = field.get_ring() if self._ring else field
        return tuple(symbols)

    # -- elements --------------------------------------------------------------------------

    def element(self, e: sp.Expr) -> Any:
        """Return the domain element of an expression."""
        return self.domain.from_sympy(sp.expand(self._inward(sp.sympify(e))))

    def exquo(self, a: Any, b: Any) -> Any:
        """Return a quotient that is known to lie in the domain (by determinant identities)."""
        return self.domain.exquo(a, b)

    def divides(self, b: Any, a: Any) -> Any | None:
        """Return a / b if it lies in the domain, else None."""
        if not (self.generators and self._ring):
            return a / b
        quotient, remainder = divmod(a, b)
        return None if remainder else quotient

    def expression(self, a: Any) -> sp.Expr:
        """Return an element as an expression, sums kept as short as possible."""
        if self.numeric:
            return self._outward(self.domain.to_sympy(a))
        number, powers = self.factors(a)
        return sp.Mul(number, *(f**p for f, p in powers.items()))

    def _outward(self, e: sp.Expr) -> sp.Expr:
        return e.xreplace(self._outof) if self._outof else e

    # -- orientation -----------------------------------------------------------------------

    def choose_reference(self, matrix: Sequence[Sequence[sp.Expr]]) -> None:
        """Find a rational point where ``matrix`` is positive definite, for orienting factors."""
        symbols = sorted(set().union(*(e.free_symbols for row in matrix for e in row)), key=str)
        large = set().union(*(matrix[i][i].free_symbols for i in range(len(matrix))))
        for attempt in range(6):
            point = {}
            for k, s in enumerate(symbols):
                value = (
                    sp.Rational(2 * k + 31, 13) if s in large else sp.Rational(k + 3, 11 * k + 41)
                )
                if s not in large and not s.is_positive and (k + attempt) % 3 == 1:
                    value = -value
                point[s] = value / (attempt + 1 if s not in large else 1)
            numeric = sp.Matrix([[e.xreplace(point) for e in row] for row in matrix])
            if numeric.is_positive_definite:
                self.reference = point
                return
        self.reference = point

    def declare_positive(self, a: Any) -> None:
        """Record factors of odd multiplicity of a principal minor as positive inside the cone."""
        _, powers = self.factors(a)
        if self.generators and self._ring and a not in self._minors:
            self._minors.append(a)
        self._positive |= {f for f, p in powers.items() if p % 2}

    def is_positive(self, factor: sp.Expr) -> bool:
        """Return whether this factor is positive wherever the covariance is positive definite."""
        return bool(factor.is_positive) or factor in self._positive

    # -- writing out -----------------------------------------------------------------------

    def factors(self, a: Any) -> tuple[sp.Expr, dict[sp.Expr, int]]:
        """Return the number and the oriented factors (as expressions) with their multiplicities."""
        if self.numeric:
            return self._outward(self.domain.to_sympy(a)), {}
        factors = self._factor_memo.get(a)
        if factors is None:
            factors = self._factor_memo[a] = self._factor(a)
        return factors

    def _factor(self, a: Any) -> tuple[sp.Expr, dict[sp.Expr, int]]:
        if not self._ring:
            above = self._factor_polynomial(a.numer)
            below = self._factor_polynomial(a.denom)
            powers = dict(above[1])
            for f, p in below[1].items():
                powers[f] = powers.get(f, 0) - p
            return above[0] / below[0], {f: p for f, p in powers.items() if p}
        return self._factor_polynomial(a)

    def _factor_polynomial(self, poly: Any) -> tuple[sp.Expr, dict[sp.Expr, int]]:
        if not poly:
            return sp.S.Zero, {}
        ring = poly.ring
        if len(poly) > _FACTOR_TERMS or ring.domain.is_Algebraic:
            content, parts = ring.domain.one, [(poly, 1)]
        else:
            content, parts = poly.factor_list()
        number = self._outward(ring.domain.to_sympy(content))
        powers: dict[sp.Expr, int] = {}
        for part, multiplicity in parts:
            scale, factor = self._write(part)
            number *= scale**multiplicity
            if factor.is_number:
                number *= factor**multiplicity
            else:
                powers[factor] = powers.get(factor, 0) + multiplicity
        return number, powers

    def _write(self, poly: Any) -> tuple[sp.Expr, sp.Expr]:
        """Return a polynomial in the shortest way, as (rational, oriented factor)."""
        if poly not in self._written:
            candidates = [self._primitive(poly, {})]
            used = [
                s
                for s in self._plain
                if s in poly.ring.symbols and poly.degree(poly.ring.symbols.index(s)) > 0
            ]
            if used:
                plain = self._unshift(poly, used)
                candidates.append(self._primitive(plain, dict.fromkeys(used)))
            candidates += self._by_minors(poly)
            best = min(candidates, key=lambda c: sp.count_ops(c[1]))
            self._written[poly] = self._oriented(*best)
        return self._written[poly]

    def _by_minors(self, poly: Any) -> list[tuple[sp.Expr, sp.Expr]]:
        """Return ways to write a polynomial as q d + r with a known minor d (Laplace expansion)."""
        blocks: list[tuple[sp.Expr, sp.Expr]] = []
        if not 4 < len(poly) <= _SPLIT_TERMS:
            return blocks
        for minor in self._minors:
            if not 1 < len(minor) < len(poly):
                continue
            quotient, rest = divmod(poly, minor)
            if len(quotient) != 1:
                continue
            parts = [self._primitive(p, {}) for p in (quotient, minor, rest)]
            scale = parts[2][0]
            product = sp.Mul(parts[0][0] * parts[1][0] / scale, parts[0][1], parts[1][1])
            blocks.append((scale, sp.Add(product, *sp.Add.make_args(parts[2][1]))))
        return blocks

    def _oriented(self, scale: sp.Expr, factor: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
        """Return scale and factor with signs such that the factor is positive at the reference."""
        sign = sign_of(factor.xreplace(self.reference) if self.reference else factor)
        if sign == -1 or (sign is None and factor.could_extract_minus_sign()):
            return -scale, self._negated(factor)
        return scale, factor

    @staticmethod
    def _negated(factor: sp.Expr) -> sp.Expr:
        return sp.Add(*(-t for t in sp.Add.make_args(factor)))

    def _unshift(self, poly: Any, used: Sequence[sp.Symbol]) -> Any:
        ring = poly.ring
        for s in used:
            generator = ring.gens[ring.symbols.index(s)]
            (symbol,) = self._plain[s].free_symbols
            shift = ring.domain.from_sympy(self._plain[s] - symbol)
            poly = poly.compose(generator, generator + shift)
        return poly

    def _primitive(self, poly: Any, plain: Mapping[sp.Symbol, None]) -> tuple[sp.Expr, sp.Expr]:
        """Return content and primitive expression, with the generators in ``plain`` unshifted."""
        ring = poly.ring
        names, sizes = [], []
        for s in ring.symbols:
            name = next(iter(self._plain[s].free_symbols)) if s in plain else self._outof.get(s, s)
            constant = name.as_coeff_Add()[0]
            sizes.append(sp.Integer(constant.q) if constant.is_Rational else sp.S.One)
            names.append(sp.expand(sizes[-1] * name))
        items = []
        for monomial, c in sorted(poly.terms(), reverse=True):
            used = [(n, q, k) for n, q, k in zip(names, sizes, monomial, strict=True) if k]
            value = self._outward(ring.domain.to_sympy(c)) / sp.Mul(*(q**k for _, q, k in used))
            items.append((value, sp.Mul(*(n**k for n, _, k in used))))
        scale = sp.S.One
        if all(c.is_Rational for c, _ in items):
            scale = sp.Rational(gcd(*(c.p for c, _ in items)), lcm(*(c.q for c, _ in items)))
        content, total = sp.Add(*(c / scale * body for c, body in items)).primitive()
        return scale * content, total

    def product(self, items: Iterable[tuple[Any, sp.Rational]]) -> sp.Expr:
        """Return ∏ element^exponent with common factors combined and roots of squares taken.

        Elements with fractional exponent are principal minors (positive); with integer exponents
        they may be anything that is not zero.
        """
        items = list(items)
        if self.numeric:
            return sp.Mul(
                *(exact_power(self.expression(a), e, self.opaque_roots) for a, e in items)
            )
        for a, e in items:
            if not e.is_Integer:
                self.declare_positive(a)
        number = sp.S.One
        total: dict[sp.Expr, sp.Rational] = {}
        for a, e in items:
            scale, powers = self.factors(a)
            number *= exact_power(scale, e, self.opaque_roots)
            for f, p in powers.items():
                even_root = not e.is_Integer and (p * e).is_Integer and not self.is_positive(f)
                base = sp.Abs(f) if even_root else f
                total[base] = total.get(base, sp.S.Zero) + p * e
        return sp.Mul(number, *(f**e for f, e in total.items() if e != 0))
