"""The check of a generated module's scalar functions: bounds, nested sums, and slopes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import signature

import numpy as np

from symderiv.checking.checked_module import CheckedModule, GeneratedError
from symderiv.checking.nested_means import Function, OfField, nested_mean, resolving
from symderiv.checking.plain_functions import Floats

ROUNDING = 1e-9
_BIASES = (0.4, -0.7, 0.9, -0.2)
_FACTOR = re.compile(r"([gh])('*)\((\w)\)")


@dataclass(frozen=True)
class CheckedMean:
    """A scalar function of the module and the mean that its docstring states.

    ``factors``: for each, whether it is the teacher's, the order of its derivative, and its field.
    ``biases``: those of the fields, passed after the covariances; empty if the function takes none.
    """

    name: str
    function: Callable[..., float]
    factors: tuple[tuple[bool, int, int], ...]
    scale: float
    biases: tuple[float, ...] = ()

    def at(self, covariance: Floats) -> float:
        """Return the function at a covariance."""
        return self.function(*_triangle(covariance), *self.biases)

    def bias(self, field: int) -> float:
        """Return the bias of a field."""
        return self.biases[field] if self.biases else 0.0

    @property
    def fields(self) -> int:
        """Return the number of distinct fields."""
        return max(field for *_, field in self.factors) + 1


def check_means(module: CheckedModule) -> None:
    """Check that every mean is within its Hölder bound and agrees with its definition.

    Raises:
        GeneratedError: One does not.
    """
    for mean in _means(module):
        error = module.stated_of_two if len(mean.factors) == 2 else module.stated
        for place, covariance in enumerate(_covariances(mean.fields)):
            value = mean.at(covariance)
            bound, varying = _sizes(module, mean, covariance)
            if not abs(value) <= bound * (1 + 1e-4) + 10 * error + 1e-13 * bound:
                raise GeneratedError(
                    f"{mean.name}({_listed(covariance)}) = {value:.6g} is outside of its "
                    f"Hölder bound {bound:.6g}"
                )
            rounding = ROUNDING * varying + 1e-11 * bound
            if place < 2:
                _as_defined(module, mean, covariance, value, 10 * error + 10 * rounding)
            _check_fast(module, mean, covariance, value, rounding)


def check_activations(module: CheckedModule) -> None:
    """Compare the activations and slopes that simulations use with their formulas.

    Raises:
        GeneratedError: One differs.
    """
    x = np.array([-3.7, -1.9, -0.8, -0.31, 0.12, 0.55, 1.3, 2.6])
    for teacher, owner in ((False, "student"), (True, "teacher")):
        size = float(np.abs(module.functions.value(teacher, 0)(x)).max())
        for order, name in ((0, f"{owner}_activation"), (1, f"{owner}_activation_derivative")):
            if not (hasattr(module.names, name) and module.functions.exists(teacher, order)):
                continue
            expected = module.functions.value(teacher, order)(x)
            slope = 1e-10 * size + 1e-8 * float(np.abs(expected).max())
            allowed = slope if order else 1e-12 * size
            for names in (module.names, module.fast):
                function = getattr(names, name, getattr(module.names, name))
                values = np.array([function(float(each)) for each in x])
                far = ~(np.abs(values - expected) <= allowed)
                if far.any():
                    at = int(np.argmax(far))
                    raise GeneratedError(
                        f"{name}({x[at]}) = {values[at]:.12g}, but its formula gives "
                        f"{expected[at]:.12g}"
                    )


def check_derivatives(module: CheckedModule) -> None:
    """Compare functions that are stated to be derivatives of another one with finite differences.

    Raises:
        GeneratedError: One differs.
    """
    step = 0.02 if module.quadrature else 1e-3
    for name, function in sorted(vars(module.names).items()):
        stated = re.search(r"= dI2/dc1([12])\b", getattr(function, "__doc__", None) or "")
        whole = getattr(module.names, re.sub(r"^i2_1[12]", "i2", name), None)
        if stated is None or whole is None or not name.startswith("i2_1"):
            continue
        biases = _BIASES[:2] if len(signature(function).parameters) > 3 else ()
        at = np.array([1.1, 0.4, 0.8, *biases])
        moved = step * np.eye(at.size)[int(stated[1]) - 1]
        values = [whole(*(at + n * moved)) for n in (1, -1, 2, -2)]
        low = (values[0] - values[1]) / (2 * step)
        slope = (4 * low - (values[2] - values[3]) / (4 * step)) / 3
        value = function(*at)
        allowed = 3 * module.stated_of_two / step
        size = abs(slope) + max(values) - min(values)
        allowed += (1e-5 if module.quadrature else 1e-8) * size
        allowed += 1e-14 * max(abs(each) for each in values) / step + 0.1 * abs(slope - low)
        if not abs(value - slope) <= allowed:
            raise GeneratedError(
                f"{name}(1.1, 0.4, 0.8) = {value:.9g}, but the slope of {whole.__name__} is "
                f"{slope:.9g}"
            )


def _means(module: CheckedModule) -> Iterator[CheckedMean]:
    """Yield means whose factors are ordinary functions (no derivative of a slope that jumps)."""
    for name, function in sorted({**vars(module.fast), **vars(module.names)}.items()):
        if not re.match(r"(i\d|mean_\d)", name):
            continue
        parts = _FACTOR.findall(function.__doc__ or "")
        letters = sorted({letter for *_, letter in parts})
        factors = tuple((f == "h", len(o), letters.index(letter)) for f, o, letter in parts)
        if parts and all(module.functions.exists(teacher, n) for teacher, n, _ in factors):
            half = str(function.__doc__).startswith("1/2")
            fields = len(letters)
            given = len(signature(function).parameters) - fields * (fields + 1) // 2
            yield CheckedMean(name, function, factors, 0.5 if half else 1.0, _BIASES[:given])


def _check_fast(
    module: CheckedModule, mean: CheckedMean, covariance: Floats, value: float, rounding: float
) -> None:
    """Compare a mean with the function of the same name in the fast module, if there is one."""
    other = replace(mean, function=getattr(module.fast, mean.name, mean.function)).at(covariance)
    if not abs(other - value) <= rounding:
        raise GeneratedError(
            f"{mean.name}({_listed(covariance)}) = {value:.9g}, but {other:.9g} in the fast module"
        )


def _sizes(module: CheckedModule, mean: CheckedMean, covariance: Floats) -> tuple[float, float]:
    """Return the product of the factors' p-norms, p their number, and that of centred factors.

    The first is Hölder's bound; the second does not grow with constants added to activations.
    """
    z = np.linspace(-12, 12, 4800)
    density = np.exp(-(z**2) / 2) / (2 * np.pi) ** 0.5 * (z[1] - z[0])
    power = len(mean.factors)
    bound = varying = mean.scale
    for teacher, order, field in mean.factors:
        fields = z * covariance[field, field] ** 0.5 + mean.bias(field)
        values = module.functions.value(teacher, order)(fields)
        apart = values - float(values @ density)
        whole, part = (
            float((np.abs(each) ** power * density).sum()) ** (1 / power)
            for each in (values, apart)
        )
        bound *= whole
        varying *= part if part > 1e-8 * whole else whole
    return bound, varying


def _as_defined(
    module: CheckedModule, mean: CheckedMean, covariance: Floats, value: float, allowed: float
) -> None:
    """Compare a mean with nested sums, if these resolve it; an error counts if finer sums confirm
    it.
    """
    fields = []
    for place in range(mean.fields):
        own = [(teacher, order) for teacher, order, field in mean.factors if field == place]
        values = [module.functions.value(*each) for each in own]
        bias = mean.bias(place)
        kinks = {kink - bias for teacher, _ in own for kink in module.functions.kinks(teacher)}

        def product(z: Floats, values: list[Function] = values, bias: float = bias) -> Floats:
            return np.asarray(np.prod([each(z + bias) for each in values], axis=0))

        fields.append(OfField(product, tuple(sorted(kinks))))
    points = resolving(fields, covariance)
    if points is None:
        return
    mean_by_sums, apart = nested_mean(fields, covariance, points)
    expected, error = mean.scale * mean_by_sums, mean.scale * apart
    if abs(value - expected) <= allowed + 3 * error:
        return
    mean_by_sums, apart = nested_mean(fields, covariance, 1.4 * points)
    finer, error = mean.scale * mean_by_sums, mean.scale * apart
    same = abs(finer - expected) <= 0.1 * abs(value - finer)
    if math.isnan(value) or (same and not abs(value - finer) <= allowed + 3 * error):
        raise GeneratedError(
            f"{mean.name}({_listed(covariance)}) = {value:.9g}, but its definition gives "
            f"{finer:.9g} ± {error:.1g}"
        )


def _covariances(size: int) -> Iterator[Floats]:
    """Yield two general ones with correlations of either sign, then two of nearly equal fields."""
    for seed, sign in ((10, 1), (20, -1), (30, 1), (40, -1)):
        rng = np.random.default_rng(seed + size)
        rows = rng.normal(size=(size, size + 2)) / (size + 2) ** 0.5
        rows += 0.8 * rng.normal(size=size + 2) / (size + 2) ** 0.5
        if seed > 20 and size > 1:
            rows[0] = rows[1] + (0.05 if sign > 0 else 1e-4) * rows[0]
        rows[0] *= sign
        yield rows @ rows.T


def _triangle(covariance: Floats) -> list[float]:
    upper = np.triu_indices(len(covariance))
    return [float(entry) for entry in covariance[upper]]


def _listed(covariance: Floats) -> str:
    return ", ".join(f"{entry:.4g}" for entry in _triangle(covariance))
