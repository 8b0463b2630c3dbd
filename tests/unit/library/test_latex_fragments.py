"""LaTeX fragments: chosen equations, labels, the letters of papers, integrals written out."""

import contextlib
import re
import shutil
import subprocess
from itertools import product
from pathlib import Path

import latex2mathml.converter
import pytest

import symderiv as sd
from symderiv.api.results.equations.exports import _PAPERS, NOTATIONS

COMMITTEE = sd.Problem(
    "erf", students=2, teachers=3, learning_rate=0.5, student_weights=1, teacher_weights=1
)


def rows(text: str) -> list[str]:
    body = text.removeprefix("\\begin{align}\n").removesuffix("\\end{align}\n")
    return [row.strip() for row in body.split(r"\\")]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_every_row_is_latex_and_every_equation_has_its_label(notation: str) -> None:
    text = COMMITTEE.export("latex", notation=notation, labels="eq").to_source()
    labels = re.findall(r"\\label{eq:(.*?)}", text)
    assert labels == ["dQ", "dR", "error", "A", "B", "Gamma", "I2", "I4", "g"]
    for row in rows(text):
        clean = re.sub(r"\\label{.*?}|\\nonumber|&=?|\\quad", " ", row)
        assert clean.count("{") == clean.count("}")
        assert "<math" in latex2mathml.converter.convert(clean)


def test_no_two_indices_become_one() -> None:
    for notation in _PAPERS.values():
        theirs = [notation.indices.get(index, index) for index in "ijpqnm"]
        assert len(set(theirs)) == 6


def test_letters_of_papers_stand_for_ours() -> None:
    """The gradient B_in, by hand."""
    chosen = {
        notation: rows(COMMITTEE.export("latex", notation=notation, equations=["B"]).to_source())[0]
        for notation in NOTATIONS
    }
    mean = r"\left\langle g'({}) \tilde g'({}) \right\rangle"
    ours = mean.format("x_{i}", "y_{n}")
    assert chosen["symderiv"] == rf"B_{{in}} &= - v_{{i}} \tilde v_{{n}} {ours}"
    assert chosen["saad-solla"] == rf"B_{{in}} &= - {ours}"
    theirs = mean.format(r"\lambda^{k}", r"\nu^{m}")
    assert chosen["goldt"] == rf"B^{{km}} &= - v^{{k}} \tilde v^{{m}} {theirs}"


@pytest.mark.parametrize(
    ("notation", "term"),
    [
        ("symderiv", r"\sum_{p=1}^{K} v_{p}^{2} \pi_{ij,p}^{2} I_{4}"),
        ("goldt", r"\sum_{a=1}^{K} \left(v^{a}\right)^{2} \pi_{kl,a}^{2} I_{4}"),
        ("saad-solla", r"\sum_{j=1}^{K} \pi_{ik,j}^{2} I_{4}"),
    ],
)
def test_powers_and_indices_with_a_comma_in_letters_of_papers(notation: str, term: str) -> None:
    """TeX refuses a second superscript; what is not written has no power."""
    weights = {"student_weights": 1, "teacher_weights": 1}
    problem = sd.Problem("erf", students=2, teachers=3, learning_rate=0.5, keep=0.7, **weights)
    assert term in problem.export("latex", notation=notation, equations=["Gamma"]).to_source()


#: Pairs of activations, numbers of units and rules; TeX reads all their equations.
TYPESET = (
    COMMITTEE,
    sd.Problem("relu", teacher_activation="erf", students=3, teachers=1, learning_rate=0.5),
    sd.Problem("gelu", teacher_activation="sign", students=2, teachers=3, learning_rate=0.5),
    sd.Problem("sin", teacher_activation="tanh", students=2, teachers=2, learning_rate=0.5),
    sd.Problem("erf", students=2, teachers=3, learning_rate=0.5, keep=0.7, label_flip=0.1),
    sd.Problem("erf", students=2, teachers=1, learning_rate=0.5, momentum_rate=2.0),
    sd.Problem("erf", students=2, teachers=1, learning_rate=0.5, normalise="gradient"),
    sd.Problem("erf", students=2, teachers=1, learning_rate=0.5, normalise="sphere"),
    sd.Problem("erf", students=2, teachers=1, learning_rate=0.5, loss="logistic", target="sign"),
    sd.Problem(
        "erf",
        students=2,
        teachers=3,
        learning_rate=0.5,
        student_biases=0.3,
        teacher_biases=0.2,
        train_biases=True,
        train_second_layer=True,
    ),
    sd.Problem(
        "linear",
        students=2,
        teachers=3,
        learning_rate=0.5,
        inputs=sd.PowerLaw(dimension=64, distinct_eigenvalues=4, exponent=1.0),
        input_noise=0.2,
        label_noise=0.1,
    ),
)


@pytest.mark.days(3)
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX")
@pytest.mark.parametrize("problem", TYPESET, ids=range(len(TYPESET)))
def test_tex_reads_every_fragment(problem: sd.Problem, tmp_path: Path) -> None:
    fragments = []
    for notation, integrals in product(NOTATIONS, ("folded", "written")):
        labels = f"{notation}{integrals}"
        with contextlib.suppress(sd.InputError):
            found = problem.export("latex", notation=notation, integrals=integrals, labels=labels)
            fragments.append(found.to_source())
    assert fragments
    assert not [line for line in typeset("".join(fragments), tmp_path) if line.startswith("!")]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no TeX")
def test_what_tex_refuses_is_found(tmp_path: Path) -> None:
    assert "! Double superscript." in typeset(r"$v^{a}^{2}$", tmp_path)


def typeset(body: str, folder: Path) -> list[str]:
    """What TeX says of an article that needs amsmath only."""
    (folder / "article.tex").write_text(
        "\\documentclass{article}\n\\usepackage{amsmath}\n"
        f"\\begin{{document}}\n{body}\\end{{document}}\n",
        encoding="utf-8",
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-draftmode", "article.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_an_integral_that_is_written_out_is_the_integral() -> None:
    text = COMMITTEE.export("latex", equations=["I2"], integrals="written").to_source()
    formula = rows(text)[0].partition("&=")[2].strip()
    assert sd.check("i2", formula, activation="erf").verdict == "holds"


@pytest.mark.parametrize(
    ("changes", "asked", "argument"),
    [
        ({"student_weights": 0.5}, {"notation": "saad-solla"}, "notation"),
        ({}, {"notation": "landau"}, "notation"),
        ({}, {"equations": ["dX"]}, "equations"),
        ({}, {"integrals": "numerically"}, "integrals"),
        ({"inputs": sd.Spectrum([1.5, 0.5])}, {"notation": "goldt"}, "notation"),
    ],
)
def test_what_cannot_be_said_is_refused(
    changes: dict[str, object], asked: dict[str, object], argument: str
) -> None:
    with pytest.raises(sd.InputError) as caught:
        COMMITTEE.replace(**changes).export("latex", **asked)
    assert caught.value.argument == argument
