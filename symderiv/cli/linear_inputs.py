"""The inputs of ``symderiv linear`` from its options: a power law, or the covariance in a file."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from symderiv.errors import InputError, ToleranceError

if TYPE_CHECKING:
    import numpy as np

    from symderiv.analysis.linear import Directions
    from symderiv.analysis.linear_exact import Spectrum
    from symderiv.analysis.power_law import PowerLaw

Result = TypeVar("Result")


class Basis(StrEnum):
    """In which basis the trained directions are the first ones."""

    eigenbasis = "eigenbasis"
    random = "random"
    input = "input"


class Inputs:
    """A power law or the covariance of a file, as the options give it."""

    def __init__(self, L: int | None, exponent: float | None, file: Path | None) -> None:
        if file is None:
            for name, value in (("--distinct-eigenvalues", L), ("--exponent", exponent)):
                if value is None:
                    raise InputError(f"option {name} is missing (or give --covariance FILE)")
        elif exponent is not None:
            raise InputError("--exponent is given together with --covariance; remove one")
        self.L, self.exponent, self.file = L, exponent, file

    def model(self) -> Any:
        """The spectrum as a data model."""
        from symderiv.analysis.linear import MAX_EIGENVALUES
        from symderiv.data import covariance, power_law

        if self.file is not None:
            return covariance(self.file, distinct_eigenvalues=self.L)
        assert self.L is not None
        assert self.exponent is not None
        if not (math.isfinite(self.exponent) and self.exponent > 0.0):
            raise InputError(f"exponent: {self.exponent!r} is not a positive number")
        if self.L > MAX_EIGENVALUES:
            raise InputError(
                f"distinct_eigenvalues: {self.L} are more than the {MAX_EIGENVALUES} that are "
                "treated one by one"
            )
        return power_law(self.L, self.exponent)

    def directions(self, trainable: int | None, basis: Basis) -> Directions:
        from symderiv.analysis.linear import coordinate_directions, eigendirections

        if basis is Basis.eigenbasis:
            component = self.model().single()
            return eigendirections(component.eigenvalue, component.weight, trainable)
        matrix = self._matrix(basis)
        return coordinate_directions(matrix, matrix.shape[0] if trainable is None else trainable)

    def _matrix(self, basis: Basis) -> np.ndarray:
        """The covariance as a matrix: of the file, or of one input per eigenvalue, rotated."""
        from symderiv.analysis.linear import rotated_covariance

        if basis is Basis.input:
            if self.file is None:
                raise InputError("--basis input needs --covariance FILE")
            from symderiv.data.covariance import read_covariance

            return read_covariance(self.file)
        component = self.model().single()
        if self.file is None:
            return rotated_covariance(component.eigenvalue, seed=0)
        from symderiv.data.covariance import read_spectrum

        return rotated_covariance(read_spectrum(self.file).eigenvalue, seed=0)

    def exact(self, trainable: int | None) -> tuple[Spectrum, int]:
        """The spectrum for any number of digits, and how many of its eigenvalues are trained."""
        from symderiv.analysis.linear_exact import exact_power_law, exact_spectrum

        component = self.model().single()
        count = component.eigenvalue.size if trainable is None else trainable
        if self.exponent is not None:
            return exact_power_law(component.eigenvalue.size, exact_decimal(self.exponent)), count
        positive = int((component.eigenvalue > 0.0).sum())
        spectrum = exact_spectrum(component.eigenvalue, component.weight)
        return spectrum, min(count, positive)

    def law(self, trainable: int | None) -> PowerLaw | None:
        if self.exponent is None or self.L is None:
            return None
        from symderiv.analysis.power_law import PowerLaw

        largest = float(self.model().single().eigenvalue[0])
        return PowerLaw(self.L, self.exponent, largest, trainable or self.L)

    def describe(self) -> str:
        if self.file is not None:
            return f"covariance of {self.file.name}"
        return f"power law, L = {self.L}, β = {self.exponent:g}"


def named(task: Callable[[], Result]) -> Result:
    """Messages name arguments; on the command line these are options."""
    try:
        return task()
    except (InputError, ToleranceError) as error:
        head, colon, rest = str(error).partition(": ")
        if not colon or not head.replace("_", "").isalpha():
            raise
        option = "covariance" if head in ("file", "array") else head.replace("_", "-")
        raise type(error)(f"--{option}: {rest}") from None


def exact_decimal(number: float) -> Fraction:
    """The decimal that was typed: the shortest one that gives the double."""
    return Fraction(repr(number))
