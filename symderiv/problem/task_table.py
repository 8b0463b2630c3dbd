"""[[task]]: what is taught for some time, one table for each task of a sequence."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from symderiv.problem.checked import Index, NotNegative, Probability, Table
from symderiv.problem.input_models import Isotropic, PowerLaw, Spectrum
from symderiv.problem.key_records import Key

Eigenvalues = Annotated[Isotropic | Spectrum | PowerLaw, Field(discriminator="model")]


class Task(Table, table="task"):
    """[[task]]: what is taught for some time, or with some probability.

    Args:
        [task]
    """

    until: Annotated[
        NotNegative | None,
        Key("α at which the next task begins; 0 for a task that is only named in a mixture"),
    ] = None
    teachers: Annotated[
        list[Index] | None, Key("numbers, from 0, of the teachers whose sum is taught")
    ] = None
    head: Annotated[
        Index | Literal["shared"] | None,
        Key("output weights: a number, or those of the first; its own when left out"),
    ] = None
    mixture: Annotated[
        dict[str, Probability] | None, Key("probability of each task, drawn per example")
    ] = None
    data: Annotated[
        Eigenvalues | None,
        Key(
            "inputs of this task: other eigenvalues in the same eigenspaces",
            apart=("training.input_noise", "training.normalise"),
        ),
    ] = None
