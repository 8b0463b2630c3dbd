"""Every command prints the same words and numbers, whole, at 60, 80 and 200 columns."""

import re
from pathlib import Path

import pytest
from support.commands import symderiv
from support.rotating import is_today
from support.studies import toml

from symderiv.show.plots import plots

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 2},
    data={"model": "isotropic", "dimension": 100},
    training={"learning_rate": 0.5},
    time={"end": 5.0, "points": 20},
    simulation={"runs": 2},
)

#: With fewer units, and so fewer of the same rows.
ONE = STUDY.replace("= 2\nteachers = 2", "= 1\nteachers = 1")
PAPER = """
title = "Mine"
[[claim]]
equation = "9"
reference = "i2"
activation = "erf"
formula = "2*asin(c12/sqrt((1+c11)*(1+c22)))/pi"
[[claim]]
equation = "10 and its correction, which has a long name"
reference = "i2"
activation = "erf"
formula = "2*asin(c12/sqrt((1+c11)*(2+c22)))/pi"
corrected_formula = "2*asin(c12/sqrt((1+c11)*(1+c22)))/pi"
[[claim]]
equation = "11"
reference = "expectation"
expression = "x1**2*Heaviside(x2)"
statement = "I == C[1, 1]/2"
[[claim]]
equation = "12"
not_checkable = "the experiment cannot be made again"
"""
#: What takes seconds is compared at one of the narrow widths a day.
SLOW = ("verify", "simulate", "study", "fixed-points", "derive")

PLATEAU = "--units 3 --T1 1 --D1 0 --T2 1 --D2 0"
POWERS = "--distinct-eigenvalues 4 --exponent 1.5"
COMMANDS = (
    "expect erf(x)*y*Heaviside(z) --covariance [[1,0.1,0.2],[0.1,1,0.3],[0.2,0.3,1]]",
    "integral i3 --activation erf",
    "integral i4 --activation relu --digits 30 "
    "--covariance [[1,0.1,0.2,0.3],[0.1,1,0.3,0.2],[0.2,0.3,1,0.1],[0.3,0.2,0.1,1]]",
    "check i2 --activation erf --formula 2*asin(c12/sqrt((1+c11)*(1+c22)))/pi",
    "check i2 --activation erf --formula 2*asin(c12)/pi",
    "derive --activation erf",
    f"plateau {PLATEAU}",
    f"plateau {PLATEAU} --full --learning-rate 0.3",
    f"asymptotics --units 2 {POWERS}",
    f"linear {POWERS} --learning-rate 0.1 --student-std 0.1 --alpha 1,10,100",
    "verify mine.toml --processes 1",
    "solve s.toml --output OUT.nc",
    "simulate s.toml --output OUT.nc",
    "sweep s.toml --over training.learning_rate=0.1,0.5 --output OUT.zarr",
    "map s.toml --quantity final_error --over training.learning_rate=0.1:1 "
    "--over initial.student_std=0.01:0.1 --resolution 8 --output OUT.nc",
    "study s.toml --output OUT",
    "fixed-points one.toml",
    "solve s.toml --event generalization_error<0.1 --event R[1,1]>2*Q[1,1] --output OUT.nc",
    "cite s.toml",
    "export s.toml --to latex",
    "--help",
    "solve --help",
    "sweep --help",
    "plateau --help",
    "optimise --help",
    "localise --help",
)

# What a clock says differs between calls, and names of files are those of the call.
_CLOCK = re.compile(r"(?:wall|seconds|took|per second).*|[\d.]+ (?:s|ms|min)\b|\S*OUT\d+\S*")
_NUMBER = re.compile(r"[-−+]?\d[\d.]*(?:e[-+]?\d+|×10[⁻⁰¹²³⁴-⁹]+)?")
_WORD = re.compile(r"[a-zα-ω]{4,}", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("columns")
    for name, text in (("s", STUDY), ("one", ONE), ("mine", PAPER)):
        (place / f"{name}.toml").write_text(text)
    return place


@pytest.fixture(autouse=True)
def figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw none: what is printed is the same beside an empty file."""
    empty = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
    monkeypatch.setattr(plots, "write", lambda figure, target, kind: target.write(empty))


def printed(words: str, width: int, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """What a command prints for people at a width."""
    patch.chdir(folder)
    patch.setenv("COLUMNS", str(width))
    done = symderiv(*words.replace("OUT", f"OUT{width}").split())
    assert done.returncode in (0, 1), done.stderr
    return "\n".join(_CLOCK.sub("", line) for line in done.stdout.splitlines())


@pytest.mark.days(4)
@pytest.mark.parametrize("words", COMMANDS)
def test_no_number_is_cut_and_no_column_is_lost(
    words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = printed(words, 200, folder, monkeypatch)
    assert wide.strip()
    widths = [(60, 80)[i] for i in (0, 1) if not words.startswith(SLOW) or is_today(i, 2)]
    for width in widths:
        narrow = printed(words, width, folder, monkeypatch)
        cut = set(_NUMBER.findall(narrow)) ^ set(_NUMBER.findall(wide))
        assert not cut, (width, sorted(cut))
        # a word that does not fit into a narrow column goes on in the next line, beside others
        joined = re.sub(r"\s|[│─╭╰╮╯┃]", "", narrow)
        # plain help of narrow terminals does not say that a flag is one
        lost = {word for word in _WORD.findall(wide) if word[:8] not in joined} - {"bool"}
        assert not lost, (width, sorted(lost))
        assert narrow.count("…") <= wide.count("…"), width
