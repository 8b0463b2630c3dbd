"""Commands that are one public call: ``plateau``, ``asymptotics``, ``linear``, ``localise``, …"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from symderiv.cli.called import calling
from symderiv.cli.figures import PlotOption, plot_output
from symderiv.cli.options import option
from symderiv.cli.output import Force, Json, StudyFile, bars, shown, status
from symderiv.cli.typed_study import Set, stated_problem
from symderiv.foundation.errors import InputError
from symderiv.foundation.outputs import Output


@calling("api/results/plateau:plateau")
def plateau(
    plot: PlotOption = None, force: Force = False, json_: Json = False, **asked: Any
) -> None:
    """Compute the symmetric plateau of M students and M teachers: height, linearisation, escape.

    Output weights are 1/√M. The flow is that of first order in η; every number is certified. A
    learning rate above 1 is refused where the full flow has no stationary plateau.

    Example:  symderiv plateau --units 4 --learning-rate 0.1 --distinct-eigenvalues 10 --exponent 1
    """
    figure = plot_output(plot, force=force)
    with status("Deriving the plateau", quiet=json_):
        import symderiv

        result = symderiv.plateau(**asked)
    shown(result, json_, plot=figure)


@calling("api/results/late:late")
def asymptotics(
    plot: PlotOption = None, force: Force = False, json_: Json = False, **asked: Any
) -> None:
    """Analyse late learning of M students and teachers: rates, error, exponent, largest stable η.

    Everything is linearised around Q = R = T; output weights are 1/√M.

    Example:  symderiv asymptotics --units 2 --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.1
    """  # noqa: E501
    figure = plot_output(plot, force=force)
    with status("Linearising around perfect learning", quiet=json_):
        import symderiv

        result = symderiv.late(**asked)
    shown(result, json_, plot=figure)


@calling("api/results/linear:linear")
def linear(
    plot: PlotOption = None, force: Force = False, json_: Json = False, **asked: Any
) -> None:
    """Compute the exact error of a linear network, a mean over teacher and initial weights.

    Example:  symderiv linear --distinct-eigenvalues 64 --exponent 1 --learning-rate 0.5 --student-std 0.1 --alpha 1,10,100
    """  # noqa: E501
    inputs = [] if asked["covariance"] is None else [asked["covariance"]]
    figure = plot_output(plot, inputs=inputs, force=force)
    with status("Computing", quiet=json_):
        import symderiv

        curve = symderiv.linear(**asked)
    shown(curve, json_, plot=figure)


def _lengths(text: str) -> list[Any]:
    """Read two lengths, each a number or a range ``10-12``."""
    try:
        return [_length(each) for each in text.split(",")]
    except ValueError:
        raise InputError(
            f"{text!r} is not two lengths such as 2,1 or 10-11,2-3", argument="lengths"
        ) from None


def _two_numbers(text: str) -> tuple[float, float]:
    """Read two numbers."""
    from symderiv.api.results.protocols import bounds_of

    return bounds_of(text)


def _length(text: str) -> Any:
    least, dash, most = text.strip().partition("-")
    if dash:
        return int(least), int(most)
    number = float(least)
    return int(number) if math.isfinite(number) and number == int(number) else number


@calling(
    "api/results/localise:localise",
    "api/results/localise:FieldLearning",
    but=("initial_std", "sample", "convention"),
    read={"lengths": _lengths},
)
def localise(
    animation: Annotated[
        Path | None,
        option(
            "--animation",
            "Write a page that shows the fields of the first run in time.",
            "FILE.html",
        ),
    ] = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Compute receptive fields of K units that learn two classes of inputs on a ring.

    Example:  symderiv localise --gain 3 --lengths 2,1 --steps 2000
    """
    figure = plot_output(plot, force=force)
    moving = None if animation is None else Output(animation, "html", force=force)
    import symderiv

    fields = symderiv.localise(**asked, progress=False if json_ else None)
    if moving is not None:
        fields.animate(moving)
    shown(fields, json_, plot=figure, animation=moving)


@calling("api/problem:Problem.fixed_points", but=("initial", "follow"))
def fixed_points(
    study: StudyFile,
    set_: Set = None,
    continue_: Annotated[
        str | None,
        option(
            "--continue", "Follow the points while a key varies between two ends.", "KEY=LOW:HIGH"
        ),
    ] = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Find the fixed points of the flow of a study: error, stability, and where saddles lead.

    Example:  symderiv fixed-points examples/two-units.toml --plot saddles.png
    """
    figure = plot_output(plot, inputs=(study,), force=force)
    with status("Looking for fixed points", quiet=json_):
        from symderiv.api.results.mapped import ends_of

        follow = ends_of([continue_]) if continue_ else None
        problem = stated_problem(study, set_, timed=False)
        points = problem.fixed_points(**asked, follow=follow)
    shown(points, json_, plot=figure)


@calling("api/problem:Problem.optimise", but=("initial",), read={"bounds": _two_numbers})
def optimise(
    study: StudyFile,
    set_: Set = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Find how a number of a study should change in time so that the error becomes small.

    Example:  symderiv optimise STUDY.toml --control learning_rate --bounds 0,3 --end 50
    """
    figure = plot_output(plot, inputs=(study,), force=force)
    with status("Optimising", quiet=json_):
        problem = stated_problem(study, set_, timed=False)
        found = problem.optimise(**asked, progress=False if json_ else None)
    shown(found, json_, plot=figure)


@calling("api/problem:Problem.equilibrium", but=("T",))
def equilibrium(
    study: StudyFile,
    set_: Set = None,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
    **asked: Any,
) -> None:
    """Find the equilibrium of a study at high temperature, or what can be learned at all.

    Example:  symderiv equilibrium STUDY.toml --alpha 20,40,60 --plot branches.svg
    """
    figure = plot_output(plot, inputs=(study,), force=force)
    with status("Following branches", quiet=json_):
        problem = stated_problem(study, set_, timed=False)
        found = problem.equilibrium(**asked, progress=False if json_ else None)
    shown(found, json_, plot=figure)


def thresholds(
    target: Annotated[
        str, typer.Argument(metavar="EXPR", help="A formula in z1, z2, … and noise.")
    ],
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Say how hard a target of a few Gaussian fields is to find: exponents, leaps, threshold.

    Example:  symderiv thresholds "sign(z1*z2)"
    """
    figure = plot_output(plot, force=force)
    with status("Looking for exponents", quiet=json_):
        import symderiv

        found = symderiv.thresholds(target)
    shown(found, json_, plot=figure)


def one_step(
    study: StudyFile,
    quick: Annotated[
        bool, option("--quick", "Use smaller sizes and fewer trials, which takes seconds.")
    ] = False,
    plot: PlotOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Take one gradient step, then fit by ridge; compare the network with its two equivalents.

    Errors are E(y - ŷ)², without the ½ of some figures.

    Example:  symderiv one-step examples/one-step/spiked-mixture.toml --quick
    """
    figure = plot_output(plot, inputs=(study,), force=force)
    import symderiv

    setting = symderiv.OneStep.from_toml(study)
    result = (setting.quick() if quick else setting).run(progress=bars(json_))
    shown(result, json_, plot=figure)
