"""Derivations and solver modules of activations and learning rules, as calls."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symderiv.api.problem import Problem
from symderiv.foundation.errors import InputError
from symderiv.foundation.named_arguments import public
from symderiv.foundation.progress import following
from symderiv.problem.input_models import Isotropic
from symderiv.problem.key_names import key_of

if TYPE_CHECKING:
    from symderiv.api.results.equations.derived import CheckedIn, LearningDerivation, Module
    from symderiv.api.results.equations.exports import Export


@public
@following("deriving")
def derive(
    activation: str | None = None,
    teacher_activation: str | None = None,
    *,
    tolerance: float | None = None,
    study: str | PathLike[str] | None = None,
    **rule: Any,
) -> LearningDerivation:
    """Derive the order-parameter equations of an activation, step by step, from the SGD update.

    Args:
        activation: g, a name or a formula in ``x``; by default that of the study.
        teacher_activation: activation of the teacher; by default that of the study, or that of the
            student.
        study: a study file that states the activations and the learning rule.
        rule: keys of the learning rule, as for :class:`symderiv.Problem`. Their values remain
            symbols; the derivation depends only on which keys are given.
        tolerance: the largest error of means that have no closed form; when left out, 1e-8 for
            tanh, 1e-6 for quadrature, 1e-4 for quadrature with kinks.

    Raises:
        InputError: an activation is not acceptable, or its equations do not exist.
    """
    problem = _problem(activation, teacher_activation, study, rule)
    return problem.derive(tolerance=tolerance)


@public
@following("deriving the solver module")
def generate(
    activation: str | None = None,
    name: str = "",
    *,
    teacher_activation: str | None = None,
    tolerance: float | None = None,
    output: str | PathLike[str] | None = ".",
    force: bool = False,
    study: str | PathLike[str] | None = None,
    **rule: Any,
) -> Module:
    """Write a solver module for an activation, which needs only math, NumPy and numba.

    NAME.py contains the means, the equations and the right-hand side. In the folder ``fast/``
    beside it, another NAME.py contains the right-hand side compiled for given numbers of units; it
    imports the file runtime.py there.

    Args:
        activation, teacher_activation, tolerance, study, rule: see :func:`derive`.
        name: the name of the module, a Python identifier; required.
        output: the folder; None writes nothing, and ``to_source()`` returns the text.
        force: replace files that symderiv did not write.

    Raises:
        InputError: an argument is not acceptable, or the file must not be replaced.
    """
    problem = _problem(activation, teacher_activation, study, rule)
    return problem.generate(name, output=output, tolerance=tolerance, force=force)


def export(
    to: str = "python",
    *,
    study: str | PathLike[str] | None = None,
    activation: str | None = None,
    teacher_activation: str | None = None,
    output: str | PathLike[str] | None = None,
    tolerance: float | None = None,
    force: bool = False,
    **fragment: Any,
) -> Export:
    """Write the right-hand side and the error of learning as source in another language.

    Args:
        to: see :meth:`symderiv.Problem.export`, which this is of a study, or of an activation with
            two students, two teachers, 1000 isotropic inputs and a learning rate of 1/2.
        study, activation, teacher_activation, tolerance: see :func:`derive`.
        output: the file to write; None writes nothing, the text is then ``to_source()``.
        force: replace a file that symderiv did not write.
        fragment: see :meth:`symderiv.Problem.export`; None is as if it were left out.

    Raises:
        InputError: an argument is not acceptable, or the file must not be replaced.
        NotYetError: the equations cannot be exported; with the name of the key.
    """
    sizes: dict[str, Any] = {}
    if study is None:
        inputs = Isotropic(dimension=1000)
        sizes = {"students": 2, "teachers": 2, "learning_rate": 0.5, "inputs": inputs}
    problem = _problem(activation, teacher_activation, study, sizes)
    asked = {key: value for key, value in fragment.items() if value is not None}
    return problem.export(to, output, tolerance=tolerance, force=force, **asked)


def checked_in(*, check: bool = False) -> CheckedIn:
    """Rewrite what the package has from its own records, or only compare it.

    These are its solver modules, from their derivation, and the stub of arguments (``taken_keys``),
    from the keys of studies.
    """
    import symderiv_kernels

    from symderiv.api.results.equations.derived import CheckedIn
    from symderiv.api.taken_stub import write_stub
    from symderiv.checking.recipes import RECIPES, write_checked_in

    directory = Path(symderiv_kernels.__path__[0])
    differing = [*write_checked_in(directory, check=check), *["taken_keys"] * write_stub(check)]
    return CheckedIn(directory, sorted([*RECIPES, "taken_keys"]), differing, check)


def _problem(
    activation: str | None,
    teacher_activation: str | None,
    study: str | PathLike[str] | None,
    rule: dict[str, Any],
) -> Problem:
    """Return the problem with these activations and this learning rule."""
    for key in rule:
        key_of(key)
    changes = {key: value for key, value in rule.items() if value is not None}
    if study is not None:
        given = {"activation": activation, "teacher_activation": teacher_activation}
        changes |= {key: value for key, value in given.items() if value is not None}
        try:
            problem = Problem.from_toml(study)
        except InputError as error:
            raise error.renamed("study" if error.argument == "source" else error.argument) from None
        return problem.replace(**changes) if changes else problem
    if activation is None:
        raise InputError("is missing; give an activation, or a study", argument="activation")
    if teacher_activation is not None:
        changes["teacher_activation"] = teacher_activation
    return Problem(activation, **{"students": 1, "teachers": 1, "learning_rate": 1.0, **changes})
