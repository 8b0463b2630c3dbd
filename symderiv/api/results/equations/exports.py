"""Derived equations as source code in other languages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
    coq: Callable[[Study], str] | None = None,
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
        coq: a function that returns another Coq file than that of bounds, about a fixed point.
        force: replace a file that symderiv did not write.
        inputs: files that must not be replaced.
        fragment: options for LaTeX only, see
            :func:`symderiv.api.results.equations.exports.latex_fragment`.

    Raises:
        InputError: the language is not known, or the file must not be replaced.
        NotYetError: the equations of the study cannot be exported; with the name of the key.
    """
    if coq is not None and to != "coq":
        raise InputError("is allowed for the language coq only; remove it", argument="fixed_point")
    check_one_of("to", to, LANGUAGES)
    language = LANGUAGES[to]
    from symderiv_codegen import PrinterError

    from symderiv.lowering.programs.exported import kept_vectors, source_text

    check_tolerance(tolerance)
    target = None if output is None else Output(output, language.ending, inputs=inputs, force=force)
    if to == "latex":
        with naming_arguments():
            return written_source(to, latex_fragment(study, **fragment), target)
    if fragment:
        raise InputError(
            "is allowed for the language latex only; remove it", argument=next(iter(fragment))
        )
    if to == "coq":
        from symderiv.api.results.equations.certified import coq_source

        return written_source(to, (coq or coq_source)(study), target)
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
    from symderiv.integrate.flows.equivalent_numbers import equivalent_factors
    from symderiv.integrate.flows.study_flow import begun_overlaps
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
    from symderiv.integrate.flows.study_flow import rates_of

    return {
        "student_overlap": np.moveaxis(state.student_overlap, 0, -1),
        "cross_overlap": np.moveaxis(state.cross_overlap, 0, -1),
        "v": state.student_weights,
        "eigenvalue": state.eigenvalue,
        "weight": state.weight,
        "teacher_overlap": np.moveaxis(state.teacher_overlap, 0, -1),
        "T": state.teacher_covariance,
        "v_teacher": state.teacher_weights,
        **rates_of(study),
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


@dataclass(frozen=True)
class _Notation:
    """The notation of a paper; see "Conventions" in the manual.

    Attributes:
        letters: for each of our letters a pattern with {} for its indices.
        indices: the paper's index for each of our indices.
        words: further replacements of text.
        unit_weights: True if output weights are 1 and not written.
    """

    letters: Mapping[str, str]
    indices: Mapping[str, str]
    words: Mapping[str, str]
    unit_weights: bool = False


#: Saad and Solla 1995; Goldt et al. 2020 (Gaussian equivalence); Worschech and Rosenow 2024.
_PAPERS: Final[Mapping[str, _Notation]] = {
    "saad-solla": _Notation(
        {},
        {"j": "k", "p": "j", "q": "l"},
        {},
        unit_weights=True,
    ),
    "goldt": _Notation(
        {
            **{letter: letter + "^{{{}}}" for letter in ("Q", "R", "T", "A", "B", "v")},
            r"\Gamma": r"\Gamma^{{{}}}",
            r"\tilde v": r"\tilde v^{{{}}}",
            "x": r"\lambda^{{{}}}",
            "y": r"\nu^{{{}}}",
        },
        {"i": "k", "j": "l", "p": "a", "q": "b", "n": "m", "m": "n"},
        {r"\alpha": "t", r"\epsilon_g": r"\tfrac12\operatorname{pmse}"},
    ),
    "worschech": _Notation(
        {letter: letter + "^{{(1)}}_{{{}}}" for letter in ("Q", "R", "T")},
        {},
        {},
    ),
}
NOTATIONS: Final = ("symderiv", *_PAPERS)
_ELEMENT = re.compile(r"(\\tilde v|\\[A-Za-z]+|[A-Za-z])_\{([ijpqnm,]+)\}(\^\{\w+\})?")
_INDEX = re.compile(r"\\sum_\{([ijpqnm])=1\}")


def latex_fragment(
    study: Study,
    *,
    equations: Sequence[str] = (),
    labels: str | None = None,
    numbering: str = "all",
    notation: str = "symderiv",
    integrals: str = "folded",
) -> str:
    """Return an ``align`` block for a paper; it needs amsmath only.

    Args:
        study: the study.
        equations: names of the equations that are wanted, in this order (dQ, dR, error, A, …, any
            of ``Equations.names``); all when left out.
        labels: a prefix: every numbered equation gets ``\\label{prefix:name}``.
        numbering: "all", "none", or "rates": time derivatives and the error only.
        notation: "symderiv", or that of a paper for isotropic inputs: "saad-solla", "goldt",
            "worschech".
        integrals: "folded" gives integrals by names with definitions, "written" in covariances.

    Raises:
        InputError: an argument is not acceptable, or the notation does not suffice for this study.
    """
    from symderiv.api.results.equations.shown_equations import equations_of, named
    from symderiv.foundation.documents.latex_writer import align

    check_one_of("numbering", numbering, ("all", "none", "rates"))
    check_one_of("notation", notation, NOTATIONS)
    check_one_of("integrals", integrals, ("folded", "written"))
    derived = equations_of(study)
    known = {n: (each.left, each.right) for n, each in named(derived).items()}
    if integrals == "written":
        known |= _written(study, known)
    for name in equations:
        check_one_of("equations", name, tuple(known))
    rates = set(named(derived.equations))
    spelled = _speller(study, notation)
    rows: list[tuple[str, str, str | None]] = []
    for name in equations or known:
        left, right = (spelled(side) for side in known[name])
        numbered = numbering == "all" or (numbering == "rates" and name in rates)
        label = rf" \label{{{labels}:{name}}}" if labels else ""
        rows.append((left, right, label if numbered else None))
    return align(rows)


def _written(study: Study, known: Mapping[str, object]) -> dict[str, tuple[str, str]]:
    """Return the integrals as closed forms in the covariances of their arguments."""
    from symderiv.api.questions import i2, i4

    if study.student_activation != study.teacher_activation:
        raise InputError(
            "can be written out only if students and teachers have the same activation; choose "
            "folded",
            argument="integrals",
        )
    fragments = {}
    for name, question, arguments in (("I2", i2, "x, y"), ("I4", i4, "x, y, z, w")):
        if name in known:
            answer = question(study.student_activation).to_dict()
            if answer["closed_form"] is None:
                raise InputError(
                    f"{name} of {study.student_activation} has no closed form; choose folded",
                    argument="integrals",
                )
            fragments[name] = (rf"I_{{{name[1]}}}({arguments})", answer["latex"])
    return fragments


def _speller(study: Study, notation: str) -> Callable[[str], str]:
    """Return a function that translates our LaTeX to the notation of a paper."""
    if notation == "symderiv":
        return lambda text: text
    paper = _PAPERS[notation]
    data = study.data_model
    plain = data is not None and data.latent is None and len(data.components) == 1
    if data is None or not plain or data.single().eigenvalue.size != 1:
        raise InputError(
            f"{notation} exists for isotropic inputs only; choose another notation",
            argument="notation",
        )
    weights = np.concatenate([study.student_weights, study.teacher_weights])
    if paper.unit_weights and (study.network.train_second_layer or np.any(weights != 1.0)):
        raise InputError(
            f"{notation} has output weights of 1; set student_weights and teacher_weights to 1",
            argument="notation",
        )

    def element(found: re.Match[str]) -> str:
        letter, indices, power = found[1], found[2], found[3] or ""
        if paper.unit_weights and letter in ("v", r"\tilde v"):
            return ""
        theirs = "".join(paper.indices.get(index, index) for index in indices)
        pattern = paper.letters.get(letter, letter + "_{{{}}}")
        written = pattern.format(theirs)
        # brackets, because TeX refuses a second superscript
        return rf"\left({written}\right){power}" if power and "^" in written else written + power

    def spelled(text: str) -> str:
        changed = _ELEMENT.sub(element, text)
        changed = _INDEX.sub(
            lambda found: rf"\sum_{{{paper.indices.get(found[1], found[1])}=1}}", changed
        )
        for ours, theirs in paper.words.items():
            changed = changed.replace(ours, theirs)
        return re.sub(r" {2,}", " ", changed).strip()

    return spelled
