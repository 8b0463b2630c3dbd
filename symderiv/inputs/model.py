"""A data model: a list of Gaussian components that share an eigenbasis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from symderiv.foundation.errors import InputError, NotYetError
from symderiv.inputs.latent_teacher import LatentTeacher

#: Multiplicity below which an integration's result carries a warning.
SMALL_MULTIPLICITY = 10


@dataclass(frozen=True)
class Component:
    """One Gaussian component of the inputs.

    Args:
        probability: the probability of drawing an example from it, in (0, 1].
        eigenvalue: the distinct eigenvalues of its covariance, shape (L,), >= 0, not all zero.
        weight: their multiplicities divided by the dimension, shape (L,), > 0, sum 1.

    Raises:
        InputError: a value is not admissible; the message starts with the array's name.
    """

    probability: float
    eigenvalue: np.ndarray
    weight: np.ndarray

    def __post_init__(self) -> None:
        eigenvalue = np.array(self.eigenvalue, dtype=np.float64)
        weight = np.array(self.weight, dtype=np.float64)
        if eigenvalue.ndim != 1 or eigenvalue.size == 0:
            raise InputError("must be a list of at least one number", argument="eigenvalues")
        if weight.shape != eigenvalue.shape:
            raise InputError(
                f"{weight.size} given for {eigenvalue.size} eigenvalues; give one for each",
                argument="weights",
            )
        if not np.all(np.isfinite(eigenvalue)):
            raise InputError("must be finite numbers", argument="eigenvalues")
        if np.any(eigenvalue < 0):
            raise InputError(
                f"{eigenvalue.min():g} is negative; a variance must be 0 or larger",
                argument="eigenvalues",
            )
        if not np.any(eigenvalue > 0):
            raise InputError("all are zero; the inputs would be constant", argument="eigenvalues")
        if not np.all(np.isfinite(weight)) or np.any(weight <= 0):
            raise InputError("must be positive numbers", argument="weights")
        if abs(weight.sum() - 1.0) > 1e-9:
            raise InputError(f"their sum is {weight.sum():.12g}; it must be 1", argument="weights")
        if not (math.isfinite(self.probability) and 0.0 < self.probability <= 1.0):
            raise InputError(f"{self.probability!r} is not in (0, 1]", argument="probability")
        for name, array in (("eigenvalue", eigenvalue), ("weight", weight)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)


@dataclass(frozen=True)
class DataModel:
    """The inputs of a study.

    Args:
        name: the model's name in a study file.
        components: at least one; their probabilities sum to 1.
        dimension: N, or None for the limit of infinite N.
        remarks: notes for readers of results on the origin of the inputs.
        latent: what the teacher sees instead of the inputs; None if it sees the inputs.

    Raises:
        InputError: the probabilities do not sum to 1.
    """

    name: str
    components: tuple[Component, ...]
    dimension: int | None = None
    remarks: tuple[str, ...] = ()
    latent: LatentTeacher | None = None

    def __post_init__(self) -> None:
        total = sum(component.probability for component in self.components)
        if not self.components or abs(total - 1.0) > 1e-9:
            raise InputError(
                f"their probabilities sum to {total:g}; it must be 1", argument="components"
            )

    @property
    def has_latent_teacher(self) -> bool:
        """True if the teacher does not see the inputs themselves."""
        return self.latent is not None and self.latent.variance is None

    def single(self) -> Component:
        """Return the only component.

        Raises:
            NotYetError: there are several.
        """
        if len(self.components) != 1:
            raise NotYetError(
                f"has {len(self.components)} components; this version handles inputs with one "
                "component only",
                argument="data",
            )
        return self.components[0]

    def average(self) -> Component:
        """Return the component with the eigenvalues averaged over all components."""
        if len(self.components) == 1:
            return self.components[0]
        eigenvalue = sum(c.probability * c.eigenvalue for c in self.components)
        return Component(1.0, np.asarray(eigenvalue), self.components[0].weight)

    def multiplicities(self) -> np.ndarray:
        """Return the number of coordinates of each eigenvalue, shape (L,), int64, sum N.

        Raises:
            InputError: there is no dimension, or N times a weight is not a whole number.
        """
        if self.dimension is None:
            raise InputError(
                "is missing; vectors cannot be drawn without it", argument="data.dimension"
            )
        exact = self.dimension * self.average().weight
        counts: np.ndarray = np.rint(exact).astype(np.int64)
        off = np.abs(exact - counts)
        if np.any(off > 1e-6) or np.any(counts < 1):
            k = int(np.argmax(np.where(counts < 1, np.inf, off)))
            raise InputError(
                f"{self.average().weight[k]:g} of {self.dimension} coordinates is "
                f"{exact[k]:g}, not a whole number; change the weight or data.dimension",
                argument="data.weights",
            )
        return counts

    def effective_dimension(self) -> float:
        r"""Return the number of directions that share the variance of a field, in [1, N].

        It is :math:`(\sum_a \rho_a)^2 / \sum_a \rho_a^2` over the N coordinates: N for isotropic
        inputs. A vector J of independent normal entries has the overlap
        :math:`\sum_a \rho_a J_a^2 / N` with relative variance 2 over this number.

        Raises:
            InputError: there is no dimension.
        """
        if self.dimension is None:
            raise InputError(
                "is missing; the limit has infinitely many directions, so give the number of "
                "inputs",
                argument="data.dimension",
            )
        counts = self.dimension * self.average().weight
        eigenvalue = self.average().eigenvalue
        return float((counts @ eigenvalue) ** 2 / (counts @ eigenvalue**2))

    def warnings(self) -> tuple[str, ...]:
        """Return warnings for a reader of results: eigenvalues of small multiplicity.

        The equations per eigenvalue are the limit of stochastic gradient descent when each
        eigenvalue has many coordinates. With few, the overlaps of an eigenspace fluctuate from
        run to run, and one example moves its largest direction by a finite amount.
        """
        if self.dimension is None:
            return ()
        counts = self.dimension * self.average().weight
        eigenvalue = self.average().eigenvalue
        smallest = float(counts.min())
        if smallest >= SMALL_MULTIPLICITY or self.has_latent_teacher:
            # with a latent teacher all eigenvalues are simple, none of them large
            return ()
        share = float(np.max(eigenvalue) / (counts @ eigenvalue))
        fluctuation = math.sqrt(2.0 / self.effective_dimension())
        within = math.sqrt(2.0 / smallest)
        return (
            f"an eigenvalue has only {smallest:g} of {self.dimension} coordinates: the equations "
            "are not the large-N limit of stochastic gradient descent there. Size of the effect: "
            f"one direction carries {share:.1%} of the input variance; from run to run the "
            f"overlaps of such an eigenspace differ by about {within:.0%} of their value and the "
            f"overlaps Q of independent weights by about {fluctuation:.0%}",
        )
