"""Closed forms that are kept: read with SymPy and without it, they have the same values."""

import pickle
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp
from flint import arb

from symderiv.formula.kept_trees import KeptTrees, PlainNode, kept_property
from symderiv.gaussian import SignMean4
from symderiv.gaussian.forms.evaluate import number
from symderiv.gaussian.terms.roots import OpaqueRoot
from symderiv.precision.balls.expression_balls import ball_at
from symderiv.precision.balls.working import working_bits

x, y = sp.symbols("x y", positive=True)
BITS = 120


@dataclass(frozen=True)
class Kept(KeptTrees):
    """A result with a tree, a matrix, a word, and a property that is kept."""

    tree: sp.Expr
    matrix: sp.Matrix
    word: str

    @kept_property
    def square(self) -> sp.Expr:
        return self.tree**2


TREES = [
    x + 2 * y - sp.Rational(3, 7),
    sp.asin(x / (1 + y)) + sp.sqrt(x + y) / sp.pi,
    sp.exp(-x) * sp.erf(y) + sp.log(1 + x),
    x ** sp.Rational(1, 3) + y ** sp.Rational(-2, 3) + x**y,
    OpaqueRoot(sp.Integer(10**30 + 57)) * x + sp.E**2 + sp.E,
    sp.Abs(x - 2) + sp.acos(x / 9) + sp.tanh(y),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_tree_without_sympy_has_the_value_that_it_has_in_sympy(tree: sp.Expr) -> None:
    read = pickle.loads(pickle.dumps(Kept(tree, sp.Matrix([[tree, 1]]), "word")))
    at = {"x": Fraction(3, 4), "y": Fraction(7, 5)}
    exact = {x: sp.Rational(3, 4), y: sp.Rational(7, 5)}
    wanted = sp.N(tree.subs(exact).replace(OpaqueRoot, sp.sqrt), 50)
    with working_bits(BITS):
        balls = {name: arb(value.numerator) / value.denominator for name, value in at.items()}
    for plain in (read.plain.tree, read.plain.matrix[0][0]):
        assert isinstance(plain, PlainNode)
        assert abs(sp.Float(str(number(plain, 45, values=at)), 45) - wanted) < 1e-40 * abs(wanted)
        found = ball_at(plain, balls, BITS)
        assert found.rel_accuracy_bits() > BITS - 20
        assert abs(sp.Float(found.str(33, radius=False), 45) - wanted) < 1e-30 * abs(wanted)
    assert read.plain.matrix[0][1] == 1
    assert read.tree == tree
    assert read.matrix == sp.Matrix([[tree, 1]])


def test_what_is_kept_is_told_with_its_properties_and_texts() -> None:
    made = Kept(x + 1, sp.eye(2), "other")
    kept = pickle.dumps(made)
    read = pickle.loads(kept)
    assert pickle.dumps(read) == kept
    assert (read.plain.word, read.word) == ("other", "other")
    assert "_is_read" in vars(read)
    assert "square" in vars(read)
    assert read.square == (x + 1) ** 2
    assert read == made
    with pytest.raises(AttributeError, match="'Kept' object has no attribute 'cube'"):
        _ = read.cube


@dataclass(frozen=True)
class Defaulted(KeptTrees):
    """A result whose default would be taken for what was kept."""

    word: str = "default"


def test_a_result_with_defaults_is_not_kept() -> None:
    with pytest.raises(TypeError, match="word has a default"):
        pickle.dumps(Defaulted("other"))


def test_equal_parts_of_plain_trees_are_one_and_are_computed_once() -> None:
    part = sp.asin(x / 2)
    plain = Kept(sp.Mul(part + y, part - y, evaluate=False), sp.Matrix([[part]]), "word").plain
    asins = {id(node) for node in _nodes(plain.tree) if type(node).__name__ == "asin"}
    assert asins == {id(plain.matrix[0][0])}


def _nodes(node: object) -> list[object]:
    return [node, *(each for part in getattr(node, "args", ()) for each in _nodes(part))]


def test_functions_that_only_sympy_evaluates_stay_its_own() -> None:
    tree = SignMean4(*(x / 10 for _ in range(6)))
    read = pickle.loads(pickle.dumps(Kept(tree + x, sp.Matrix([[tree]]), "word")))
    assert isinstance(read.plain.tree, sp.Expr)
    assert read.plain.matrix == [[tree]]
    at = sp.Rational(1, 2)
    found = ball_at(read.plain.tree, {"x": arb(1) / 2}, BITS)
    assert abs(float(found.mid()) - float(sp.N((tree + x).subs(x, at), 30))) < 1e-14


CALLS = """
import sys
from symderiv.cli import main
for call in sys.argv[1:]:
    sys.argv = ["symderiv", *call.split(), "--json"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, call
    assert not {"sympy", "scipy"} & set(sys.modules), call
"""

#: Commands on what is kept, one after the other in one process.
KEPT = (
    "plateau --units 3 --distinct-eigenvalues 5 --exponent 0.7 --learning-rate 0.2",
    "plateau --full --units 3 --T1 6/5 --D1 0.3 --T2 6/5 --D2 0.3 --learning-rate 1/5",
    "asymptotics --units 3 --distinct-eigenvalues 8 --exponent 0.8 --learning-rate 0.2",
    "asymptotics --full --units 2 --distinct-eigenvalues 8 --exponent 1 --learning-rate 0.1",
    "linear --distinct-eigenvalues 8 --exponent 1 --learning-rate 0.5 --alpha 3",
)


def test_analyses_of_what_is_kept_import_neither_sympy_nor_scipy(tmp_path: Path) -> None:
    words = [sys.executable, "-c", CALLS, *KEPT]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(KEPT)
