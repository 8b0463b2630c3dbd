"""Learning rules from the update to the module: noises averaged exactly, modules, refusals."""

from itertools import product

import pytest
import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.checking import recipes
from symderiv.checking.checked_module import GeneratedError
from symderiv.checking.generated_check import check_generated
from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import example_noise
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations, derive_equations
from symderiv.learning.derivation.moment_hierarchy import spectral_moment
from symderiv.learning.narration import narrator
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.learning.rule.learning_rule import LearningRule

P = sp.Rational(2, 7)


def by_enumeration(units: tuple[int, ...]) -> sp.Rational:
    """The mean of the product of the masks of some units, over all of two units' masks."""
    total = sp.Integer(0)
    for kept in product((0, 1), repeat=3):
        chance = sp.Mul(*(P if each else 1 - P for each in kept))
        total += chance * sp.Mul(*(kept[unit] for unit in units))
    return total


def at_units(expression: sp.Expr, units: dict[sp.Idx, int]) -> sp.Expr:
    """Kronecker deltas, masks' moments and p as numbers."""
    pair, given = example_noise.kept_definitions()
    i, j, p = s.i, s.j, s.p

    def mean(element: sp.Indexed) -> sp.Expr:
        names = (i, j, p)[: len(element.indices)]
        value = (pair if element.base == s.kept_pair else given)[1]
        return value.xreplace(dict(zip(names, element.indices, strict=True)))

    masks = s.kept_pair, s.third_kept
    known = {e: mean(e) for e in expression.atoms(sp.Indexed) if e.base in masks}
    expression = expression.xreplace(known)
    deltas = {
        delta: sp.Integer(units[delta.args[0]] == units[delta.args[1]])
        for delta in expression.atoms(KroneckerDelta)
    }
    return sp.expand(
        expression.xreplace(deltas).xreplace(dict(example_noise.MOMENTS)).subs(s.keep, P)
    )


@pytest.mark.parametrize("units", [(0, 0, 0, 0), (0, 1, 1, 0), (0, 1, 2, 2), (0, 1, 2, 0)])
def test_means_given_that_two_units_are_kept(units: tuple[int, ...]) -> None:
    """As in Γ: i and j are free, p and q are summed over."""
    letters = (s.i, s.j, s.p, s.q)
    limits = ((s.p, 0, s.K - 1), (s.q, 0, s.K - 1))
    term = example_noise.Term(sp.Mul(*(s.mask[letter] for letter in letters)), limits)
    found = sp.Add(*(part.factor for part in example_noise.kept_units(term)))
    at = dict(zip(letters, units, strict=True))
    assert at_units(found, at) == by_enumeration(units)


def test_a_wrong_cumulant_is_noticed(monkeypatch) -> None:
    right = example_noise._joint
    monkeypatch.setattr(example_noise, "_joint", lambda group, given=(): 2 * right(group, given))
    with pytest.raises(SymderivError, match="masks"):
        example_noise.kept_definitions()


def test_even_powers_of_a_sign_are_one() -> None:
    flip, zeta = s.flip, s.zeta
    mean = example_noise.mean_over_example(sp.expand((flip * s.y[s.n] + s.sigma * zeta) ** 3))
    third, first = s.Average(s.y[s.n] ** 3), s.Average(s.y[s.n])
    assert sp.expand(mean - s.mean_flip * (third + 3 * s.sigma**2 * first)) == 0
    assert example_noise.MOMENTS[s.mean_flip] == 1 - 2 * s.label_flip


ALL = LearningRule(
    flips=True,
    dropout=True,
    biases=True,
    trained_biases=True,
    input_noise=True,
    update_noise=True,
)


@pytest.fixture(scope="module")
def everything() -> LearningEquations:
    return derive_equations(learning_problem("linear", rule=ALL))


@pytest.mark.turns(6)
def test_every_feature_is_in_the_equations_and_is_told(everything: LearningEquations) -> None:
    force = everything.mean_force
    for symbol in (s.keep, s.mean_flip):
        assert force.has(symbol)
        assert everything.noise.has(symbol) or symbol == s.keep
    assert everything.noise.has(s.kept_pair, s.third_kept)
    assert not everything.student_gradient.has(s.kept_pair)
    assert everything.seen_covariance.has(s.input_noise)
    assert not everything.student_covariance.has(s.input_noise)
    told = {section.key: section for section in narrator.sections(everything)}
    words = " ".join(step.statement for section in told.values() for step in section.steps)
    moment = everything.moments.student_moment.coeff(s.update_noise, 2)
    assert moment == KroneckerDelta(s.i, s.j) * spectral_moment[s.l]
    for each in (
        *("noise of the update", "sees inputs with independent", "sign changed"),
        *("kept in an example", "on a bias"),
    ):
        assert each in words


OTHERS = [{"batches": True}, {"momentum": True}, {"normalise": "sphere"}, {"normalise": "gradient"}]


@pytest.mark.days(2)
@pytest.mark.parametrize("features", OTHERS, ids=str)
def test_a_small_module_of_every_other_feature_has_the_rates_of_its_statement(features) -> None:
    problem = learning_problem("linear", rule=LearningRule(**features))
    check_generated(*recipes.unchecked("small", problem)[:1], problem)


@pytest.mark.turns(6)
def test_a_small_module_of_every_noise_is_checked() -> None:
    problem = learning_problem("linear", rule=ALL)
    text, compiled = recipes.unchecked("small", problem)
    check_generated(text, problem, compiled)
    for right, wrong in (
        ("2.0 * label_flip", "label_flip"),
        ("input_noise * input_noise", "0.3"),
        ("update_noise * update_noise", "update_noise"),
    ):
        assert right in text.fast
        changed = type(text)(text.readable, text.fast.replace(right, wrong))
        with pytest.raises(GeneratedError, match="right_hand_side"):
            check_generated(changed, problem, compiled)


@pytest.mark.days(2)
@pytest.mark.parametrize("noise", ["dropout", "flips", "input_noise", "biases", "update_noise"])
def test_divided_steps_go_with_every_noise_of_an_example(noise: str) -> None:
    """The mean square of a step is proved to be the trace of its noise for each of them."""
    rule = LearningRule(normalise="gradient", **{noise: True})
    (size,) = (
        value for _, value in derive_equations(learning_problem("erf", None, rule)).motion.before
    )
    assert size.has(s.Gamma)
