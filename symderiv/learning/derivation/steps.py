"""The steps of a derivation: operations with the expressions before and after.

Words and LaTeX are added by the narrator. ``of`` is always the quantity that a step is about,
``value`` what it is equal to after the step.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from symderiv.learning.derivation.indexed_sums import Limit


@dataclass(frozen=True)
class Equality:
    """A quantity and what it is equal to; the kind of step says why."""

    of: sp.Expr
    value: sp.Expr


class Defined(Equality):
    """A name for an expression."""


@dataclass(frozen=True)
class InputsAssumed:
    """Covariances of the input's components and with a teacher's field."""

    covariances: tuple[Equality, ...]


class NoisyInputs(Equality):
    """A coordinate of an input as the student sees it, and its variance."""


class NoiseDefined(Equality):
    """The mean of a noise drawn for an example; its square is 1, or itself."""


class MomentNamed(Equality):
    """A name was given to a moment or cumulant of a noise."""


@dataclass(frozen=True)
class LossDefined:
    """The loss of an example, in terms of δ if that suffices, and the generalisation error."""

    loss: sp.Expr
    error: sp.Expr


class Mixed(Equality):
    """A mean over an example is one over the components of the data."""


@dataclass(frozen=True)
class ForceFound:
    """The derivative of the loss by a field.

    Attributes:
        force: The name of the force.
        derivative: The derivative that it is.
        factored: The derivative by the chain rule, with the slope of the loss as one factor.
        value: The force written out.
    """

    force: sp.Expr
    derivative: sp.Expr
    factored: sp.Expr
    value: sp.Expr


@dataclass(frozen=True)
class Updated:
    """One step of gradient descent on a weight.

    Attributes:
        weight: The weight before the step.
        descended: The weight after the step, with the gradient as a derivative.
        value: The weight after the step, with the gradient written out.
    """

    weight: sp.Expr
    descended: sp.Expr
    value: sp.Expr


class Recognised(Equality):
    """Sums were replaced by the names that they define."""


class UpdateNoiseAveraged(Equality):
    """A change was averaged over the noise of the update."""


class Ordered(Equality):
    """The part of order 1/N of a change was taken: with Δα = 1/N a derivative by α."""


class SquareAveraged(Equality):
    """The square of a sum was multiplied out and averaged term by term."""


class IntegralsNamed(Equality):
    """Means of products of activations were written as integrals of their fields."""


class ModeCovariance(Equality):
    """The covariance of a field of one eigenspace with one of the example."""


class FieldCovariance(Equality):
    """The covariance of two fields of the example."""


@dataclass(frozen=True)
class SteinSum:
    """One sum of Stein's rule: over ``limit``, of a covariance times a coefficient."""

    limit: Limit
    covariance: sp.Expr
    coefficient: sp.Expr


@dataclass(frozen=True)
class Stein:
    """Stein's rule for a force and any Gaussian field.

    Attributes:
        of: The mean.
        sums: The sums that add up to the mean.
        coefficients: The names of the means of derivatives in it.
    """

    of: sp.Expr
    sums: tuple[SteinSum, ...]
    coefficients: tuple[Equality, ...]


class CoefficientAveraged(Equality):
    """The force was differentiated by a field and averaged, label noise included."""


class Priced(Equality):
    """The mean loss was differentiated by a covariance, mean by mean, by Price's rule."""


@dataclass(frozen=True)
class GradientsProved:
    """The coefficients of Stein's rule were found equal to derivatives of the mean loss.

    Attributes:
        second: The name of the first coefficient and the mean of second derivatives that it is.
        factor: The factor between the derivative by Q_ij and the first coefficient.
        gradient: The derivative by Q_ij.
        teacher: The second coefficient and the derivative by R_in.
    """

    second: Equality
    factor: sp.Expr
    gradient: sp.Expr
    teacher: Equality


@dataclass(frozen=True)
class InputPower:
    """The squared length of the input in an eigenspace, by Wick's rule.

    Attributes:
        of: The symbol of the squared length.
        mean: Its mean.
        variance: Its variance.
    """

    of: sp.Expr
    mean: sp.Expr
    variance: sp.Expr


@dataclass(frozen=True)
class SelfAveraged:
    """The limit, for N to infinity, of a mean with the squared length of the input.

    Attributes:
        of: The mean.
        value: Its limit.
        relative_variance: The relative variance of the squared length.
    """

    of: sp.Expr
    value: sp.Expr
    relative_variance: sp.Expr


class NoiseAveraged(Equality):
    """The label noise was averaged over."""


@dataclass(frozen=True)
class Divergent:
    """The activation jumps: the mean of the square of its derivative does not exist."""

    of: sp.Expr


@dataclass(frozen=True)
class ForceAveraged:
    """The mean force on an output weight, found equal to the derivative of the mean loss by it.

    Attributes:
        of: The mean force.
        value: The mean force written out.
        gradient: The derivative that it is.
    """

    of: sp.Expr
    value: sp.Expr
    gradient: sp.Expr


class MeanGradient(Equality):
    """N times the gradient of the mean loss by a weight."""


class Moved(Equality):
    """The gradient of the mean loss by a weight, times N."""


class Averaged(Equality):
    """The mean over an example of a rate."""


class MeansTaken(Equality):
    """Stein's rule, self-averaging and the name Γ replaced all means in a rate."""


class OneComponent(Equality):
    """The special case of data with a single component."""


class MomentsSummed(Equality):
    """The rates of the eigenspaces were summed over the eigenvalues."""


@dataclass(frozen=True)
class ClosureDefined:
    """The coefficients of the polynomial with the eigenvalues as its roots.

    Attributes:
        coefficient: c_l.
        eigenvalue: ρ_k.
    """

    coefficient: sp.Expr
    eigenvalue: sp.Expr


class LadderClosed(Equality):
    """The highest power of an eigenvalue in a moment was replaced by the lower ones."""


LearningStep = (
    Equality
    | InputsAssumed
    | LossDefined
    | ForceFound
    | Updated
    | Stein
    | GradientsProved
    | InputPower
    | SelfAveraged
    | ForceAveraged
    | Divergent
    | ClosureDefined
)
