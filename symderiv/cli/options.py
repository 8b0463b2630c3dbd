"""Options that several commands share."""

from __future__ import annotations

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
