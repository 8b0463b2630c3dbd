"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated, Any

import typer


def option(
    name: str, help: str, metavar: str | None = None, *, short: str = "", **more: Any
) -> typer.models.OptionInfo:
    """An option of a command.

    Args:
        name: as it is typed, with its hyphens.
        help: what it says of itself.
        metavar: a placeholder of its value; its type when left out.
        short: a second name.
        more: what ``typer.Option`` takes besides.
    """
    names = (name, short) if short else (name,)
    found: typer.models.OptionInfo = typer.Option(*names, metavar=metavar, help=help, **more)
    return found


UNITS = option("--units", "Number of students and of teachers.", "M")
ACTIVATION = option("--activation", "Activation: a name or an expression in x.", "G")
EIGENVALUES = option("--distinct-eigenvalues", "Number of eigenvalues of power-law inputs.", "L")
EXPONENT = option("--exponent", "β > 0; eigenvalues ∝ l^-(1+β), mean 1.", "BETA")
LEARNING_RATE = option("--learning-rate", "η; rates are per unit of α.", "H")
STUDENT_STD = option("--student-std", "Standard deviation of initial weights.", "S")
ALPHA = option("--alpha", "Times α at which ε_g is wanted.", "A1,A2,…")
OneActivation = Annotated[
    str | None, option("--activation", "A name (erf, relu, ...) or a formula in x.", "G")
]
Activations = Annotated[str | None, option("--activations", "One activation per slot.", "G1,G2,..")]
