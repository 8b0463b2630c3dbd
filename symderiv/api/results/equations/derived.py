"""The derivation of the learning dynamics, and solver modules written from it."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import keyword
import sys
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.api.arguments.numbers import check_tolerance
from symderiv.api.results.answer import Answer
from symderiv.formula import activation as read_activation
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.outputs import Output, OutputFolder
from symderiv.foundation.showing import Shown, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from symderiv.foundation.documents.document import Node, Part
    from symderiv.foundation.documents.written_derivation import Derivation, Section
    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.problem.study import Study


@dataclass(frozen=True, repr=False)
class LearningDerivation(Shown):
    """The derivation from the update of one example to the order-parameter equations, in steps.

    Attributes:
        activation, teacher_activation: the resolved formulas.
        derivation: sections of steps.
    """

    activation: str
    teacher_activation: str
    derivation: Derivation

    def to_dict(self) -> dict[str, Any]:
        """Return the formulas, the title and an entry for each section."""
        formulas = {"activation": self.activation, "teacher_activation": self.teacher_activation}
        return {**formulas, **self.derivation.to_json()}

    def _document(self) -> Part:
        return self.derivation.document

    def to_latex(self) -> str:
        """Return a complete LaTeX article."""
        return self.derivation.to_latex()

    def to_html(self) -> str:
        """Return a complete HTML page with native MathML."""
        from symderiv.show.pages.page import derivation_page

        return derivation_page(self.derivation)

    def _repr_html_(self) -> str:
        return self.derivation.to_html()

    def _summary(self) -> Summary:
        sections = self.derivation.sections
        steps = sum(len(section.steps) for section in sections)
        rows: list[tuple[str, object]] = [
            ("sections", ", ".join(section.key for section in sections)),
            ("steps", steps),
        ]
        return Summary(self.derivation.title, rows, ["all of it: .to_text(), .to_latex()"])


def derivation_of(study: Study, tolerance: float | None = None) -> LearningDerivation:
    """Return the derivation of a study's equations."""
    from symderiv.integrate.rules.solving import rule_of_study
    from symderiv.show.pages.derivations import learning_derivation

    student, teacher = map(read_activation, (study.student_activation, study.teacher_activation))
    with naming_arguments():
        rule = rule_of_study(study)
    derivation = learning_derivation(
        student,
        teacher,
        check_tolerance(tolerance),
        plateau=True,
        rule=rule,
        rates=_rates_told(study),
    )
    return LearningDerivation(student.text, teacher.text, derivation)


def _rates_told(study: Study) -> Sequence[Section]:
    """Return the sections on keys that change rates only."""
    if not study.rule_keys:
        return ()
    from symderiv.learning.narration.rates_told import told_of

    return told_of(study.rule_keys)


class Module(Answer):
    """A solver module that was written.

    Attributes:
        path: the file; sha256: its digest; functions: names of its public functions.
        fast_path, fast_sha256: the module for given numbers of units; runtime_path: what it needs.
        approximation: what it says of the accuracy of its activations, if they are not exact.
    """

    _title = "Solver module"
    _first = ("path", "sha256", "functions")

    def __init__(self, record: dict[str, Any], shown: Node, source: str) -> None:
        super().__init__(record, shown)
        self._source = source

    def to_source(self) -> str:
        """Return the text of the module."""
        return self._source


def module_of(
    study: Study,
    name: str,
    *,
    tolerance: float | None,
    output: str | PathLike[str] | None,
    force: bool,
) -> Module:
    """Return the solver module of a study's activations and rule.

    NAME.py is the mathematics and all that SciPy needs to integrate it. Beside it, in ``fast/``,
    are written a NAME.py with the right-hand side on vectors compiled for given numbers of units,
    and runtime.py, which that imports.

    Args:
        study: its activations and its rule are meant.
        name: a Python identifier; the file is NAME.py.
        tolerance: see :func:`symderiv.derive`.
        output: its folder; None writes nothing, the text is then ``to_source()``.
        force: replace files that symderiv did not write.

    Raises:
        InputError: an argument is not acceptable, or the file must not be replaced.
    """
    if not name:
        raise InputError("is missing", argument="name")
    check_module_name(name, None if output is None else Path(output))
    tolerance = check_tolerance(tolerance)

    from symderiv.lowering.solver_files import FAST, RUNTIME, runtime_text

    targets: list[Output] = []
    if output is not None:
        folder = OutputFolder(Path(output), force=force)
        places = (f"{name}.py", f"{FAST}/{name}.py", f"{FAST}/{RUNTIME}")
        targets = [folder.file(place, "py") for place in places]
    with naming_arguments():
        text, fast = _module_texts(study, name, tolerance)
    for target, source in zip(targets, (text, fast, runtime_text()), strict=bool(targets)):
        target.write_text(source)
    path, fast_path, runtime_path = (str(t.path) for t in targets) if targets else ("", "", "")
    record: dict[str, Any] = {
        "path": path,
        "sha256": _digest(path, text),
        "functions": _functions(text),
        "fast_path": fast_path,
        "fast_sha256": _digest(fast_path, fast),
        "runtime_path": runtime_path,
    }
    accuracy = _accuracy(text)
    if accuracy:
        record["approximation"] = accuracy
    return Module(record, _summary(record), text)


def _summary(record: Mapping[str, Any]) -> Summary:
    """Return the summary of a module."""
    rows = [
        ("module", record["path"]),
        ("sha256", record["sha256"]),
        ("functions", ", ".join(record["functions"])),
    ]
    if record["path"]:
        also = f"{record['fast_path']}, with {record['runtime_path']}"
        rows.append(("compiled", f"for given numbers of units: {also}"))
    if "approximation" in record:
        rows.append(("accuracy", _accuracy_line(record["approximation"])))
    return Summary(rows=rows)


def _module_texts(study: Study, name: str, tolerance: float | None) -> tuple[str, str]:
    """Return the readable module, with an example if the study allows one, and the fast one."""
    from symderiv.checking.recipes import solver_text
    from symderiv.integrate.rules.solving import rule_of_study

    rule = rule_of_study(study)
    activations = study.student_activation, study.teacher_activation
    texts = solver_text(name, *activations, tolerance, rule=rule, lanes=False)
    return _with_example(texts.readable, study, rule), texts.fast


def _with_example(text: str, study: Study, rule: LearningRule) -> str:
    """Return the module with an example at its end, if the study has numbers for one."""
    from symderiv_codegen import with_example

    from symderiv.api.results.equations.exports import example_of
    from symderiv.lowering.solver_arrays import RANGES, arrays_of

    arrays = arrays_of(rule)
    vectors = arrays.state, arrays.parameters
    try:
        example = example_of(study, vectors)
    except (SymderivError, KeyError):
        return text
    return str(with_example(text, vectors, RANGES, example, (("K", "K"), ("K", "M"))))


def _digest(path: str, text: str) -> str:
    """Return the SHA-256 of a file, or of the text if no file was written."""
    content = Path(path).read_bytes() if path else text.encode()
    return hashlib.sha256(content).hexdigest()


class CheckedIn(Answer):
    """The modules that come with the package, and those that differ from their derivation.

    Args:
        directory: The folder of the modules.
        modules, differing: The names of the modules, and of those that differ or differed.
        compared: True if they were compared only, not rewritten.
    """

    _title = "Checked-in solver modules"
    _first = ("path", "modules", "differing")

    def __init__(
        self, directory: Path, modules: list[str], differing: list[str], compared: bool
    ) -> None:
        outcome = "differ from their derivation" if compared else "rewritten"
        text = f"{len(modules)} modules; {outcome}: {', '.join(differing) or 'none'}\n"
        record = {"path": str(directory), "modules": modules, "differing": differing}
        super().__init__(record, text)
        self._compared = compared

    def failure(self) -> str | None:
        """Return which compared modules differ, and the remedy; None if all agree."""
        differing = ", ".join(self._record["differing"])
        if not (self._compared and differing):
            return None
        return (
            f"the checked-in modules {differing} differ from what the derivation gives; "
            "run: symderiv generate --checked-in"
        )


def _accuracy(text: str) -> dict[str, str | float]:
    """Return the accuracy that a module states for its activations; nothing if they are exact."""
    accuracy: dict[str, str | float] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            target = node.targets[0]
            if isinstance(target, ast.Name) and target.id.startswith("ACTIVATION_"):
                accuracy[target.id.removeprefix("ACTIVATION_").lower()] = node.value.value  # type: ignore[assignment]
    return accuracy


def _accuracy_line(accuracy: dict[str, str | float]) -> str:
    if accuracy["method"] == "quadrature":
        return f"means by quadrature: absolute error up to {accuracy['error']} (largest found)"
    return (
        f"activation by {accuracy['method']}: error {accuracy['error']}, of its derivative "
        f"{accuracy['derivative_error']} (proved)"
    )


def _functions(text: str) -> list[str]:
    """Return the names of a module's public functions, in the order of its text."""
    functions = (node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return [name for name in functions if not name.startswith("_")]


#: Names that a module's text or the folder beside it already uses.
TAKEN: Final = frozenset({"np", "numba", "math", "numpy", "fast", "runtime"})


def check_module_name(name: str, folder: Path | None = None) -> None:
    """Refuse names that no module can have, or that would hide another module on import.

    Args:
        name: the name of the module.
        folder: the module's folder; a module of the same name there counts as its older version.

    Raises:
        InputError: with the reason.
    """
    if not (name.isidentifier() and name.isascii()):
        raise InputError(f"{name!r} is not a Python identifier in ASCII letters", argument="name")
    if keyword.iskeyword(name) or name in keyword.softkwlist or not name.strip("_"):
        raise InputError(f"{name!r} is a word of Python; choose another", argument="name")
    if name in TAKEN or name in sys.stdlib_module_names or name.startswith("__"):
        raise InputError(
            f"{name!r} is taken by what modules import; choose another", argument="name"
        )
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return
    places = [spec.origin or "", *(spec.submodule_search_locations or ())]
    own = None if folder is None else (folder / f"{name}.py").resolve()
    if all(Path(place).resolve() != own for place in places):
        raise InputError(
            f"{name!r} is the name of a module that can be imported already, which one of the two "
            "would hide; choose another",
            argument="name",
        )
