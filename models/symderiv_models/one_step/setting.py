"""Settings of one gradient step: the keys of a study, checked."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from symderiv.foundation.errors import FormulaError, InputError
from symderiv.keys.checked import NotNegative, Positive, Seed, Table, conflict, explained

__all__ = ["ASYMPTOTIC", "EQUATIONS", "MODELS", "MOST_DEGREE", "Setting", "window_degree"]

#: The models that are compared, all with the first.
MODELS: Final = ("network", "conditional_gaussian", "hermite")
#: A further model: the error of ridge on the conditional map, by equations.
EQUATIONS: Final = "ridge_equations"
#: Another: that error averaged over first layers, spikes and teachers, without random numbers.
ASYMPTOTIC: Final = "asymptotic"
Model = Literal["network", "conditional_gaussian", "hermite", "ridge_equations", "asymptotic"]
#: Most spikes per component for which nodes over κ are affordable.
_MOST_RANK: Final = {EQUATIONS: 2, ASYMPTOTIC: 10}

#: Highest degree that β alone can lead to; that of the authors' programs.
MOST_DEGREE: Final = 4

Size = Annotated[int, Field(ge=2, le=50_000)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]

#: Sizes of the short version of a study.
_QUICK_SIZE, _QUICK_TRIALS = 200, 8


def window_degree(beta: float) -> int | None:
    """Return the highest degree l - 1 of the window (l-2)/(l-1) < β < (l-1)/l that contains β.

    At the end of a window it is the degree of the window below; it is at least 1, and None for β =
    1, which lies in no window. β is read as the decimal that is printed for it: 0.75 is 3/4.
    """
    exact = Fraction(str(beta))
    return None if exact == 1 else max(1, math.ceil(exact / (1 - exact)))


class Setting(Table):
    """A checked statement of data, network, step and models."""

    n: Size
    m: Size | None = None
    k: Size | None = None
    alpha: Share = 0.5
    beta: Share = 0.74
    ridge: Positive = 1e-4
    activation: str = "relu"
    task: Literal["regression", "classification"] = "regression"
    mixture_weight: Share = 0.5
    alignment: Annotated[float, Field(ge=-1.0, le=1.0, allow_inf_nan=False)] = 0.0
    rank: Annotated[int, Field(ge=1, le=1000)] = 1
    spikes: Literal["equal", "uniform"] = "equal"
    mean: NotNegative = 0.0
    trials: Annotated[int, Field(ge=1, le=1_000_000)] = 20
    seed: Seed = 0
    degree: Annotated[int, Field(ge=0, le=30)] | None = None
    test_samples: Size | None = None
    models: list[Model] = Field(default=list(MODELS))

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        known = list(cls.model_fields)
        for name in given if isinstance(given, Mapping) else ():
            if name not in known:
                close = difflib.get_close_matches(str(name), known, n=1)
                hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(known)}"
                raise conflict(str(name), f"unknown key{hint}")
        return given

    @field_validator("activation")
    @classmethod
    def _readable(cls, text: str) -> str:
        from symderiv.formula import activation

        try:
            activation(text)
        except FormulaError as error:
            raise error.renamed("activation") from None
        return text

    @field_validator("models")
    @classmethod
    def _each_once(cls, names: list[str]) -> list[str]:
        if "network" not in names or len(set(names)) < len(names):
            reason = 'must have "network", which the others are compared with, and each once'
            raise InputError(reason, argument="models")
        return [name for name in (*MODELS, EQUATIONS, ASYMPTOTIC) if name in names]

    @model_validator(mode="after")
    def _fits(self) -> Setting:
        # beside the spikes and the gradient's direction there must be one more dimension
        least = 2 * self.rank + 2
        if self.n < least:
            raise conflict("rank", f"{self.rank} spikes in each component need n >= {least}")
        for name, most in _MOST_RANK.items():
            if name in self.models and self.rank > most:
                raise conflict("models", f"{name} needs rank <= {most}")
        if ASYMPTOTIC in self.models and self.mean:
            raise conflict("models", f"{ASYMPTOTIC} needs mean = 0")
        return self

    def _fill(self, given: Mapping[str, Any]) -> None:
        """Check the keys and keep them: the body of ``__init__``."""
        try:
            self.__pydantic_validator__.validate_python(dict(given), self_instance=self)
        except ValidationError as error:
            raise explained(error) from None

    # -- what the keys mean --------------------------------------------------------------------

    @property
    def samples(self) -> int:
        """The number m of samples for the gradient step and for ridge; n by default."""
        return self.m or self.n

    @property
    def neurons(self) -> int:
        """The number k of neurons; m by default."""
        return self.k or self.samples

    @property
    def tests(self) -> int:
        """The number of test samples; 5 m by default."""
        return self.test_samples or 5 * self.samples

    @property
    def spike(self) -> float:
        """The strength of spikes, θ = n^(β (1 - α))."""
        return float(self.n ** (self.beta * (1.0 - self.alpha)))

    @property
    def learning_rate(self) -> float:
        """The learning rate, η = n^(β α)."""
        return float(self.n ** (self.beta * self.alpha))

    @property
    def hermite_degree(self) -> int:
        """The degree given, or that of the window of β, at most :data:`MOST_DEGREE`."""
        if self.degree is not None:
            return self.degree
        return min(window_degree(self.beta) or MOST_DEGREE, MOST_DEGREE)

    def shortened(self) -> dict[str, Any]:
        """Return keys for a run of seconds: n at most 200, sizes in the same ratios, 8 trials."""
        scale = min(1.0, _QUICK_SIZE / self.n)
        sizes = {
            name: max(2 * self.rank + 2, round(scale * value))
            for name, value in (
                ("n", self.n),
                ("m", self.samples),
                ("k", self.neurons),
                ("test_samples", self.tests),
            )
        }
        given = self.model_dump(exclude_unset=True)
        return {**given, **sizes, "trials": min(self.trials, _QUICK_TRIALS)}
