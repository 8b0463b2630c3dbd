"""The input models of a study: the tables [data], and the classes of the library.

One class is both. A study file gives it as a table with the key ``model``; Python code calls it
with keyword arguments, where arrays may stand in place of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from symderiv.inputs.given import Given, source
from symderiv.keys.checked import Dimension, NotNegative, Number, Positive, Seed, conflict
from symderiv.keys.key_records import Key
from symderiv.problem.input_model import FileOrArrays, InputModel, arrays, filling
from symderiv.problem.ring_models import NLGP, SinglePulse

if TYPE_CHECKING:
    import numpy.typing as npt

    from symderiv.inputs import DataModel
    from symderiv.inputs.model import Component

    Numbers = Sequence[float] | npt.NDArray[np.float64]
    Matrix = Sequence[Sequence[float]] | npt.NDArray[np.float64]
    File = str | PathLike[str]

__all__ = [
    "NLGP",
    "Covariance",
    "Data",
    "GaussianMixture",
    "Generator",
    "HiddenManifold",
    "InputModel",
    "Isotropic",
    "PowerLaw",
    "SinglePulse",
    "Spectrum",
]

Size = Annotated[Dimension | None, Key("dimension of the inputs", "N")]
NONLINEARITY = Key("nonlinearity of the inputs: a name, or a formula in ``x``", "f")
LATENT = Key("dimension of the latent vectors", "D")
Features = Annotated[
    FileOrArrays | None,
    Key(
        "features, shape (N, D), or a file with them (``features``); normal numbers when left out",
        "F",
    ),
]
FeatureSeed = Annotated[Seed, Key("seed of the drawn features")]
_LATENT_KEYS = ("nonlinearity", "latent_dimension", "components", "separation", "assignment")


class Isotropic(InputModel, table="data"):
    """Inputs of independent coordinates of variance 1.

    Args:
        [data]

    >>> Isotropic(dimension=500)
    Isotropic(dimension=500)
    """

    model: Literal["isotropic"] = "isotropic"
    dimension: Annotated[
        Dimension | None,
        Key(
            "dimension of the inputs, for drawn initial vectors and simulations; the limit N → ∞ "
            "when left out",
            "N",
        ),
    ] = None

    @filling
    def __init__(self, dimension: int | None = None) -> None:
        self._fill(locals())

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import isotropic

        return isotropic(self.dimension)


class Spectrum(InputModel, table="data"):
    """Gaussian inputs with the given eigenvalues of their covariance.

    Args:
        [data]

    >>> Spectrum([2.0, 0.5], weights=[0.25, 0.75], dimension=400)
    Spectrum(dimension=400, eigenvalues=[2.0, 0.5], weights=[0.25, 0.75])
    """

    model: Literal["spectrum"] = "spectrum"
    dimension: Size = None
    eigenvalues: Annotated[
        list[Number], Key("eigenvalues, not negative and not all zero, shape (L,)", "ρ_k")
    ]
    weights: Annotated[
        list[Number] | None,
        Key("multiplicities divided by N, shape (L,), with sum 1; equal ones when left out"),
    ] = None

    @filling
    def __init__(
        self,
        eigenvalues: Numbers,
        *,
        weights: Numbers | None = None,
        dimension: int | None = None,
    ) -> None:
        self._fill(locals())

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import spectrum

        return spectrum(self.eigenvalues, self.weights, self.dimension)


class PowerLaw(InputModel, table="data"):
    """Gaussian inputs with eigenvalues ρ_l ∝ l^-(1+β), l = 1…L, of equal weight and mean 1.

    Args:
        [data]

    >>> PowerLaw(64, exponent=1, dimension=1024)
    PowerLaw(dimension=1024, distinct_eigenvalues=64, exponent=1.0)
    """

    model: Literal["power-law"] = "power-law"
    dimension: Annotated[Dimension | None, Key("dimension of the inputs, a multiple of L", "N")] = (
        None
    )
    distinct_eigenvalues: Annotated[Dimension, Key("number of eigenvalues", "L")]
    exponent: Annotated[Number, Key("exponent of the power law", "β")]

    @filling
    def __init__(
        self, distinct_eigenvalues: int, *, exponent: float, dimension: int | None = None
    ) -> None:
        self._fill(locals())

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import power_law

        return power_law(self.distinct_eigenvalues, self.exponent, self.dimension)


class Covariance(InputModel, table="data"):
    """Gaussian inputs with a given covariance, or with that of given samples.

    Args:
        [data]
        samples: samples of inputs, shape (P, N), instead of the covariance.

    >>> import numpy as np
    >>> Covariance(np.array([[2.0, 0.5], [0.5, 1.0]]))
    Covariance(file=<array 2 x 2, SHA-256 8ec3fb743918>, normalise=False)
    """

    model: Literal["covariance"] = "covariance"
    file: Annotated[
        FileOrArrays,
        Key(
            "the covariance, shape (N, N); or an .npz file with the array ``covariance`` or "
            "``samples``; or an .npy file. A matrix that is not symmetric is read as samples"
        ),
    ]
    array: Annotated[
        str | None, Key("the name of the array in an .npz file, if it has another one")
    ] = None
    dimension: Annotated[
        Dimension | None, Key("dimension of the inputs; symderiv checks it where you give it", "N")
    ] = None
    distinct_eigenvalues: Annotated[
        Dimension | None,
        Key(
            "number of groups: the means of L groups of neighbours replace the eigenvalues",
            "L",
        ),
    ] = None
    grouping_tolerance: Annotated[
        Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)] | None,
        Key("relative distance within which eigenvalues count as equal; 1e-9 when left out"),
    ] = None
    normalise: Annotated[bool, Key("whether eigenvalues are divided by their mean")] = False

    @filling
    def __init__(
        self,
        file: File | Matrix | None = None,
        *,
        samples: Matrix | None = None,
        array: str | None = None,
        distinct_eigenvalues: int | None = None,
        grouping_tolerance: float | None = None,
        normalise: bool = False,
        dimension: int | None = None,
    ) -> None:
        self._fill(locals(), file=arrays(file, samples=samples))

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import covariance

        where = source(base, self.file)
        return covariance(
            where,
            self.array,
            distinct_eigenvalues=self.distinct_eigenvalues,
            grouping_tolerance=self.grouping_tolerance,
            normalise=self.normalise,
            dimension=self.dimension,
            name=where.name if isinstance(where, Given) else str(self.file),
        )


class HiddenManifold(InputModel, table="data"):
    """Inputs f(F c/√D) − E f of a latent normal c on which the teacher acts.

    Args:
        [data]

    >>> HiddenManifold("relu", dimension=200, latent_dimension=100)
    HiddenManifold(nonlinearity='relu', dimension=200, latent_dimension=100)
    """

    model: Literal["hidden-manifold"] = "hidden-manifold"
    nonlinearity: Annotated[str, NONLINEARITY]
    dimension: Size = None
    latent_dimension: Annotated[Dimension | None, LATENT] = None
    features: Features = None
    seed: FeatureSeed = 0
    latent_ratio: Annotated[
        Positive | None,
        Key(
            "ratio D/N in the limit N, D → ∞; it replaces both dimensions",
            instead_of=("dimension", "latent_dimension", "features", "seed"),
        ),
    ] = None
    nodes: Annotated[
        Annotated[int, Field(ge=1, le=100_000)] | None,
        Key("number of nodes of the limiting spectrum; 64 when left out"),
    ] = None

    @filling
    def __init__(
        self,
        nonlinearity: str,
        *,
        dimension: int | None = None,
        latent_dimension: int | None = None,
        features: File | Matrix | None = None,
        seed: int | None = None,
        latent_ratio: float | None = None,
        nodes: int | None = None,
    ) -> None:
        self._fill(locals(), features=arrays(features))

    @model_validator(mode="after")
    def _finite_or_limit(self) -> HiddenManifold:
        if self.latent_ratio is not None:
            return self
        for key in ("dimension", "latent_dimension"):
            if getattr(self, key) is None:
                raise conflict(key, "is missing; give the number, or latent_ratio for the limit")
        if self.nodes is not None:
            raise conflict("nodes", "belongs to latent_ratio; remove it")
        return self

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import hidden_manifold, hidden_manifold_limit

        if self.latent_ratio is not None:
            nodes = {} if self.nodes is None else {"nodes": self.nodes}
            return hidden_manifold_limit(self.latent_ratio, self.nonlinearity, **nodes)
        assert self.dimension is not None
        assert self.latent_dimension is not None
        shape = self.dimension, self.latent_dimension
        features = _features(self.features, shape, self.seed, base)
        return hidden_manifold(*shape, self.nonlinearity, features)


def _features(
    given: str | Given | None, shape: tuple[int, int], seed: int, base: Path
) -> np.ndarray:
    """Return F as given, or with independent normal entries from a seed."""
    from symderiv.inputs.array_files import read_matrix

    if given is None:
        random = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
        return random.standard_normal(shape)
    where = source(base, given)
    name = where.name if isinstance(where, Given) else str(given)
    _, features = read_matrix(where, ("features",), None, name=name)
    return features.astype(np.float64)


class GaussianMixture(InputModel, table="data"):
    """Components of inputs, or of the latent vectors that inputs are made from.

    With ``eigenvalues`` each component has centred inputs with a spectrum of its own in a common
    eigenbasis. Otherwise it is a hidden manifold of mixed latent vectors, for simulations.

    Args:
        [data]

    >>> GaussianMixture(probabilities=[0.5, 0.5], eigenvalues=[[2.0, 0.5], [0.5, 2.0]])
    GaussianMixture(probabilities=[0.5, 0.5], eigenvalues=[[2.0, 0.5], [0.5, 2.0]])
    """

    model: Literal["gaussian-mixture"] = "gaussian-mixture"
    dimension: Size = None
    probabilities: Annotated[
        list[Positive] | None,
        Key(
            "probabilities of the components, with sum 1; equal ones when left out (latent vectors "
            "only)"
        ),
    ] = None
    eigenvalues: Annotated[
        list[list[Number]] | None,
        Key(
            "eigenvalues of every component, shape (components, L)",
            "ρ_k",
            instead_of=(*_LATENT_KEYS, "means", "standardise", "features", "seed"),
        ),
    ] = None
    weights: Annotated[
        list[Number] | None, Key("multiplicities divided by N, shape (L,), with sum 1")
    ] = None
    nonlinearity: Annotated[str | None, NONLINEARITY] = None
    latent_dimension: Annotated[Dimension | None, LATENT] = None
    components: Annotated[
        Annotated[int, Field(ge=1, le=1000)] | None, Key("number of components")
    ] = None
    separation: Annotated[
        NotNegative | None,
        Key("range α of the means of the components, which are drawn uniformly from [−α, α)"),
    ] = None
    assignment: Annotated[
        Literal["sample", "coordinate"] | None,
        Key("whether a component is drawn for each example, or for each latent coordinate"),
    ] = None
    means: Annotated[
        Literal["common", "coordinate"],
        Key(
            "whether the means of the components are common to all latent coordinates, or drawn "
            "for each"
        ),
    ] = "coordinate"
    standardise: Annotated[
        bool, Key("whether latent coordinates are scaled to mean 0 and variance 1")
    ] = True
    features: Features = None
    seed: FeatureSeed = 0

    @filling
    def __init__(self, **keys: Any) -> None:
        self._fill(keys, features=arrays(keys.get("features")))

    @model_validator(mode="after")
    def _one_kind(self) -> GaussianMixture:
        if self.eigenvalues is None:
            for key in ("dimension", *_LATENT_KEYS):
                if getattr(self, key) is None:
                    raise conflict(
                        key, "is missing; give the numbers, or eigenvalues per component"
                    )
            if self.weights is not None:
                raise conflict("weights", "belongs to eigenvalues; remove it")
            return self
        if self.probabilities is None:
            raise conflict("probabilities", "is missing; give one for each component")
        return self

    def of_component(self, component: Component) -> Spectrum:
        """Return the model of inputs of one component alone."""
        return Spectrum(component.eigenvalue.tolist(), weights=component.weight.tolist())

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import mixed_spectra, mixture_manifold
        from symderiv.inputs.mixture import Mixture, uniform_means

        if self.eigenvalues is not None:
            assert self.probabilities is not None
            return mixed_spectra(self.probabilities, self.eigenvalues, self.weights, self.dimension)
        assert self.dimension is not None
        assert self.latent_dimension is not None
        assert self.components is not None
        assert self.separation is not None
        assert self.assignment is not None
        assert self.nonlinearity is not None
        m = self.components
        p = np.full(m, 1.0 / m) if self.probabilities is None else np.array(self.probabilities)
        shape = self.dimension, self.latent_dimension
        means = uniform_means(m, shape[1], self.separation, self.means, self.seed)
        mixture = Mixture(means, p, self.assignment, self.standardise)
        features = _features(self.features, shape, self.seed, base)
        return mixture_manifold(self.dimension, self.nonlinearity, features, mixture)


class Generator(InputModel, table="data"):
    """Gaussian inputs with the covariances of a generator's outputs.

    Args:
        [data]
        omega: Ω = E[x xᵀ] of centred outputs x, shape (N, N), instead of a file.
        phi: Φ = E[x cᵀ] with the latent vector c ~ N(0, I), shape (N, D).

    >>> Generator(omega=[[1.0, 0.0], [0.0, 0.5]], phi=[[0.9], [0.1]])
    Generator(file=<array 2 x 2 omega, 2 x 1 phi, SHA-256 2aed01fd448c>)
    """

    model: Literal["generator"] = "generator"
    file: Annotated[FileOrArrays, Key("an .npz file with the arrays ``omega`` and ``phi``")]

    @filling
    def __init__(
        self,
        file: File | None = None,
        *,
        omega: Matrix | None = None,
        phi: Matrix | None = None,
    ) -> None:
        self._fill(locals(), file=arrays(file, omega=omega, phi=phi))

    def build(self, base: Path) -> DataModel:
        from symderiv.inputs import generator

        where = source(base, self.file)
        name = where.name if isinstance(where, Given) else str(self.file)
        return generator(where, name=name)


Data = Annotated[
    Isotropic
    | Spectrum
    | PowerLaw
    | Covariance
    | HiddenManifold
    | Generator
    | GaussianMixture
    | NLGP
    | SinglePulse,
    Field(discriminator="model"),
]
