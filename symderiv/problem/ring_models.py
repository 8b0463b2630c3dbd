"""Inputs on a ring of sites as input models: nonlinear Gaussian processes, single pulses."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, model_validator

from symderiv.foundation.errors import InputError
from symderiv.keys.checked import conflict
from symderiv.keys.key_records import Key
from symderiv.problem.input_model import InputModel, filling

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from symderiv.inputs import DataModel
    from symderiv.inputs.ring import Floats
    from symderiv.inputs.ring_inputs import GaussianRing, NonlinearProcess, Pulses

Gain = Annotated[float, Field(gt=0.0)]
Sites = Annotated[int, Field(ge=2, le=4096)]
# Lengths are checked by the law.
Lengths = Annotated[Any, PlainValidator(lambda value: value)]


class RingModel(InputModel):
    """Inputs of two laws on a ring, of mean 0 and variance 1; label 1 has the first, 0 the second.

    As inputs of a study an example has either law with probability 1/2, and the teacher determines
    the target.
    """

    DIMENSION: ClassVar[str] = "sites"
    sites: Annotated[Sites, Key("number of sites", "D")] = 40

    @cached_property
    def law(self) -> NonlinearProcess | Pulses:
        """The laws of the two classes of inputs."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _acceptable(self) -> RingModel:
        try:
            _ = self.law
        except InputError as error:
            raise conflict(str(error.argument), error.reason) from None
        return self

    def row(self, label: int) -> Floats:
        """Return the first row of the covariance of a label, shape (D,)."""
        return self.law.row(label)

    def covariance(self, label: int) -> Floats:
        """Return the covariance of a label, shape (D, D)."""
        return self.law.covariance(label)

    def surrogate(self) -> GaussianRing:
        """Return Gaussian inputs of the same covariances."""
        return self.law.surrogate()

    def sample(self, label: int, shape: tuple[int, ...], generator: np.random.Generator) -> Floats:
        """Return inputs of a label, shape ``(*shape, D)``."""
        return self.law.sample(label, shape, generator)

    def excess_kurtosis(self) -> float:
        """E x⁴ − 3 of a site."""
        return self.law.excess_kurtosis()

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs.ring_model import ring_model

        return ring_model(str(self.model), self.law)  # type: ignore[attr-defined]


class NLGP(RingModel, table="data"):
    """Nonlinear Gaussian processes: x_i = ψ(g z_i)/Z, z of covariance exp(−d²/ξ²) on the ring.

    Args:
        [data]

    Raises:
        InputError: an argument is not acceptable; a length is too long for the ring.

    >>> inputs = NLGP(gain=3, lengths=(2, 1))
    >>> inputs.covariance(1)[0, :3].round(4)
    array([1.    , 0.6936, 0.3014])
    """

    model: Literal["nlgp"] = "nlgp"
    gain: Annotated[
        Gain, Key("gain: inputs become Gaussian as it tends to 0, and are signs at ``inf``", "g")
    ]
    lengths: Annotated[
        Lengths,
        Key(
            "correlation lengths in sites, of label 1 and of label 0; one number for both labels",
            "ξ",
        ),
    ]
    convention: Annotated[
        Literal["erf(u/sqrt(2))", "erf(u)"], Key("nonlinearity of the inputs", "ψ")
    ] = "erf(u/sqrt(2))"

    @filling
    def __init__(
        self,
        gain: float,
        lengths: Sequence[float] | float,
        sites: int | None = None,
        convention: str | None = None,
    ) -> None:
        self._fill(locals())

    @cached_property
    def law(self) -> NonlinearProcess:
        """The nonlinear processes of the two classes of inputs."""
        from symderiv.inputs.ring_inputs import NonlinearProcess

        return NonlinearProcess(self.gain, self.lengths, self.sites, self.convention)


class SinglePulse(RingModel, table="data"):
    """One pulse at a random place of a ring, centred and of unit variance.

    Args:
        [data]

    Raises:
        InputError: an argument is not acceptable.

    >>> SinglePulse(lengths=(10, 2)).covariance(0)[0, :3].round(4)
    array([1. , 0.9, 0.8])
    """

    model: Literal["single-pulse"] = "single-pulse"
    lengths: Annotated[
        Lengths,
        Key(
            "lengths of pulses in sites, ``(least, most)`` for label 1 and for label 0, each "
            "length equally often; one number for pulses of one length",
            "ℓ",
        ),
    ]
    complement: Annotated[bool, Key("whether half of the inputs are complements of pulses")] = True

    @filling
    def __init__(
        self,
        lengths: Sequence[Any],
        sites: int | None = None,
        complement: bool | None = None,
    ) -> None:
        self._fill(locals())

    @cached_property
    def law(self) -> Pulses:
        """The pulses of the two classes of inputs."""
        from symderiv.inputs.ring_inputs import Pulses

        return Pulses(self.lengths, self.sites, self.complement)
