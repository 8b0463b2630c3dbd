"""Derived equations as source code in other languages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symderiv.api.arguments.argument_names import naming_arguments
from symderiv.api.arguments.numbers import check_tolerance
from symderiv.api.results.answer import Answer
from symderiv.foundation.documents.document import Part, Verbatim
from symderiv.foundation.errors import InputError, NotYetError, check_one_of
from symderiv.foundation.languages import LANGUAGES
from symderiv.foundation.outputs import Output
from symderiv.foundation.showing import Summary
from symderiv.keys.study_tables import keys_acting

if TYPE_CHECKING:
    from symderiv_codegen import Example, Vector

    from symderiv.learning.rule.learning_rule import LearningRule
    from symderiv.problem.state import State
    from symderiv.problem.study import Study

MOST_NUMBERS = 400
"""The largest number of numbers in an example; a larger example gets isotropic inputs."""
# Lines of a source that its short form shows.
_MOST_LINES = 5
MOST_TIME = 10.0
"""The longest time of an example."""


class Export(Answer):
    """Exported source code.

    Attributes:
        to: the language.
        path: the file, or an empty text.
        sha256, lines: the digest of the source and its number of lines.
    """

    _title = "Exported source"

    def __init__(self, record: dict[str, Any], text: str, source: str) -> None:
        super().__init__(record, text)
        self._source = source

    def to_source(self) -> str:
        """Return the text of the source."""
        return self._source

    def _repr_latex_(self) -> str | None:
        from symderiv.foundation.documents.latex_writer import starred

        return starred(self._source) if self.to == "latex" else None

    def _repr_html_(self) -> str | None:  # type: ignore[override]
        # with None a notebook typesets the LaTeX instead
        if self.to == "latex":
            return None
        from symderiv.foundation.documents.html_writer import fragment

        return fragment(Part("", [Summary(self._title, self._rows()), Verbatim(self._source)]))

    def _rows(self) -> list[tuple[str, object]]:
        named = (("to", self.to), ("lines", self.lines), ("path", self.path))
        return [(name, value) for name, value in named if value]

    def _summary(self) -> Summary:
        begins = [line.rstrip() for line in self._source.splitlines() if line.strip()][:_MOST_LINES]
        more = [f"… .to_source() has all {self.lines} lines"] if self.lines > len(begins) else []
        return Summary(self._title, self._rows(), [*begins, *more])


def export_of(
    study: Study,
    to: str,
    output: str | PathLike[str] | None = None,
    *,
    tolerance: float | None = None,
    force: bool = False,
    inputs: Iterable[Path] = (),
    **fragment: Any,
) -> Export:
    """Return the right-hand side, the error and an example with the numbers of a study.

    Args:
        study: the study, with its activations, rule, rates and start.
        to: one of :data:`symderiv.foundation.languages.LANGUAGES`.
        output: the file; None writes nothing.
        tolerance: bound on the error of an activation without closed means; None for 1e-8.
        force: replace a file that symderiv did not write.
        inputs: files that must not be replaced.
        fragment: options for LaTeX only, see
            :func:`symderiv.api.results.equations.latex_fragments.latex_fragment`.

    Raises:
        InputError: the language is not known, or the file must not be replaced.
        NotYetError: the equations of the study cannot be exported; with the name of the key.
    """
    check_one_of("to", to, LANGUAGES)
    language = LANGUAGES[to]
    from symderiv_codegen import PrinterError

    from symderiv.lowering.programs.exported import kept_vectors, source_text

    check_tolerance(tolerance)
    target = None if output is None else Output(output, language.ending, inputs=inputs, force=force)
    if to == "latex":
        from symderiv.api.results.equations.latex_fragments import latex_fragment

        with naming_arguments():
            return written_source(to, latex_fragment(study, **fragment), target)
    if fragment:
        raise InputError(
            "is allowed for the language latex only; remove it", argument=next(iter(fragment))
        )
    if to == "coq":
        from symderiv.api.results.equations.certified import coq_source

        return written_source(to, coq_source(study), target)
    with naming_arguments():
        stated = _stated(study)
        example = example_of(study, kept_vectors(*stated, tolerance))
    numbers = (*(tuple(each.items()) for each in (example.sizes, example.values)), example.end)
    try:
        source = source_text(*stated, tolerance, language, (*numbers, example.steps))
    except PrinterError as error:
        raise NotYetError(f"cannot be exported: {error}", argument="to") from error
    return written_source(to, source, target)


def written_source(to: str, source: str, target: Output | None) -> Export:
    """Return source code as a result, and write it to its file if there is one."""
    if target is not None:
        target.write_text(source)
    record: dict[str, Any] = {
        "to": to,
        "path": str(target.path) if target else "",
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "lines": source.count("\n"),
    }
    text = source if target is None else f"{target.path}\n"
    return Export(record, text, source)


def _stated(study: Study) -> tuple[str, str, LearningRule]:
    """Return the activations and the learning rule from which a program is derived."""
    from symderiv.integrate.rules.solving import rule_of_study

    for key in ("task", *keys_acting("time")):
        if key in study.rule_keys:
            raise NotYetError(
                "cannot be exported, because it changes in time; leave it out", argument=key
            )
    return study.student_activation, study.teacher_activation, rule_of_study(study)


def example_of(study: Study, vectors: Sequence[Vector]) -> Example:
    """Return an example with the study's own start and numbers, to twelve digits.

    Batches and momentum are replaced by equivalent rates of single examples.
    """
    from symderiv_codegen import Example

    from symderiv.problem.initial import check_equations, initial

    if not study.time.given:
        study = study.changed({"time": {"end": MOST_TIME}})
    drawn = study.initial.state is None and study.initial.draw == "sampled"
    if drawn and study.data_model is not None and study.data_model.dimension is None:
        own = study.initial.model_dump(exclude_unset=True)
        study = study.changed({"initial": {**own, "draw": "mean"}})
    start = initial(study)
    check_equations(start)
    if start.data is not None and len(start.data.components) > 1:
        raise NotYetError(
            "cannot be exported yet: inputs of several classes need a program for each class",
            argument="data.model",
        )
    state = start.state
    own = _numbers(study, state)
    sizes = {"K": state.K, "M": state.M, "L": state.L}
    count = sum(np.size(value) for value in own.values())
    if count > MOST_NUMBERS:
        sizes["L"], own = 1, _isotropic(own, state)
    if study.rule_keys:
        names = [field.name for vector in vectors for field in vector.fields]
        own = _of_rule(study, names, own)
    values = {
        field.name: _rounded(own[field.name], tuple(sizes[size] for size in field.shape))
        for vector in vectors
        for field in vector.fields
    }
    times = study.time.values or [study.time.end or 0.0]
    return Example(sizes, values, end=min(float(times[-1]), MOST_TIME), steps=200)


def _of_rule(study: Study, names: Sequence[str], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of plain descent and of the learning rule, by name of field."""
    from symderiv.integrate.rules.phases import equivalent_factors
    from symderiv.integrate.rules.rule_run import begun_overlaps
    from symderiv.learning.derivation.rule_equations import equations_of
    from symderiv.problem.rule_of import rule_of

    rule = rule_of(study)
    stated = rule.rule.stated
    in_updates = equations_of(rule.rule).named.in_updates if stated else ()
    followed = begun_overlaps(plain["student_overlap"], plain["cross_overlap"], names)
    own = {**plain, **rule.parameters, **followed, **rule.state}
    factors = equivalent_factors(study, in_updates)
    return {name: own[name] * factors.get(name, 1.0) for name in names}


def _numbers(study: Study, state: State) -> dict[str, Any]:
    training = study.training
    return {
        "student_overlap": np.moveaxis(state.student_overlap, 0, -1),
        "cross_overlap": np.moveaxis(state.cross_overlap, 0, -1),
        "v": state.student_weights,
        "eigenvalue": state.eigenvalue,
        "weight": state.weight,
        "teacher_overlap": np.moveaxis(state.teacher_overlap, 0, -1),
        "T": state.teacher_covariance,
        "v_teacher": state.teacher_weights,
        "learning_rate": training.learning_rate,
        "second_layer_learning_rate": study.second_layer_learning_rate,
        "weight_decay": training.weight_decay,
        "second_layer_weight_decay": study.second_layer_weight_decay,
        "label_noise": training.label_noise,
        "full_order": float(training.order == "full"),
    }


def _isotropic(own: Mapping[str, Any], state: State) -> dict[str, Any]:
    """Return the numbers with the same covariances of fields, for isotropic inputs."""
    return {
        **own,
        "student_overlap": state.Q[..., None],
        "cross_overlap": state.R[..., None],
        "teacher_overlap": state.T[..., None],
        "eigenvalue": np.ones(1),
        "weight": np.ones(1),
    }


def _rounded(value: Any, shape: tuple[int, ...]) -> tuple[float, ...]:
    numbers = np.broadcast_to(np.asarray(value, dtype=float), shape)
    return tuple(float(f"{number:.12g}") + 0.0 for number in numbers.ravel())
