"""Mistakes of a new user at the terminal, each with the mend that its one line has to name.

Nothing is computed and nothing written: after each of them the folder is as it was.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from support.commands import refused
from support.error_pages import error_pages
from support.studies import SMALL_STUDY

#: Slips in the study, by the name of the file that has one: what stands there, and instead.
SLIPS = {
    "quotes": ('"erf"', "erf"),
    "header": ("[network]", "[netwrok]"),
    "half": ("students = 2", "students = 2.5"),
    "number": ("learning_rate = 0.5", 'learning_rate = "0.5"'),
    "endless": ("end = 20.0", "end = 0.0"),
    "model": ("power-law", "powerlaw"),
    "unknown": ("end = 20.0", "end = 20.0\nedn = 3"),
    "twice": ("students = 2", "students = 2\nstudents = 3"),
    "elsewhere": ("students = 2", "students = 2\nlearning_rate = 0.1"),
    "evil": ('"erf"', '''"__import__('os').system('touch hacked')"'''),
    "weights": ("students = 2", "students = 2\nstudent_weights = [1, 2, 3]"),
    "divides": ("distinct_eigenvalues = 1", "distinct_eigenvalues = 7"),
    "column": (
        'model = "power-law"\ndimension = 64\ndistinct_eigenvalues = 1\nexponent = 1.0',
        'model = "covariance"\nfile = "data.npz"\narray = "cov"',
    ),
    "table": (
        'model = "power-law"\ndimension = 64\ndistinct_eigenvalues = 1\nexponent = 1.0',
        'model = "covariance"\nfile = "data.csv"',
    ),
}

SPECTRUM = ("--distinct-eigenvalues", "4", "--exponent", "1")
MAP = ("map", "s.toml", "--quantity", "plateau_length")

MISTAKES: list[tuple[tuple[str, ...], str]] = [
    # commands and words
    (("slove", "s.toml"), "did you mean solve?"),
    (("run", "s.toml"), "did you mean solve?"),
    (("s.toml",), "did you mean solve s.toml?"),
    (("version",), "did you mean --version?"),
    (("derive", "erf"), "derive takes no word beside its options"),
    (("solve", "s.toml", "--set", "learning_rate", "0.3"), "solve takes {STUDY.toml}"),
    # options
    (("solve",), "Missing argument 'STUDY.toml'"),
    (("solve", "s.toml", "--lr", "0.3"), "--set learning_rate=VALUE"),
    (("study", "s.toml", "--learning-rate", "0.3"), "--set learning_rate=VALUE"),
    (("study", "s.toml", "--out", "results"), "did you mean --output?"),
    (("expect", "x*y", "--cov", "[[1,0],[0,1]]"), "did you mean --covariance?"),
    (("solve", "s.toml", "--end", "soon"), "--end': should be a valid number"),
    (("solve", "s.toml", "--end", "-5"), "should be greater than 0"),
    (("solve", "s.toml", "--end", "5", "--set", "end=10"), "remove one"),
    (("simulate", "s.toml", "--runs", "0"), "greater than or equal to 1"),
    (("solve", "--nope"), "--nope"),
    (("expect", "x", "--digitz", "3"), "No such option: --digitz (did you mean --digits"),
    (("integral", "i2", "--activaton", "erf"), "--activaton (did you mean --activation"),
    (("check", "i2", "--formla", "x"), "--formla (did you mean --formula"),
    (("solve", "--outptu", "x"), "--outptu (did you mean --output"),
    (("simulate", "s.toml", "--runs", "many"), "--runs"),
    (("derive", "--activation", "erf", "--format", "pdf"), "pdf"),
    (("generate", "--name", "g"), "--activation"),
    (("generate", "--activation", "erf"), "--name"),
    (("generate", "--activation", "erf", "--name", "../g"), "../g"),
    (("generate", "--check"), "--checked-in"),
    # files
    (("solve", "s.toml", "--output", "s.toml/run.nc"), "s.toml"),
    (("solve", "s.tml"), "did you mean s.toml?"),
    (("solve", "elephant.toml"), "check its name and its folder"),
    (("solve", "folder"), "is a folder, not a file"),
    (("solve", "data.npz"), "is not UTF-8 text"),
    (("solve", "notes.txt"), "write key = value in a line"),
    (("solve", "s.toml", "--output", "run.csv"), "name it run.nc"),
    (("solve", "s.toml", "--output", "notes.txt"), "choose another name"),
    (("solve", "s.toml", "--output", "s.toml"), "choose another name"),
    (("solve", "s.toml", "--plot", "fig.gif"), ".svg, .png, .pdf"),
    (("study", "s.toml", "--output", "notes.txt"), "is a file, not a folder; choose another name"),
    (("derive", "--activation", "erf", "--output", "erf.pdf"), "name it erf.txt"),
    (("one-step", "s.toml"), "known are n, m, k"),
    (("verify", "saad-sola"), "saad-solla-1995"),
    (("cite", "saad"), "did you mean saad-solla-1995?"),
    # a study
    (("solve", "quotes.toml"), "write texts in quotation marks"),
    (("solve", "header.toml"), "did you mean network?"),
    (("solve", "half.toml"), "network.students: should be an integer"),
    (("solve", "number.toml"), "training.learning_rate: should be a number"),
    (("solve", "endless.toml"), "time.end: should be greater than 0"),
    (("solve", "model.toml"), "power-law"),
    (("solve", "unknown.toml"), "time.edn"),
    (("solve", "twice.toml"), "the key is there twice, remove one"),
    (("solve", "elsewhere.toml"), "it stands in [training]"),
    (("solve", "evil.toml"), "strings are not allowed"),
    (("solve", "weights.toml"), "has 3 entries, expected 2"),
    (("solve", "divides.toml"), "7 does not divide dimension = 64"),
    (("solve", "column.toml"), "it holds x, y"),
    (("solve", "table.toml"), "numpy.save"),
    # keys that are set and swept
    (("solve", "s.toml", "--set", "lr=0.3"), "did you mean learning_rate?"),
    (("solve", "s.toml", "--set", "learning_rate"), "must have the form key=value"),
    (("solve", "s.toml", "--set", "learning_rate=0,3"), "should be a number"),
    (("solve", "s.toml", "--set", "inputs=covariance"), "set one of its keys"),
    (("solve", "s.toml", "--set", "momentum=0.5", "--set", "momentum_rate=1"), "remove one"),
    (("solve", "s.toml", "--set", "activation=__import__('os').system('id')"), "not allowed"),
    (("sweep", "s.toml", "--over", "learning_rate=0.1:0.5"), "write low:high:count"),
    (("sweep", "s.toml", "--over", "seed=1,2", "--over", "seed=3"), "give all its values at once"),
    (("sweep", "s.toml"), "give keys and values"),
    (("sweep", "s.toml", "--over", "data.exponent"), "data.exponent"),
    (("sweep", "s.toml", "--over", "data.nope=1,2"), "data.nope"),
    (("sweep", "s.toml", "--over", "data.distinct_eigenvalues=3"), "distinct_eigenvalues"),
    (("sweep", "s.toml", "--over", "data.dimension=1:2:0"), "--over"),
    ((*MAP[:3], "plateau_len", "--over", "seed=0:1"), "did you mean plateau_length?"),
    ((*MAP, "--over", "seed=0,1", "--over", "learning_rate=0,1"), "key=low:high"),
    # questions
    (("expect", "erf(x)*y"), "[[1, 0.5], [0.5, 1]]"),
    (("expect", "erf(x)*y", "--covariance", "cov.json"), "write rows such as"),
    (("expect", "erf(x)*y", "--covariance", "[[1,2],[2,1]]"), "is not positive semidefinite"),
    (("expect", "x*y", "--covariance", "[[1]]"), "the covariance has only 1 field"),
    (("expect", "erf(x)*", "--covariance", "[[1]]"), "check its operators and brackets"),
    (("expect", "9**9**9**9", "--covariance", "[[1]]"), "larger than 12000"),
    (("expect", "().__class__.__bases__", "--covariance", "[[1]]"), "attributes are not allowed"),
    (("expect", "exp(x**2)", "--covariance", "[[1]]"), "exists only for Var(x1) < 1/2"),
    (("integral", "i5", "--activation", "erf"), "i2, i3, i4"),
    (("check", "i2", "--activation", "erf", "--formula", r"\frac{2}{\pi"), "'}' is missing"),
    (("check", "i2", "--activation", "erf", "--formula", "asin(c13)"), "known here"),
    (("derive", "--activation", "tahn"), "did you mean tanh?"),
    (("derive", "--activation", "numpy.tanh(x)"), "functions have their name alone"),
    (("generate", "--activation", "erf", "--name", "my module"), "identifier"),
    (("export", "s.toml", "--to", "matlab"), "python, c, julia"),
    (("export", "s.toml", "--to", "c", "--output", "k.py"), "name it k.c"),
    # analyses
    (("plateau", "--units", "4"), "give T1, D1, T2 and D2"),
    (("plateau", "--units", "1", *SPECTRUM), "at least 2 units"),
    (("plateau", "--units", "4", "--T1", "1", *SPECTRUM), "remove one"),
    (("plateau", "--units", "4", *SPECTRUM, "--activation", "tahn"), "did you mean tanh?"),
    (("asymptotics", "--units", "2", *SPECTRUM, "--activation", "x^2"), "write ** for a power"),
    (("localise", "--gain", "3", "--lengths", "two,one"), "two lengths such as"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the study, its slips and files of other kinds, which one works in."""
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(SMALL_STUDY)
    for name, (right, wrong) in SLIPS.items():
        assert right in SMALL_STUDY
        Path(f"{name}.toml").write_text(SMALL_STUDY.replace(right, wrong))
    np.savez("data.npz", x=np.eye(4), y=np.eye(4))
    Path("data.csv").write_text("1,2\n2,1\n")
    Path("notes.txt").write_text("my own notes\n")
    Path("folder").mkdir()
    return tmp_path


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {file: file.read_bytes() if file.is_file() else None for file in folder.rglob("*")}


@pytest.mark.parametrize(("words", "mend"), MISTAKES, ids=[" ".join(each[0]) for each in MISTAKES])
def test_a_mistake_is_answered_by_one_line_that_names_the_mend(
    words: tuple[str, ...], mend: str, folder: Path
) -> None:
    before = contents(folder)
    line = refused(*words).removeprefix("symderiv: error: ")
    assert mend in line
    assert len(line) < 300
    usage = re.search(r" \(see .* --help\)$", line)
    assert usage or error_pages.known(line), "the manual has no such message"
    assert contents(folder) == before
