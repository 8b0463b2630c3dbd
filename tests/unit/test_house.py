"""The table of how the engine is built: what it counts, and additions that it tries."""

import ast
import re
from pathlib import Path

import pytest

from benchmarks.additions import ADDITIONS, Addition, Copy
from benchmarks.additions.addition import Edit
from benchmarks.house import (
    classes,
    compiled_steppers,
    evaluates,
    functions,
    key_tables,
    main,
    row_of,
    rows_of_mathematics,
    sgd_steps,
    silent_names,
    sums_over_poles,
)
from benchmarks.import_arrows import ROOT

SECTION = "## Where something new goes"
EVERY = pytest.mark.parametrize("addition", ADDITIONS, ids=lambda each: each.row)


def page() -> dict[str, tuple[str, str]]:
    """Number of files and their names, by what is new."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition(SECTION)[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (\d*) ?\| (.+) \|$", section, re.MULTILINE)
    return {new: (number, which) for new, number, which in rows}


@EVERY
def test_the_edits_of_an_addition_can_be_made(addition: Addition) -> None:
    assert addition.faults() == []


@EVERY
def test_the_page_says_which_files_an_addition_touches(addition: Addition) -> None:
    number, which = page()[addition.row]
    assert number == str(len(addition.files))
    for name in addition.files:
        path = Path(name)
        known = (name, name.removeprefix("symderiv/"), path.name, f"{path.parent}/")
        assert any(f"`{each}`" in which for each in known), name


def test_every_number_of_the_page_is_that_of_an_addition() -> None:
    told = {new for new, (number, _) in page().items() if number}
    assert told == {addition.row for addition in ADDITIONS}
    assert len(page()) > len(told)


# each is tried in a copy of the tree, for which the engine compiles and derives anew
@pytest.mark.days(6)
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a repository")
@EVERY
def test_an_addition_works_with_its_files_and_not_without(
    addition: Addition, tmp_path: Path
) -> None:
    found = Copy(tmp_path).tried(addition)
    assert found.well, found.last


def test_edits_that_cannot_be_made_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 1\n")
    edits = Edit("a.py", " = 1", " = 2"), Edit("a.py", "z = 1\n", ""), Edit("a.py", "x = 1", "x")
    addition = Addition("one", "more", 1, edits, "", {"a.py": ""})
    told = ["a.py is there already", "a.py: '= 1' occurs 2 times", "a.py: 'z = 1' occurs 0 times"]
    assert addition.faults(tmp_path) == told
    with pytest.raises(ValueError, match="occurs 2 times"):
        addition.make(tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 1\n"


def test_files_are_counted_once_and_told_from_tests() -> None:
    edits = tuple(Edit(path, "a", "b") for path in ("tests/t.py", "symderiv/x.py", "tests/t.py"))
    addition = Addition("one", "more", 3, edits, "", {"codegen/y.py": ""})
    assert addition.files == ("codegen/y.py", "symderiv/x.py", "tests/t.py")
    assert row_of(addition).measured == "3, 2 of them code"


def test_lines_and_parameters_of_functions() -> None:
    text = '''
class A:
    @property
    def f(self, a, /, b, *c, d=1, **e):
        """Words."""

        def g():
            return [b]
class A: pass
async def h(x, self): ...
'''
    tree = ast.parse(text)
    assert sorted(functions(tree)) == [("f", 5, 5), ("g", 2, 0), ("h", 1, 2)]
    assert classes([tree, tree]) == {"A": 4}


@pytest.mark.turns(3)
def test_the_table_has_every_row(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--list"]) == 0
    text = capsys.readouterr().out
    for words in ("lines of symderiv/", "    gaussian", "lines of tests/", "60 lines", "circles"):
        assert words in text
    (up,) = re.findall(r"^imports upwards +(\d+)", text, re.MULTILINE)
    assert up == "0"
    for addition in ADDITIONS:
        assert re.search(rf"by a new {addition.row} +{len(addition.files)}, ", text)
    assert "symderiv/formula/named_losses.py" in text


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("part = a[k] / (p[k] - z); total += part", True),
        ("inverse = 1.0 / (p[k] - z)\n    total += a[k] * inverse", True),
        ("part = a[k] / (p[k] + z); total += part", False),
        ("part = a[k] / (p[k] - z)", False),
        ("part = a[k] * (p[k] - z); total += part", False),
    ],
)
def test_loops_over_poles_are_recognised(line: str, expected: bool) -> None:
    assert sums_over_poles(ast.parse(f"for k in range(n):\n    {line}")) == expected


EVALUATING = {
    "SymPy's printer": "f = sp.lambdify(x, e)",
    "a walk": "def value(e, domain):\n    f, parts = domain.meaning(e)\n    return f(*parts)",
    "heads of SymPy": (
        "import math\ndef value(e):\n    if e.is_Add:\n        return sum(map(value, e.args))\n"
        "    if e.is_Mul:\n        return math.prod(map(value, e.args))\n"
        "    return value(e.base) ** value(e.exp) if e.is_Pow else complex(e)"
    ),
    "operators of a syntax tree": (
        "import operator\nTABLE = {ast.Add: operator.add, ast.Mult: operator.mul}\n"
        "def value(e):\n    return isinstance(e.op, ast.Pow) or TABLE[type(e.op)]"
    ),
    "signs": "import math\nRULES = {'+': sum, '*': math.prod, '**': math.pow}",
}
NOT_EVALUATING = {
    "a domain": EVALUATING["heads of SymPy"].replace("value(e)", "meaning(e)"),
    "building": "import math\ne = sp.Add(sp.Mul(2, x), sp.Pow(x, 2), math.pi)",
    "rewriting": "def f(e):\n    return e.is_Add or e.is_Mul or e.is_Pow",
}


@pytest.mark.parametrize("text", EVALUATING.values(), ids=EVALUATING)
def test_what_gives_trees_values_is_counted(text: str) -> None:
    assert evaluates(ast.parse(text))


@pytest.mark.parametrize("text", NOT_EVALUATING.values(), ids=NOT_EVALUATING)
def test_what_builds_or_rewrites_trees_is_not(text: str) -> None:
    assert not evaluates(ast.parse(text))


def test_trees_are_evaluated_and_nodes_made_in_the_places_that_are_named() -> None:
    evaluators, makers = rows_of_mathematics()
    assert set(evaluators.names) == {
        "symderiv/formula/walker.py",
        "symderiv/formula/as_function.py",
        # statements bind names, and keep the form in which they were printed
        "ledger/symderiv_ledger/rules/arithmetic.py",
    }
    assert set(makers.names) == {
        "symderiv/numerics/nodes.py",
        # as balls, for rules that prove
        "symderiv/gaussian/legendre_balls.py",
    }


STEPPERS = """
@compiled(SIGNATURE)
def advance(rhs, y, end):
    while y[0] < end:
        rhs(y)

@part_of_compiled
def rate(rhs, y):
    for _ in range(3):
        rhs(y)

@njit
def fill(rhs, results):
    rhs(results)
    while results[0] < 1.0:
        results[0] += 1.0

def interpreted(rhs, y, end):
    while y[0] < end:
        rhs(y)
"""


def test_a_stepper_is_a_compiled_loop_over_a_right_hand_side_without_known_end() -> None:
    assert list(compiled_steppers(ast.parse(STEPPERS))) == ["advance"]


STEPS = """
def stated(P, loss, J, eta):
    P.descend(loss, {J: eta})

def on_arrays(J, B, eta, rng):
    for _ in range(9):
        xi = rng.normal(size=J.shape[1])
        J -= eta / len(xi) * np.outer((J - B) @ xi, xi)

def by_a_force(self, weights):
    for _ in range(9):
        x, y = self.drawn()
        force = self.learning_rate * (y - weights @ x)
        weights = weights + np.outer(force, x)

class Language:
    def ascend(self, gain, rates):
        self.descend(-gain, rates)

def drift(J, B, eta, rates):
    for mean in rates:
        J -= eta * (mean @ J - mean @ B)

def error(J, B, inputs):
    total = 0.0
    for xi in inputs:
        total += ((J - B) @ xi) ** 2
"""


def test_a_step_of_sgd_is_stated_or_moves_something_by_examples_times_a_rate() -> None:
    assert list(sgd_steps(ast.parse(STEPS))) == ["stated", "on_arrays", "by_a_force"]


TABLE_OF_KEYS = """
class Rates:
    momentum: float = 0.0
    batch: int = 1

def solve(momentum, *, batch, end): ...

LETTERS = {"training.momentum": "β", "batch": "b"}
PLAIN = {"loss": "squared", "end": 1}
"""


def test_a_table_of_keys_goes_through_a_third_of_them_in_whatever_form() -> None:
    keys = ("momentum", "batch", "loss", "keep", "target", "order")
    stated = list(key_tables(ast.parse(TABLE_OF_KEYS), keys))
    assert stated == ["Rates", "solve", "a dictionary in line 8"]


def test_names_that_say_nothing_are_counted_where_something_is_called_so() -> None:
    text = "found = 1\nfor kept in found: self.room = kept\ndef walk(behind): return found"
    assert silent_names(ast.parse(text)) == {"found": 1, "kept": 1, "room": 1, "walk": 1}
