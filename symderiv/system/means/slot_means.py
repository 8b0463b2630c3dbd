"""Means of products of functions of Gaussian variables as scalar functions of their covariances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sympy as sp
from symderiv_codegen import Constant, Function, ScalarFunction

from symderiv.formula.kink_places import in_doubles, places_of
from symderiv.foundation.errors import NotYetError
from symderiv.gaussian.distributions import reduced
from symderiv.lowering.means.closed_means import ClosedMean, X, closed_mean, field_symbols
from symderiv.lowering.means.joint_means import Joint, JointMeans
from symderiv.statement.field_law import FieldLaw
from symderiv.statement.slopes import ROUGH
from symderiv.system.means.joint_forms import FormSlot, given_last
from symderiv.system.means.product_means import ProductMeans

MOST_FIELDS = 8
"""The largest number of functions in a product; for more, no closed form is to be expected."""


class TakenApartError(Exception):
    """The error for terms that were split for closed forms but have none: better keep them
    together.
    """


def mixes(expression: sp.Expr) -> bool:
    """Return whether an expression contains both exponentials and steps."""
    return bool(expression.has(sp.exp) and expression.has(*ROUGH))


class SlotMeans:
    """The functions that are the means of a statement, each derived once.

    Attributes:
        functions: The functions by name, in the order in which they were needed.
        joints: The means by quadrature over all fields jointly.
        products: The means of products of functions of single fields by quadrature.
        mixed: Whether products of exponentials and steps turned out to have no closed means here.
    """

    def __init__(self) -> None:
        self.functions: dict[str, ScalarFunction] = {}
        self.mixed = False
        self.joints, self.products = JointMeans(), ProductMeans()
        self._names: dict[tuple[sp.Expr, tuple[bool, ...]], str] = {}

    def mean(self, slots: Sequence[FormSlot], law: FieldLaw) -> sp.Expr:
        """Return the mean of a product as a call of a function of covariances and means.

        Raises:
            NotYetError: No rule of the Gaussian calculus applies.
            DivergentError: The mean does not exist.
        """
        slots = sorted(_merged(slots), key=lambda each: (str(each.function), str(each.form)))
        if not slots:
            return sp.S.One
        if any(slot.function == 0 for slot in slots):
            return sp.S.Zero
        size = len(slots)
        if size > MOST_FIELDS:
            raise NotYetError(f"it is a product of {size} functions of different fields")
        covariance, means = law.moments([slot.form for slot in slots])
        integrand = sp.Mul(
            *(s.function.xreplace({X: z}) for s, z in zip(slots, field_symbols(size), strict=True))
        )
        key = integrand, tuple(each != 0 for each in means)
        try:
            closed = _in_real_numbers(closed_mean(*key))
        except NotYetError:
            if not self.mixed and any(map(mixes, (slot.function for slot in slots))):
                self.mixed = True
                raise TakenApartError from None
            return self._by_quadrature(slots, law)
        if closed.value.is_number and not closed.definitions:
            return closed.value
        if key not in self._names:
            name = self._names[key] = f"mean_{len(self._names) + 1}"
            self.functions[name] = closed.function(name, f"E[{integrand}].")
        moments = [covariance[i][j] for i in range(size) for j in range(i, size)]
        moments += [each for each in means if each != 0]
        numbers = closed.arguments[len(moments) :]
        return sp.Function(self._names[key])(*moments, *numbers)

    def _by_quadrature(self, slots: Sequence[FormSlot], law: FieldLaw) -> sp.Expr:
        outside, slots = _at_fewest_fields(_merged(slots, alone=()), law)
        covariance, means = law.moments([slot.form for slot in slots])
        delta = next((n for n, s in enumerate(slots) if s.function.has(sp.DiracDelta)), None)
        if delta is not None:
            return outside * self._given(slots, delta, covariance, means)
        return outside * self._product([slot.function for slot in slots], covariance, means)

    def _given(
        self,
        slots: Sequence[FormSlot],
        delta: int,
        covariance: list[list[sp.Expr]],
        means: list[sp.Expr],
    ) -> sp.Expr:
        """Return a mean with one delta function: a density times a conditional mean."""
        total = sp.S.Zero
        others = [n for n in range(len(slots)) if n != delta]
        order = [*others, delta]
        ordered = [[covariance[n][m] for m in order] for n in order]
        functions = [slots[n].function for n in others]
        for term in sp.Add.make_args(sp.expand(slots[delta].function)):
            for rest, place in at_zeros(term):
                left, there, density = given_last(ordered, [means[n] for n in order], place)
                total += rest * density * self._product(functions, left, there)
        return total

    def _product(
        self,
        functions: Sequence[sp.Expr],
        covariance: list[list[sp.Expr]],
        means: list[sp.Expr],
    ) -> sp.Expr:
        if not functions:
            return sp.S.One
        if set().union(*(f.free_symbols for f in functions)) - {X}:
            raise NotYetError("a function without closed mean has a parameter of its own")
        order = sorted(
            range(len(functions)),
            key=lambda n: (_is_polynomial(functions[n]), str(functions[n]), str(covariance[n][n])),
        )
        size = len(order)
        nonlinear = sum(not _is_polynomial(functions[n]) for n in order)
        ordered = [[covariance[i][j] for j in order] for i in order]
        if size == 1 or nonlinear > 1 or any(f.has(*ROUGH) for f in functions):
            return self.products.mean(
                [functions[n] for n in order], ordered, [means[n] for n in order]
            )
        integrand = sp.Mul(
            *(
                f.xreplace({X: z})
                for f, z in zip((functions[n] for n in order), field_symbols(size), strict=True)
            )
        )
        joint = Joint(integrand, nonlinear, size)
        return self.joints.mean(joint, ordered, [means[n] for n in order])

    @property
    def all_functions(self) -> tuple[Function, ...]:
        """The functions in an order in which each calls earlier ones only."""
        by_rules = (*self.joints.functions.values(), *self.products.functions.values())
        return (*self.functions.values(), *by_rules)

    @property
    def constants(self) -> dict[str, Constant]:
        """Constants of the module: the rules of quadrature."""
        return {**self.joints.constants, **self.products.constants}

    @property
    def finer_constants(self) -> dict[str, Constant]:
        """Constants of the module for much finer rules."""
        return {**self.constants, **self.joints.finer, **self.products.finer}

    @property
    def by_quadrature(self) -> bool:
        """True if any mean is an integral."""
        return bool(self.joints.names or self.products.names)

    def fields_of(self, name: str) -> int | None:
        """Return the number of fields of a mean by quadrature; None for any other function."""
        joints = {called: joint.size for joint, called in self.joints.names.items()}
        products = {called: len(kinds) for kinds, called in self.products.names.items()}
        return {**joints, **products}.get(name)

    @property
    def error(self) -> float:
        """The largest error found of means by quadrature, times a safety factor."""
        return max(self.joints.error, self.products.error)


def _in_real_numbers(mean: ClosedMean) -> ClosedMean:
    """Return a mean if it is written without the imaginary unit.

    Raises:
        NotYetError: It contains the imaginary unit.
    """
    if any(each.has(sp.I) for each in (mean.value, *(value for _, value in mean.definitions))):
        raise NotYetError(
            "a wave times a sign of fields with means needs an error function of complex numbers"
        )
    return mean


def _merged(slots: Sequence[FormSlot], alone: tuple[type, ...] = (sp.erf,)) -> list[FormSlot]:
    """Return the slots with those at the same form multiplied, except for error functions.

    erf of a field is the mean sign of the field plus independent noise: several of them at one
    field are not singular and need no function of their own. Products of steps, signs and delta
    functions are reduced.
    """
    apart = [slot for slot in slots if isinstance(slot.function, alone)]
    rest: dict[sp.Expr, sp.Expr] = {}
    for slot in slots:
        if slot not in apart:
            rest[slot.form] = rest.get(slot.form, sp.S.One) * slot.function
    products = ((almost_reduced(function), form) for form, function in rest.items())
    return apart + [FormSlot(function, form) for function, form in products if function != 1]


def _at_fewest_fields(slots: Sequence[FormSlot], law: FieldLaw) -> tuple[sp.Expr, list[FormSlot]]:
    """Return a factor and the slots after merging exponentials and polynomials into the functions
    of other slots.

    exp(-h) times a function of h + b is exp(b) times that function with a factor exp(-x): no field
    is added, and a function such as x exp(-x)/(1 + exp(-x))² stays bounded. So are exp(-h) and
    exp(-g) merged into a function of h + g, and (h + 1)² into a function of h.
    """
    moved = [s for s in slots if _is_exponential(s.function) or _is_polynomial(s.function)]
    placed = [slot for slot in slots if slot not in moved]
    exponentials = [slot for slot in moved if _is_exponential(slot.function)]
    outside, left = sp.S.One, list(moved)
    for group in (*([slot] for slot in moved), exponentials):
        group = [slot for slot in group if slot in left]
        combined = sp.Add(*(_argument(slot) for slot in group))
        shares = _in_terms_of([slot.form for slot in placed], combined, law)
        if not group or shares is None:
            continue
        pairs = [*zip(shares, placed, strict=True)]
        rest = sp.expand(combined - sum(share * slot.form for share, slot in pairs))
        if _is_exponential(group[0].function):
            outside *= sp.exp(rest)
            factors = [sp.exp(share * X) for share in shares]
        elif rest.is_number and sum(share != 0 for share in shares) == 1:
            function = group[0].function
            factors = [function.xreplace({X: k * X + rest}) if k else sp.S.One for k in shares]
        else:
            continue
        left = [slot for slot in left if slot not in group]
        placed = [
            FormSlot(slot.function * factor, slot.form)
            for slot, factor in zip(placed, factors, strict=True)
        ]
    return outside, placed + left


def _is_exponential(function: sp.Expr) -> bool:
    return isinstance(function, sp.exp) and bool(sp.diff(function.exp, X).is_number)


def _argument(slot: FormSlot) -> sp.Expr:
    """Return the exponent of an exponential, or the form of a polynomial."""
    of = slot.function.exp if _is_exponential(slot.function) else X
    return of.xreplace({X: slot.form})


def _in_terms_of(
    forms: Sequence[sp.Expr], combined: sp.Expr, law: FieldLaw
) -> list[sp.Expr] | None:
    """Return the coefficients of forms in an affine combination of fields; None unless they are
    unique numbers.
    """
    symbols = {s for each in (*forms, combined) for s in law.gaussian(each)}
    rows = [[sp.diff(each, symbol) for symbol in symbols] for each in (*forms, combined)]
    if not forms or sp.Matrix(rows[:-1]).rank() < len(forms):
        return None
    try:
        shares, _ = sp.Matrix(rows[:-1]).T.gauss_jordan_solve(sp.Matrix(rows[-1]))
    except ValueError:
        return None
    return [*shares] if all(each.is_number for each in shares) else None


def almost_reduced(function: sp.Expr) -> sp.Expr:
    """Return a function of x with products of steps and signs reduced, almost everywhere."""
    terms = sp.Add.make_args(reduced(function, X))
    return sp.Add(*(term for term in terms if not _is_nothing(term)))


def _is_nothing(term: sp.Expr) -> bool:
    steps = {f.args[0] for f in sp.Mul.make_args(term) if isinstance(f, sp.Heaviside)}
    return any(-step in steps for step in steps)


def _is_polynomial(function: sp.Expr) -> bool:
    return function.is_polynomial(X) is True


def at_zeros(term: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Yield cofactor and place for all zeros c of g in a term f(x) δ(g(x)): f(c)/|g'(c)| and c.

    Raises:
        NotYetError: The term has two delta functions, or a derivative of one, or the zeros of g
            have no formula.
    """
    deltas = [f for f in sp.Mul.make_args(term) if f.has(sp.DiracDelta)]
    if len(deltas) != 1 or not isinstance(deltas[0], sp.DiracDelta) or len(deltas[0].args) > 1:
        raise NotYetError(f"{term} is more than one delta function times a function")
    argument, factor = sp.expand(deltas[0].args[0]), term / deltas[0]
    try:
        zeros = [*_zeros(argument)]
    except ValueError:
        raise NotYetError(f"the zeros of {argument} have no formula") from None
    for place, rate in zeros:
        there = sp.Abs(rate.subs(X, place))
        if there == 0:
            raise NotYetError(f"{argument} has a zero at which it does not change its sign")
        yield in_doubles(factor.subs(X, place) / there), in_doubles(place)


def _zeros(argument: sp.Expr) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """Yield the zeros of a function of x, and its derivative there as a function of x.

    Raises:
        ValueError: A zero has no formula, or depends on a symbol at a modulus.
    """
    moduli = sorted(argument.atoms(sp.Abs), key=sp.default_sort_key)
    if not moduli:
        rate = sp.diff(argument, X)
        yield from ((place, rate) for place in places_of(argument, X))
        return
    for inside in (moduli[0].args[0], -moduli[0].args[0]):
        for place, rate in _zeros(sp.expand(argument.xreplace({moduli[0]: inside}))):
            there = inside.subs(X, place)
            if not there.is_number:
                raise ValueError(f"whether {there} is positive is not known")
            if there > 0:
                yield place, rate
