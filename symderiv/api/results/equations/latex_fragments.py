"""Chosen equations of a study as labelled LaTeX fragments, in the notation of a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from symderiv.foundation.documents.latex_writer import align
from symderiv.foundation.errors import InputError, check_one_of

if TYPE_CHECKING:
    from symderiv.problem.study import Study


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
