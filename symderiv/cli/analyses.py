"""Commands that are one public call: ``plateau``, ``asymptotics``, ``linear``, ``localise``, …"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import symderiv
from symderiv.cli.called import calling
from symderiv.cli.grouped import Drawn, Set, grouped
from symderiv.cli.output import StudyFile, bars, option, shown
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output

if TYPE_CHECKING:
    from symderiv.api.problem import Problem


@calling("api/results/flows/plateau:plateau")
@grouped
def plateau(*, drawn: Drawn, **asked: Any) -> None:
    """Compute the symmetric plateau of M students and M teachers: height, linearisation, escape.

    Output weights are 1/√M. The flow is that of first order in η; every number is certified. A
    learning rate above 1 is refused where the full flow has no stationary plateau.

    Example:  symderiv plateau --units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1
    """
    drawn.answer("Deriving the plateau", lambda: symderiv.plateau(**asked))


@calling("api/results/flows/late:late")
@grouped
def asymptotics(*, drawn: Drawn, **asked: Any) -> None:
    """Analyse late learning of M students and teachers: rates, error, exponent, largest stable η.

    Everything is linearised around Q = R = T; output weights are 1/√M.

    Example:  symderiv asymptotics --units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1
    """  # noqa: E501
    drawn.answer("Linearising around perfect learning", lambda: symderiv.late(**asked))


@calling("api/results/flows/linear:linear")
@grouped
def linear(*, drawn: Drawn, **asked: Any) -> None:
    """Compute the exact error of a linear network, a mean over teacher and initial weights.

    Example:  symderiv linear --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10,100
    """  # noqa: E501
    inputs = [] if asked["covariance"] is None else [asked["covariance"]]
    drawn.answer("Computing", lambda: symderiv.linear(**asked), inputs)


def _lengths(text: str) -> list[Any]:
    """Return the two lengths in a text, each a number or a range ``10-12``."""
    try:
        return [_length(each) for each in text.split(",")]
    except ValueError:
        raise InputError(
            f"{text!r} is not two lengths such as 2,1 or 10-11,2-3", argument="lengths"
        ) from None


def _two_numbers(text: str) -> tuple[float, float]:
    """Return the two numbers in a text."""
    from symderiv.api.results.runs.protocols import bounds_of

    return bounds_of(text)


def _length(text: str) -> Any:
    least, dash, most = text.strip().partition("-")
    if dash:
        return int(least), int(most)
    number = float(least)
    return int(number) if math.isfinite(number) and number == int(number) else number


@calling(
    "api/results/runs/localise:localise",
    "api/results/runs/localise:FieldLearning",
    but=("initial_std", "sample", "convention"),
    read={"lengths": _lengths},
)
@grouped
def localise(
    animation: Annotated[
        Path | None,
        option(
            "--animation",
            "Write a page that shows the fields of the first run in time.",
            "FILE.html",
        ),
    ] = None,
    *,
    drawn: Drawn,
    **asked: Any,
) -> None:
    """Compute receptive fields of K units that learn two classes of inputs on a ring.

    Example:  symderiv localise --gain 3 --lengths 2,1 --steps 2000
    """
    figure = drawn.figure()
    moving = None if animation is None else Output(animation, "html", force=drawn.force)
    fields = symderiv.localise(**asked, progress=drawn.bar)
    if moving is not None:
        fields.animate(moving)
    shown(fields, drawn.json_, plot=figure, animation=moving)


@calling("api/problem:Problem.fixed_points", but=("initial", "follow"))
@grouped
def fixed_points(
    study: StudyFile,
    set_: Set = None,
    continue_: Annotated[
        list[str] | None,
        option(
            "--continue",
            "Follow the points while a key varies between two ends; with a second key, given the "
            "same way, follow their bifurcations in both.",
            "KEY=LOW:HIGH",
        ),
    ] = None,
    *,
    drawn: Drawn,
    **asked: Any,
) -> None:
    """Find the fixed points of the flow of a study: error, stability, and where saddles lead.

    Example:  symderiv fixed-points examples/two-units.toml --plot saddles.png
    """

    def points(problem: Problem) -> Any:
        from symderiv.api.results.runs.mapped import ends_of

        follow = ends_of(continue_) if continue_ else None
        return problem.fixed_points(**asked, follow=follow)

    drawn.answer_of("Looking for fixed points", study, set_, points)


@calling("api/problem:Problem.optimise", but=("initial",), read={"bounds": _two_numbers})
@grouped
def optimise(
    study: StudyFile,
    set_: Set = None,
    *,
    drawn: Drawn,
    **asked: Any,
) -> None:
    """Find how a number of a study should change in time so that the error becomes small.

    Example:  symderiv optimise STUDY.toml --control learning_rate --bounds 0,3 --end 50
    """

    def optimum(problem: Problem) -> Any:
        return problem.optimise(**asked, progress=drawn.bar)

    drawn.answer_of("Optimising", study, set_, optimum)


@calling("api/problem:Problem.equilibrium", but=("T",))
@grouped
def equilibrium(
    study: StudyFile,
    set_: Set = None,
    *,
    drawn: Drawn,
    **asked: Any,
) -> None:
    """Find the equilibrium of a study at high temperature, or what can be learned at all.

    Example:  symderiv equilibrium STUDY.toml --alpha 20,40,60 --plot branches.svg
    """

    def branches(problem: Problem) -> Any:
        return problem.equilibrium(**asked, progress=drawn.bar)

    drawn.answer_of("Following branches", study, set_, branches)


@grouped
def thresholds(
    target: Annotated[
        str, typer.Argument(metavar="EXPR", help="A formula in z1, z2, … and noise.")
    ],
    *,
    drawn: Drawn,
) -> None:
    """Say how hard a target of a few Gaussian fields is to find: exponents, leaps, threshold.

    Example:  symderiv thresholds "sign(z1*z2)"
    """
    drawn.answer("Looking for exponents", lambda: symderiv.thresholds(target))


@grouped
def one_step(
    study: StudyFile,
    quick: Annotated[
        bool, option("--quick", "Use smaller sizes and fewer trials, which takes seconds.")
    ] = False,
    *,
    drawn: Drawn,
) -> None:
    """Take one gradient step, then fit by ridge; compare the network with its two equivalents.

    Errors are E(y - ŷ)², without the ½ of some figures.

    Example:  symderiv one-step examples/one-step/spiked-mixture.toml --quick
    """
    figure, setting = drawn.figure((study,)), symderiv.OneStep.from_toml(study)
    result = (setting.quick() if quick else setting).run(progress=bars(drawn.json_))
    shown(result, drawn.json_, plot=figure)
