"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

UNITS = typer.Option("--units", metavar="M", help="Number of students and of teachers.")
ACTIVATION = typer.Option(
    "--activation", metavar="G", help="Activation: a name or an expression in x."
)
EIGENVALUES = typer.Option(
    "--distinct-eigenvalues", metavar="L", help="Number of eigenvalues of power-law inputs."
)
EXPONENT = typer.Option("--exponent", metavar="BETA", help="β > 0; eigenvalues ∝ l^-(1+β), mean 1.")
LEARNING_RATE = typer.Option("--learning-rate", metavar="H", help="η; rates are per unit of α.")
STUDENT_STD = typer.Option(
    "--student-std", metavar="S", help="Standard deviation of initial weights."
)
ALPHA = typer.Option("--alpha", metavar="A1,A2,…", help="Times α at which ε_g is wanted.")

_RULE = "Learning rule"


def _rule(option: str, metavar: str, words: str) -> typer.models.OptionInfo:
    """An option with a key of the learning rule, as study files have it."""
    found: typer.models.OptionInfo = typer.Option(
        option, metavar=metavar, help=words, show_default=False, rich_help_panel=_RULE
    )
    return found


Study = Annotated[Path | None, _rule("--study", "STUDY.toml", "Take activations and rule of it.")]
Loss = Annotated[str | None, _rule("--loss", "L", "A name, or a formula in s and t.")]
Target = Annotated[str | None, _rule("--target", "sum/sign", "What is taught.")]
LabelFlip = Annotated[float | None, _rule("--label-flip", "P", "Targets with their sign changed.")]
Keep = Annotated[float | None, _rule("--keep", "P", "Dropout: units are kept with P.")]
InputNoise = Annotated[float | None, _rule("--input-noise", "S", "On what the student sees.")]
UpdateNoise = Annotated[float | None, _rule("--update-noise", "S", "On the weights' update.")]
Momentum = Annotated[float | None, _rule("--momentum", "B", "Heavy ball, fixed β.")]
MomentumRate = Annotated[float | None, _rule("--momentum-rate", "G", "Heavy ball, 1 - β = γ/N.")]
Batch = Annotated[int | None, _rule("--batch", "B", "Examples of a step.")]
BatchRatio = Annotated[float | None, _rule("--batch-ratio", "C", "Examples of a step over N.")]
Normalise = Annotated[str | None, _rule("--normalise", "gradient/sphere", "Steps or weights.")]
StudentBiases = Annotated[float | None, _rule("--student-biases", "B", "Of the units.")]
TrainBiases = Annotated[
    bool,
    typer.Option("--train-biases", help="Biases follow their gradient.", rich_help_panel=_RULE),
]
