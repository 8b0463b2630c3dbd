"""Means without a closed form: quadrature over the joint fields, with the largest error found.

Fields that a function is a polynomial of are averaged over exactly, given the others, before
anything is integrated. The rule of a system is the coarsest of a list for which no covariance that
a search tries gives an error above the tolerance; a mean that none of them serves is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
import sympy as sp
from symderiv_codegen import ScalarFunction, TemplateFunction

from symderiv.formula.as_function import as_function
from symderiv.foundation.errors import NotYetError
from symderiv.gaussian import covariance_symbols
from symderiv.lowering.means.closed_means import X, bias_symbols, field_symbols
from symderiv.lowering.means.patterns import upper_triangle
from symderiv.numerics.templates import MOST_CONSTANTS, MOST_JOINT, MOST_NONLINEAR
from symderiv.statement.field_law import Law
from symderiv.system.means.joint_forms import FormSlot
from symderiv.system.means.polynomials import mean_over

__all__ = ["LARGEST_VARIANCE", "MOST_NONLINEAR", "Joint", "JointMeans", "rule_for"]

LARGEST_VARIANCE = 2.0
TOLERANCE = 1e-9
_REACH = 7.5
_STEPS = (0.9, 0.7, 0.55, 0.45, 0.36, 0.29, 0.23)
_SAFETY = 3.0


@dataclass(frozen=True)
class Joint:
    """A function of a few fields whose mean is taken by quadrature.

    Args:
        function: The function in z1, z2, …, a polynomial of the last ones.
        nonlinear: How many fields it is not a polynomial of.
        size: How many fields there are.
        constants: Further symbols that it is a polynomial of.
    """

    function: sp.Expr
    nonlinear: int
    size: int
    constants: tuple[sp.Symbol, ...] = ()

    @property
    def fields(self) -> tuple[sp.Symbol, ...]:
        """z1, z2, …"""
        return field_symbols(self.size)

    @property
    def left(self) -> dict[tuple[int, int], sp.Symbol]:
        """The covariance of the last fields when the others are given, by their places."""
        linear = self.size - self.nonlinear
        return {
            (i, j): sp.Symbol(f"s{i + 1}{j + 1}", real=True)
            for i in range(linear)
            for j in range(i, linear)
        }

    @cached_property
    def integrand(self) -> sp.Expr:
        """The mean over the last fields given the others, which is what is integrated.

        The last fields stand for their conditional means in it.
        """
        found = mean_over(self.function, self.fields[self.nonlinear :], self.left)
        if found is None:
            raise NotYetError(f"{self.function} is not a polynomial of its last fields")
        return found

    @property
    def arguments(self) -> tuple[sp.Symbol, ...]:
        """Arguments of the integrand."""
        return (*self.fields, *self.left.values(), *self.constants)


class JointMeans:
    """The functions by quadrature of one system, with the rule that they share.

    Attributes:
        functions: The functions by name.
        names: What each joint function is called.
        error: The largest error found, times a safety factor; zero without such means.
        step: The rule's, in units of the fields.
    """

    def __init__(self) -> None:
        self.functions: dict[str, ScalarFunction | TemplateFunction] = {}
        self.names: dict[Joint, str] = {}
        self.error, self.step = 0.0, _STEPS[0]

    @property
    def constants(self) -> dict[str, float | tuple[float, ...]]:
        """Constants of the module."""
        if not self.names:
            return {}
        return {
            "JOINT_RULE": (self.step, 1.1 * self.step, _REACH),
            "JOINT_ERROR": self.error,
            "JOINT_LARGEST_VARIANCE": LARGEST_VARIANCE,
        }

    def mean(self, slots: Sequence[FormSlot], law: Law) -> sp.Expr:
        """Return the mean of a product of functions of affine combinations of fields.

        Raises:
            NotYetError: More joint fields than are integrated over, or a function that the rules
                do not integrate to the tolerance.
        """
        delta = next((n for n, s in enumerate(slots) if s.function.has(sp.DiracDelta)), None)
        forms = [slot.form for slot in slots]
        covariance, means = law.moments(forms)
        if delta is not None:
            return self._given(slots, delta, covariance, means)
        return self._called([slot.function for slot in slots], covariance, means)

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
        for term in sp.Add.make_args(sp.expand(slots[delta].function)):
            rest, place = _at_delta(term)
            variance = covariance[delta][delta]
            gap = place - means[delta]
            density = sp.exp(-(gap**2) / (2 * variance)) / sp.sqrt(2 * sp.pi * variance)
            share = {n: covariance[n][delta] / variance for n in others}
            left = [
                [covariance[n][m] - share[n] * covariance[m][delta] for m in others] for n in others
            ]
            inner = self._called(
                [slots[n].function for n in others],
                left,
                [means[n] + share[n] * gap for n in others],
            )
            total += rest * density * inner
        return total

    def _called(
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
        integrand = sp.Mul(
            *(
                f.xreplace({X: z})
                for f, z in zip((functions[n] for n in order), field_symbols(size), strict=True)
            )
        )
        nonlinear = sum(not _is_polynomial(functions[n]) for n in order)
        ordered = [[covariance[i][j] for j in order] for i in order]
        return self._call(Joint(integrand, nonlinear, size), ordered, [means[n] for n in order])

    def _call(
        self, joint: Joint, covariance: Sequence[Sequence[sp.Expr]], means: Sequence[sp.Expr]
    ) -> sp.Expr:
        """Return the mean of a function of fields with these moments."""
        triangle = [covariance[i][j] for i in range(joint.size) for j in range(i, joint.size)]
        if joint.nonlinear == 0:
            places = dict(zip(joint.fields, means, strict=True))
            places |= dict(zip(joint.left.values(), triangle, strict=True))
            return joint.integrand.xreplace(places)
        return sp.Function(self._named(joint))(*triangle, *means, *joint.constants)

    def joint(
        self, function: sp.Expr, nonlinear: int, forms: Sequence[sp.Expr], law: Law
    ) -> sp.Expr:
        """Return the mean of a function of z1, z2, … that stand for affine combinations.

        Raises:
            NotYetError: As for ``mean``.
        """
        size = len(forms)
        constants = tuple(sorted(function.free_symbols - set(field_symbols(size)), key=str))
        return self._call(Joint(function, nonlinear, size, constants), *law.moments(forms))

    def _named(self, joint: Joint) -> str:
        if joint not in self.names:
            if joint.nonlinear > MOST_NONLINEAR or joint.size > MOST_JOINT:
                raise NotYetError(
                    f"it is a mean over {joint.nonlinear} joint fields of functions without closed "
                    f"means ({joint.size} in all); quadrature takes at most {MOST_NONLINEAR} "
                    f"({MOST_JOINT})"
                )
            if len(joint.constants) > MOST_CONSTANTS:
                names = ", ".join(map(str, joint.constants))
                raise NotYetError(f"it depends on {names}: more than {MOST_CONSTANTS} numbers")
            step, error = rule_for(joint)
            self.step, self.error = min(step, self.step), max(error, self.error)
            number = len(self.names) + 1
            name = f"joint_{number}"
            self.names[joint] = name
            covariance = covariance_symbols(joint.size)
            arguments = tuple(covariance[place] for place in upper_triangle(joint.size))
            arguments += bias_symbols(joint.size) + joint.constants
            self.functions[f"integrand_{number}"] = ScalarFunction(
                f"integrand_{number}",
                joint.arguments,
                (),
                joint.integrand,
                f"What {name} averages.",
                as_value=True,
            )
            self.functions[name] = TemplateFunction(
                name,
                arguments,
                f"joint_mean_{joint.size}_{joint.nonlinear}_{len(joint.constants)}",
                (("integrand", f"integrand_{number}"),),
                f"Mean of integrand_{number} by quadrature.",
            )
        return self.names[joint]


def _is_polynomial(function: sp.Expr) -> bool:
    return function.is_polynomial(X) is True


def _at_delta(term: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Return the factor and the place of f(x) δ(x − c).

    Raises:
        NotYetError: Two delta functions, or derivatives of them.
    """
    deltas = [f for f in sp.Mul.make_args(term) if f.has(sp.DiracDelta)]
    if len(deltas) != 1 or not isinstance(deltas[0], sp.DiracDelta) or len(deltas[0].args) > 1:
        raise NotYetError(f"{term} is more than one delta function times a function")
    argument = sp.expand(deltas[0].args[0])
    rate = sp.diff(argument, X)
    place = sp.cancel(X - argument / rate)
    return (term / deltas[0]).subs(X, place) / sp.Abs(rate), place


@lru_cache(maxsize=256)
def rule_for(joint: Joint) -> tuple[float, float]:
    """Return the coarsest step whose largest error found is below the tolerance, and that error.

    The search compares with the finest rule that is affordable in so many dimensions, at
    covariances up to variance ``LARGEST_VARIANCE``: independent, correlated and nearly aligned
    ones, with means and constants of order 1.

    Raises:
        NotYetError: No step does.
    """
    function = as_function(joint.arguments, joint.integrand)
    random = np.random.default_rng(7)
    cases = []
    for spread in (1.0, 0.05):
        for size in (LARGEST_VARIANCE, 0.5):
            vectors = np.ones((joint.size, 1)) + spread * random.standard_normal(
                (joint.size, joint.size + 1)
            )
            covariance = vectors @ vectors.T
            root = np.sqrt(np.diag(covariance))
            mean = random.uniform(-0.5, 0.5, joint.size)
            constants = random.uniform(-1.5, 1.5, len(joint.constants))
            cases.append((size * covariance / np.outer(root, root), mean, constants))
    if joint.nonlinear > 3:
        cases = cases[::2]
    # in four dimensions a rule of half the step is out of reach: the cost is that to the fourth
    finest = {4: 0.36, 3: 0.2}.get(joint.nonlinear, _STEPS[-1] / 1.5)
    exact = [_mean(function, joint, *case, finest) for case in cases]
    if not np.all(np.isfinite(exact)):
        raise NotYetError("it is not finite in double precision")
    scale = max(1.0, max(map(abs, exact)))
    for step in _STEPS:
        if step <= 1.2 * finest:
            break
        found = [
            abs(_mean(function, joint, *case, step) - value)
            for case, value in zip(cases, exact, strict=True)
        ]
        error = _SAFETY * max(found)
        if error <= TOLERANCE * scale:
            return step, float(f"{1.05 * error + 1e-14:.1e}")
    raise NotYetError(
        f"quadrature over its {joint.nonlinear} joint fields does not reach {TOLERANCE:g}: it is "
        "not smooth enough, or has too many fields"
    )


def _mean(
    function: object,
    joint: Joint,
    covariance: np.ndarray,
    mean: np.ndarray,
    constants: np.ndarray,
    step: float,
) -> float:
    """Return the mean by the rule of a module, in NumPy."""
    levels = joint.nonlinear
    values, turn = np.linalg.eigh(covariance)
    root = np.linalg.qr((turn * np.sqrt(np.maximum(values, 0.0))).T)[1].T
    rules = []
    for column in root.T[:levels]:
        longest = float(np.max(np.abs(column)))
        if longest == 0.0:
            rules.append((np.zeros(1), np.ones(1)))
            continue
        h = min(1.1 * step / np.sqrt(1.0 + float(column @ column)), step / longest)
        count = int(np.ceil(_REACH / h))
        nodes = h * np.arange(-count, count + 1)
        rules.append((nodes, h * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)))
    rest = root[levels:, levels:] @ root[levels:, levels:].T
    left = [rest[i, j] for i, j in joint.left]
    # one level outside, the others as arrays; nothing beyond the sphere
    weight = reduce(np.multiply.outer, (w for _, w in rules[1:]), np.ones(1)).ravel()
    places = np.meshgrid(*(t for t, _ in rules[1:]), indexing="ij")
    grids = np.reshape(places, (levels - 1, weight.size))
    radius = np.sum(grids**2, axis=0)
    total = 0.0
    for t, w in zip(*rules[0], strict=True):
        near = radius + t * t <= _REACH**2
        flat = grids[:, near]
        fields = mean + root[:, 0] * t + flat.T @ root[:, 1:levels].T
        with np.errstate(all="ignore"):
            value = function(*fields.T, *left, *constants)  # type: ignore[operator]
        total += w * float(np.sum(np.broadcast_to(value, weight[near].shape) * weight[near]))
    return total
