"""The commands that end in formulas or code: ``derive`` and ``generate``."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from symderiv.cli.output import (
    Force,
    Json,
    emit_json,
    status,
    tell_written,
    text_output,
    write_text,
    written,
)
from symderiv.errors import InputError, ToleranceError
from symderiv.outputs import OutputFolder

ActivationOption = Annotated[
    str,
    typer.Option(
        "--activation", metavar="G", help="Student activation: a name or an expression in x."
    ),
]
TeacherOption = Annotated[
    str | None,
    typer.Option(
        "--teacher-activation",
        metavar="G",
        help="Teacher activation.",
        show_default="the student's",
    ),
]


ToleranceOption = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="E",
        help="Bound on the error of an activation without closed Gaussian means.",
        show_default="1e-8 for tanh, 1e-6 by quadrature, 1e-4 with kinks",
    ),
]


class Format(StrEnum):
    """How a derivation is written."""

    text = "text"
    latex = "latex"
    html = "html"
    json = "json"


_ENDINGS = {Format.text: "txt", Format.latex: "tex", Format.html: "html", Format.json: "json"}


def derive(
    activation: ActivationOption,
    teacher_activation: TeacherOption = None,
    format: Annotated[
        Format, typer.Option("--format", help="How the derivation is written.")
    ] = Format.text,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="File to write.", show_default="the terminal"
        ),
    ] = None,
    tolerance: ToleranceOption = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """Derive the order-parameter equations of an activation, step by step, from the SGD update.

    Example:  symderiv derive --activation erf --format html --output erf.html
    """
    from symderiv.expressions import activation as read_activation

    format = Format.json if json_ else format
    target = text_output(output, _ENDINGS[format], force=force)
    student = read_activation(activation)
    teacher = read_activation(teacher_activation) if teacher_activation else student
    with status("Deriving the order-parameter equations", quiet=json_):
        from symderiv.report.derivations import learning_derivation

        derivation = learning_derivation(student, teacher, _checked(tolerance), plateau=True)
    if format is Format.json:
        formulas = {"activation": student.text, "teacher_activation": teacher.text}
        emit_json({**formulas, **derivation.to_json()}, target)
        if json_ and target is not None:
            emit_json(written(output=target))
        else:
            tell_written(target)
        return
    if format is Format.latex:
        text = derivation.to_latex()
    elif format is Format.html:
        from symderiv.report.page import derivation_page

        text = derivation_page(derivation)
    else:
        text = derivation.to_text()
    write_text(text, target)
    tell_written(target)


def generate(
    activation: Annotated[
        str | None,
        typer.Option(
            "--activation", metavar="G", help="Student activation: a name or an expression in x."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the module, NAME.py.")
    ] = None,
    teacher_activation: TeacherOption = None,
    tolerance: ToleranceOption = None,
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Directory to write to; - for screen.")
    ] = Path(),
    force: Force = False,
    checked_in: Annotated[
        bool, typer.Option("--checked-in", help="Rewrite the modules of symderiv_kernels instead.")
    ] = False,
    check: Annotated[
        bool,
        typer.Option("--check", help="With --checked-in: write nothing, fail if a module differs."),
    ] = False,
    json_: Json = False,
) -> None:
    """Write a standalone solver module (NumPy and Numba only) for an activation.

    Example:  symderiv generate --activation "x/2*(1+erf(x/sqrt(2)))" --name my_gelu
    """
    if checked_in:
        if activation or name:
            raise InputError("--checked-in takes neither --activation nor --name")
        _checked_in(check=check, as_json=json_)
        return
    if check:
        raise InputError("--check needs --checked-in")
    if not activation:
        raise InputError("option --activation is missing")
    if not name:
        raise InputError("option --name is missing")
    if not (name.isidentifier() and name.isascii()):
        raise InputError(f"--name {name!r} is not a Python identifier in ASCII letters")
    if str(output) == "-":
        if json_:
            raise InputError("--output -: standard output is taken by --json; name a folder")
        target = None
    else:
        target = OutputFolder(output, force=force).file(f"{name}.py", "py")
    with status(f"Generating {name}.py", quiet=json_):
        from symderiv import learning

        text = learning.generate(name, activation, teacher_activation, _checked(tolerance))
    if target is None:
        write_text(text, None)
        return
    target.write_text(text)
    path = target.path
    digest, functions = hashlib.sha256(path.read_bytes()).hexdigest(), _functions(text)
    accuracy = _accuracy(text)
    if json_:
        found = {"path": str(path), "sha256": digest, "functions": functions}
        emit_json({**found, "approximation": accuracy} if accuracy else found)
    else:
        print(f"{path}\nsha256 {digest}\nfunctions: {', '.join(functions)}")
        if accuracy:
            print(_accuracy_line(accuracy))


def _checked(tolerance: float | None) -> float | None:
    """The tolerance, if it makes sense."""
    if tolerance is not None and not 0 < tolerance < 1:
        raise InputError(f"--tolerance {tolerance:g}: choose a number between 0 and 1, like 1e-8")
    return tolerance


def _accuracy(text: str) -> dict[str, str | float]:
    """What a module says of the accuracy of its activations; nothing if they are exact."""
    import ast

    found: dict[str, str | float] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id.startswith("ACTIVATION_"):
                found[target.id.removeprefix("ACTIVATION_").lower()] = node.value.value  # type: ignore[assignment]
    return found


def _accuracy_line(accuracy: dict[str, str | float]) -> str:
    if accuracy["method"] == "quadrature":
        return f"means by quadrature: absolute error up to {accuracy['error']} (largest found)"
    return (
        f"activation by {accuracy['method']}: error {accuracy['error']}, of its derivative "
        f"{accuracy['derivative_error']} (proved)"
    )


def _functions(text: str) -> list[str]:
    """Names of the public functions of a module, in the order of its text."""
    import ast

    tree = ast.parse(text)
    functions = (node.name for node in tree.body if isinstance(node, ast.FunctionDef))
    return [name for name in functions if not name.startswith("_")]


def _checked_in(*, check: bool, as_json: bool) -> None:
    import symderiv_kernels

    from symderiv import learning

    directory = Path(symderiv_kernels.__path__[0])
    with status("Deriving the checked-in modules", quiet=as_json):
        differing = learning.write_checked_in(directory, check=check)
    if as_json:
        modules = sorted(learning.RECIPES)
        emit_json({"path": str(directory), "modules": modules, "differing": differing})
    else:
        outcome = "differ from their derivation" if check else "rewritten"
        print(f"{len(learning.RECIPES)} modules; {outcome}: {', '.join(differing) or 'none'}")
    if check and differing:
        raise ToleranceError(
            f"the checked-in modules {', '.join(differing)} differ from what the derivation gives; "
            "run: symderiv generate --checked-in"
        )


def register(app: typer.Typer) -> None:
    """Add the commands of this module to the application."""
    app.command()(derive)
    app.command()(generate)
