"""The command ``symderiv linear``: exact error curves of linear networks."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from symderiv.cli.figures import PlotOption, plot_output, read_times
from symderiv.cli.options import ALPHA, EIGENVALUES, EXPONENT, LEARNING_RATE, STUDENT_STD, option
from symderiv.cli.output import Force, Json, shown, status


class Method(StrEnum):
    """How rates and error are computed."""

    secular = "secular"
    companion = "companion"
    moments = "moments"


class Basis(StrEnum):
    """In which basis the trained directions are the first ones."""

    eigenbasis = "eigenbasis"
    random = "random"
    input = "input"


def linear(
    learning_rate: Annotated[float, LEARNING_RATE],
    alpha: Annotated[str, ALPHA],
    distinct_eigenvalues: Annotated[int | None, EIGENVALUES] = None,
    exponent: Annotated[float | None, EXPONENT] = None,
    student_std: Annotated[float, STUDENT_STD] = 0.0,
    trainable: Annotated[
        int | None, option("--trainable", "Train only the first NL directions.", "NL")
    ] = None,
    basis: Annotated[
        Basis,
        option(
            "--basis",
            "What the NL directions are: eigenvectors, coordinates in a random orthonormal "
            "basis (seed 0), or the inputs of the file.",
        ),
    ] = Basis.eigenbasis,
    covariance: Annotated[
        Path | None, option("--covariance", "Covariance or samples (.npz, .npy).", "FILE")
    ] = None,
    method: Annotated[
        Method,
        option(
            "--method",
            "Secular equation; companion matrix of the moments; moments followed in time.",
        ),
    ] = Method.secular,
    digits: Annotated[
        int, option("--digits", "Digits of every number; beyond 15 as strings.", "N")
    ] = 15,
    working_digits: Annotated[
        int | None,
        option(
            "--working-digits",
            "Compute with W digits (15: double precision) instead of a planned number.",
            "W",
        ),
    ] = None,
    dimension: Annotated[
        int | None, option("--dimension", "Also the exact mean of SGD at this N.", "N")
    ] = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Exact error of a linear network, averaged over teacher and initial weights, at any η.

    Example:  symderiv linear --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10,100
    """  # noqa: E501
    times = read_times(alpha)
    figure = plot_output(plot, inputs=() if covariance is None else (covariance,), force=force)
    with status("Computing", quiet=json_):
        import symderiv

        found = symderiv.linear(
            learning_rate=learning_rate,
            alpha=times,
            distinct_eigenvalues=distinct_eigenvalues,
            exponent=exponent,
            student_std=student_std,
            trainable=trainable,
            basis=basis.value,
            covariance=covariance,
            method=method.value,
            digits=digits,
            working_digits=working_digits,
            dimension=dimension,
        )
    shown(found, json_, plot=figure)
