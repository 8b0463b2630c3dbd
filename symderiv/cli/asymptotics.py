"""The command ``symderiv asymptotics``: late learning, linearised around perfect learning."""

from __future__ import annotations

from typing import Annotated

from symderiv.cli.figures import PlotOption, plot_output, read_times
from symderiv.cli.options import (
    ACTIVATION,
    EIGENVALUES,
    EXPONENT,
    LEARNING_RATE,
    STUDENT_STD,
    UNITS,
    option,
)
from symderiv.cli.output import Force, Json, shown, status


def asymptotics(
    units: Annotated[int, UNITS],
    distinct_eigenvalues: Annotated[int, EIGENVALUES],
    exponent: Annotated[float, EXPONENT],
    activation: Annotated[str, ACTIVATION] = "erf",
    learning_rate: Annotated[float, LEARNING_RATE] = 1.0,
    full: Annotated[bool, option("--full", "With the terms of order η².")] = False,
    student_std: Annotated[float, STUDENT_STD] = 0.0,
    alpha: Annotated[
        str | None,
        option(
            "--alpha",
            "Times α at which ε_g is wanted.",
            "A1,A2,…",
            show_default="a few in the power-law window",
        ),
    ] = None,
    T1: Annotated[str, option("--T1", "Diagonal of the teachers' covariance.", "X")] = "1",
    D1: Annotated[str, option("--D1", "Sum of the rest of a row of it.", "X")] = "0",
    label_noise: Annotated[
        float, option("--label-noise", "σ, with --full: the steady state.", "X")
    ] = 0.0,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Late learning of M students and M teachers: rates, error curve, exponent, largest stable η.

    Everything is linearised around Q = R = T; output weights are 1/√M.

    Example:  symderiv asymptotics --units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1
    """  # noqa: E501
    times = None if alpha is None else read_times(alpha)
    figure = plot_output(plot, force=force)
    with status("Linearising around perfect learning", quiet=json_):
        import symderiv

        found = symderiv.late(
            units=units,
            distinct_eigenvalues=distinct_eigenvalues,
            exponent=exponent,
            activation=activation,
            learning_rate=learning_rate,
            full=full,
            student_std=student_std,
            alpha=times,
            T1=T1,
            D1=D1,
            label_noise=label_noise,
        )
    shown(found, json_, plot=figure)
