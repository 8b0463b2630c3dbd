"""What rules of quadrature are chosen from, where they are tried, and which one is taken."""

import inspect
import math
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.special import erfc
from symderiv_codegen import Program, ProgramError, TemplateFunction, print_numba

from symderiv.foundation.errors import DivergentError, NotYetError, ToleranceError
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import approximation, quadrature_error, quadrature_means
from symderiv.lowering.means.approximation import mixtures
from symderiv.lowering.means.compiled_means import CompiledMeans
from symderiv.lowering.means.field_covariances import Matrix, structured
from symderiv.lowering.means.quadrature_error import (
    SAFETY,
    Kinds,
    MeansAsked,
    Search,
    chosen_rule,
)
from symderiv.lowering.means.quadrature_means import (
    DifferentiableQuadrature,
    FactorMeans,
    Quadrature,
    _numbers,
)
from symderiv.lowering.means.quadrature_rules import (
    KINKED_PANELS,
    NEARLY,
    SMOOTH_STEPS,
    MeanRule,
    coarsest,
    finer,
    kinked_rule,
    smooth_rule,
)
from symderiv.numerics import GAUSSIAN
from symderiv.numerics.quadratures import smooth_mean


def finer_steps(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return a[0] < b[0] and a[1] < b[1] and a[2] > b[2] and a[3] < b[3] and a[4] < b[4]


def finer_panels(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    shorter = all(a[n] < b[n] for n in (0, 1, 3, 4, 5, 6))
    return shorter and a[2] > b[2]


@pytest.mark.parametrize("tolerance", [1e-3, 1e-8])
def test_what_rules_leave_of_the_weight_is_below_the_tolerance(tolerance: float) -> None:
    """Beyond the reach, and by the sum instead of the integral: exp(-2 π²/step²)."""
    for rule in (smooth_rule(0.7, tolerance, 0.0), kinked_rule(2.0, tolerance, 0.0, False)):
        for numbers in (rule.four, rule.two):
            assert erfc(numbers[2] / math.sqrt(2)) < tolerance / 50
    rule = smooth_rule(0.7, tolerance, 0.0)
    for numbers in (rule.four, rule.two):
        assert math.exp(-2 * math.pi**2 / numbers[1] ** 2) < tolerance / 50
        assert numbers[0] <= 0.7
    # and not far below
    left = math.exp(-2 * math.pi**2 / rule.four[1] ** 2)
    assert left == pytest.approx(tolerance / 100, rel=0.1)
    assert smooth_rule(0.7, tolerance, 30.0).four[2] >= 30
    assert kinked_rule(2.0, tolerance, 30.0, True).four[2] >= 30
    assert kinked_rule(2.0, tolerance, 30.0, True).two[2] >= 30


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-12])
def test_means_of_two_factors_take_finer_rules(tolerance: float) -> None:
    for step in SMOOTH_STEPS:
        rule = smooth_rule(step, tolerance, 3.0)
        assert finer_steps(rule.two, rule.four)
    for panel in KINKED_PANELS:
        for slope_jumps in (False, True):
            # kinks leave no more than about 1e-6
            rule = kinked_rule(panel, max(tolerance, 1e-6), 3.0, slope_jumps)
            assert finer_panels(rule.two, rule.four)


def test_rules_go_from_coarse_to_fine_in_small_steps() -> None:
    for ladder in (SMOOTH_STEPS, KINKED_PANELS):
        assert all(1.05 < a / b < 1.5 for a, b in pairwise(ladder))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little is tried."""
    monkeypatch.setattr(quadrature_error, "_SAMPLES", {2: 6, 4: 1})
    monkeypatch.setattr(quadrature_error, "_AROUND", {2: 9, 4: 3})


def waves(kind: int, x: float) -> float:
    return math.cos((kind + 1) * x)


def search_of(
    monkeypatch: pytest.MonkeyPatch, factor: Callable[[int, float], float], kinds: list[Kinds]
) -> Search:
    """Nothing is compiled."""

    def factors(kind: int, x: np.ndarray, values: np.ndarray) -> None:
        values[:] = [factor(kind, each) for each in x]

    monkeypatch.setattr(smooth_mean, "quadrature_factors", factors, raising=False)

    def many(
        rule: np.ndarray, kinds: Kinds, moments: np.ndarray, biases: np.ndarray, means: np.ndarray
    ) -> None:
        for n, (c, b) in enumerate(zip(moments, biases, strict=True)):
            means[n] = smooth_mean._mean_of_2(rule, kinds, tuple(c), tuple(b))

    functions = {"_many_mean_of_2": many}
    return Search(CompiledMeans(functions, factor, None, {}), MeansAsked(tuple(kinds)))


@pytest.mark.usefixtures("plain")
def test_means_of_waves_are_gaussian_and_their_error_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = search_of(monkeypatch, waves, [(0, 1)])
    c = np.array([[1.0, 0.4], [0.4, 0.6]])
    k = np.array([1.0, 2.0])
    plus, minus = k @ c @ k, k @ (c * [[1, -1], [-1, 1]]) @ k
    expected = (math.exp(-plus / 2) + math.exp(-minus / 2)) / 2
    rule = smooth_rule(0.4, 1e-10, 6.0)
    assert search.mean(rule, (0, 1), c) == pytest.approx(expected, abs=1e-10)
    assert search.mean(MeanRule(0.4, (), rule.two), (0, 1), c) == search.mean(rule, (0, 1), c)
    numbers = 2.0, 1.5, 4.0, 3.0, 1e-3
    coarse = MeanRule(2.0, numbers, numbers)
    errors = [
        abs(search.mean(coarse, (0, 1), c) - search.mean(finer(coarse), (1, 0), c[::-1, ::-1]))
        for c in structured(2, 2.0)
    ]
    found = search.error(coarse, math.inf)
    assert found >= SAFETY * max(errors) > 1e-3
    assert search.error(coarse, math.inf, sizes=(4,)) == 0.0
    # the search may stop as soon as the error is too large
    assert 0 < search.error(coarse, 1e-9) <= found
    assert search.error(rule, math.inf) < 1e-8


@pytest.mark.usefixtures("plain")
def test_the_search_goes_on_around_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    search = search_of(monkeypatch, waves, [(0, 0)])
    coarse = MeanRule(2.0, (), (2.0, 1.5, 4.0, 3.0, 1e-3))
    monkeypatch.setattr(
        Search, "means", lambda self, rule, kinds, c, b: rule.step * c[:, 0, 0] ** 3
    )
    monkeypatch.setattr(quadrature_error, "finer", lambda rule: MeanRule(0.0, (), ()))
    chunks = math.ceil((len(list(structured(2, 2.0))) + 4 * 600) / 50)
    errors = [error for error, *_ in search._errors(coarse, 2)]
    assert max(errors) == pytest.approx(16.0)
    assert all(error > 0 for error in errors[chunks:])
    monkeypatch.setattr(
        Search, "means", lambda self, rule, kinds, c, b: rule.step * (c[:, 0, 1] + 0.1)
    )
    errors = [error for error, *_ in search._errors(coarse, 2)]
    assert len(errors) > chunks or max(errors[:chunks]) == max(errors)
    monkeypatch.setattr(Search, "means", lambda self, *_: np.full(len(_[2]), math.nan))
    assert search.error(coarse, 1.0) == math.inf


@pytest.mark.usefixtures("plain")
def test_the_tail_of_the_integrand(monkeypatch: pytest.MonkeyPatch) -> None:
    """∫ e^{-t²/2} beyond t on both sides is sqrt(2π) erfc(t/√2)."""
    one = search_of(monkeypatch, lambda kind, x: 1.0, [(0, 0)])
    for negligible in (1e-3, 1e-8):
        tail = one.tail(negligible)
        beyond = [math.sqrt(2 * math.pi) * erfc(t / math.sqrt(2)) for t in (tail - 0.1, tail + 0.1)]
        assert beyond[0] > negligible > beyond[1]
    # of several means the longest tail: e^{√2 t} moves it by √2
    kinds = [(0, 0), (0, 1), (0, 0)]
    both = search_of(monkeypatch, lambda kind, x: math.exp(x) if kind else 1.0, kinds)
    assert both.tail(1e-8) == pytest.approx(one.tail(1e-8) + math.sqrt(2), abs=0.3)
    # E[exp(√2 |t|)]
    assert one.largest == pytest.approx(1.0, rel=1e-3)
    assert both.largest == pytest.approx(math.e, rel=1e-3)


class Known:
    """A search whose result is known."""

    def __init__(self, error: float) -> None:
        self.error_of_one, self.asked = error, []
        self.largest = math.inf

    def tail(self, negligible: float) -> float:
        return 1.0

    def scale(self, most: float) -> float:
        return 1.0

    def error(self, rule: MeanRule, enough: float, sizes: tuple[int, ...] = (2, 4)) -> float:
        self.asked.append((rule.step, sizes))
        return self.error_of_one * rule.step**8 * (1e-3 if sizes == (2,) else 1)

    def error_where_hard(self, rule: MeanRule) -> float:
        return self.error_of_one * rule.step**8

    def as_near(self, rule: MeanRule, size: int, most: float) -> Callable[[MeanRule], bool]:
        assert size == 2
        return lambda other: True


def chosen(
    monkeypatch: pytest.MonkeyPatch, student: str, teacher: str | None, error: float, **more: object
) -> Quadrature:
    known = Known(error)
    known.largest = more.pop("largest", math.inf)
    monkeypatch.setattr(FactorMeans, "search", known)
    # the rule of another search may be kept
    monkeypatch.setattr(quadrature_means, "chosen_rule", inspect.unwrap(chosen_rule))
    return Quadrature(learning_problem(student, teacher), **{"tolerance": 1e-4, **more})


def test_the_coarsest_rule_that_does_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = chosen(monkeypatch, "log(1+exp(x))", None, 1e-2)
    asked = [step for step, sizes in rules.search.asked if sizes == (2, 4)]
    assert all(a > b for a, b in pairwise(asked))
    assert rules.rule.step == asked[-1]
    errors = [1e-2 * step**8 for step in asked]
    assert errors[-1] <= 1e-4 < errors[-2]
    assert errors[-1] < rules.error <= 1.2 * errors[-1]
    assert rules.pair_error == pytest.approx(rules.error / 1000, rel=0.1)
    constants = rules.constants
    assert constants["ACTIVATION_ERROR"] == rules.error
    assert constants["ACTIVATION_PAIR_ERROR"] == rules.pair_error
    assert constants["ACTIVATION_METHOD"] == "quadrature"
    assert constants["QUADRATURE_RULE"] == rules.rule.four
    assert constants["QUADRATURE_PAIR_RULE"] == rules.rule.two
    assert "STUDENT_KINKS" not in constants
    assert rules.recipe["tolerance"] == "0.0001"


def test_what_no_rule_reaches_is_refused_or_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToleranceError, match="the best affordable quadrature"):
        chosen(monkeypatch, "log(1+exp(x))", None, 1e6)
    rules = chosen(monkeypatch, "log(1+exp(x))", None, 1e6, limited=True)
    assert rules.error > 1e-4
    with pytest.raises(NotYetError, match="not finite"):
        chosen(monkeypatch, "log(1+exp(x))", None, math.inf, limited=True)
    # an error of more than a share of the largest mean is no result, whatever was asked for
    for limited in (True, False):
        with pytest.raises(NotYetError, match=r"the largest mean is 5\.0e"):
            chosen(monkeypatch, "log(1+exp(x))", None, 1e6, limited=limited, largest=5.0)


def test_unknown_derivatives_are_refused_before_a_rule_is_searched_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(FactorMeans, "choice", None)
    with pytest.raises(NotYetError, match="derivative of a mean that is not known"):
        DifferentiableQuadrature(learning_problem("selu", "selu"), 1e-9, limited=True)


def test_means_and_constants_of_kinked_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = chosen(monkeypatch, "Max(x, x/10)", "x/(1+Abs(x-1))", 1e-7)
    assert rules.kinked
    assert rules.constants["STUDENT_KINKS"] == (0.0,)
    assert rules.constants["TEACHER_KINKS"] == (1.0,)
    assert rules.constants["STUDENT_SLOPE_JUMPS"] == (0.9,)
    means = rules.means
    assert {len(kinds) for kinds in means} == {2, 4}
    # ε and both gradients, of the student and the teacher; Γ with 0, 1 and 2 teachers
    assert {(0, 0), (1, 1), (2, 0), (0, 3), (3, 3), (1, 4), (2, 3)} == {
        kinds for kinds in means if len(kinds) == 2
    }
    assert {(1, 1, 0, 0), (1, 1, 0, 3), (1, 1, 3, 3)} == {k for k in means if len(k) == 4}
    for student, teacher in (("x", "x/(1+Abs(x-1))"), ("Max(x, x/10)", "x")):
        assert chosen(monkeypatch, student, teacher, 1e-7).kinked
    same = chosen(monkeypatch, "x/(1+Abs(x))", None, 1e-7)
    assert set(same.means) == {(0, 0), (1, 1), (2, 0), (1, 1, 0, 0)}
    names = [function.name for function in same.activation_functions()]
    assert names[:5] == [
        *("student_activation", "student_activation_derivative", "student_activation_curvature"),
        *("teacher_activation", "quadrature_values_and_slopes"),
    ]
    assert {"quadrature_factor", "quadrature_factors", "quadrature_kinks"} < {*names}
    assert "teacher_activation_derivative" in [f.name for f in rules.activation_functions()]


def test_factors_have_the_numbers_that_templates_know() -> None:
    assert _numbers(((False, 0), (False, 1), (True, 0), (True, 1))) == (0, 1, 3, 4)
    # half a second derivative of Price's rule, else the derivative itself
    assert _numbers(((False, 2), (True, 0))) == (2, 3)
    assert _numbers(((False, 2), (True, 2), (False, 1))) == (7, 6, 1)
    assert _numbers(((False, 3), (False, 1))) == (5, 1)


UNBOUNDED = r"the second derivative of .* is not bounded near x = 0"


@pytest.mark.parametrize(
    ("student", "teacher", "error", "said"),
    [
        ("sign(x)", "x/(1+Abs(x))", DivergentError, "."),
        ("exp(x**2/9)/(1+Abs(x))", None, DivergentError, "."),
        ("Abs(sin(x))", None, NotYetError, "."),
        ("x*sin(1/x)", None, DivergentError, "."),
        ("x/(1+Abs(x))", "Abs(x-1)**1.25", NotYetError, "."),
        ("x*log(Abs(x))", "x", NotYetError, UNBOUNDED),
        ("Abs(x)*log(Abs(x))", None, NotYetError, UNBOUNDED),
        ("x**2*log(Abs(x))", None, NotYetError, UNBOUNDED),
        ("Abs(x)**1.5", None, NotYetError, UNBOUNDED),
    ],
)
def test_means_that_do_not_exist_or_cannot_be_had(
    monkeypatch: pytest.MonkeyPatch, student: str, teacher: str | None, error: Any, said: str
) -> None:
    with pytest.raises(error, match=said):
        chosen(monkeypatch, student, teacher, 1e-9)


def test_a_module_without_the_functions_of_its_rules_is_not_printed() -> None:
    known = {"kind_1": "0", "kind_2": "1"}
    mean = TemplateFunction("i2", (), "mean_of_2", tuple(known.items()), "A mean.")
    rule = {"QUADRATURE_PAIR_RULE": (1.0,)}
    with pytest.raises(ProgramError, match="'quadrature_factors' is used in '_series'"):
        print_numba(Program("p", "", {}, (), (), (mean,), (), constants=rule, extension=GAUSSIAN))


def test_tolerances_of_quadrature_by_default_and_limited() -> None:
    asked = []
    made: Any = SimpleNamespace()

    def noted(problem: object, tolerance: float, limited: bool = False) -> Any:
        asked.append((tolerance, limited))
        return made

    smooth, kinked = learning_problem("log(1+exp(x))"), learning_problem("x", "x/(1+Abs(x))")
    panels = learning_problem("x", "+".join(f"Abs(x-{n})" for n in range(5)))
    for problem in (smooth, kinked, panels):
        for tolerance, limited in ((None, False), (1e-12, True), (1e-3, True), (1e-12, False)):
            approximation.quadrature(problem, tolerance, limited, noted)  # type: ignore[arg-type]
    assert asked == [
        *((1e-6, False), (1e-10, True), (1e-3, True), (1e-12, False), (1e-4, False), (1e-9, True)),
        *((1e-3, True), (1e-12, False), (1e-4, False), (1e-6, True), (1e-3, True), (1e-12, False)),
    ]
    assert approximation.has_holes(learning_problem("x", "sin(x)/x"))
    assert not approximation.has_holes(smooth)


def test_mixtures_of_two_activations_state_the_larger_error() -> None:
    assert mixtures(learning_problem("erf"), 1e-2) is None
    found = mixtures(learning_problem("tanh", "3*tanh(x)+x"), 1e-1)
    student, teacher = (found.tables[key].mixture for key in (False, True))
    assert found.error == max(student.error, teacher.error)
    assert found.derivative_error == max(student.derivative_error, teacher.derivative_error)
    assert found.constants["STUDENT_MIXTURE_TERMS"] == student.terms
    assert found.constants["TEACHER_MIXTURE_SCALE"] == teacher.scales
    assert found.constants["ACTIVATION_METHOD"] == "mixture"
    assert found.recipe["error functions"] == f"{student.terms}, {teacher.terms}"
    alone = mixtures(learning_problem("erf", "tanh"), 1e-1)
    assert list(alone.tables) == [True]
    assert alone.constants["MIXTURE_WEIGHT"] == alone.tables[True].mixture.weights
    said = "\n".join(found.statement)
    assert "g_n(x) = sum_k(STUDENT_MIXTURE_WEIGHT[k]*erf(STUDENT_MIXTURE_SCALE[k]*x))" in said
    assert "h_n(x) = x + sum_k(TEACHER_MIXTURE_WEIGHT[k]*erf(TEACHER_MIXTURE_SCALE[k]*x))" in said
    assert f"|g - g_n| <= {student.error:.1e}" in said
    assert f"|h - h_n| <= {teacher.error:.1e}" in said
    shared = mixtures(learning_problem("tanh"), 1e-1)
    assert list(shared.tables) == [False]


def test_a_rule_as_good_as_the_finest_is_taken_where_none_keeps_the_tolerance() -> None:
    """What is known of hard places grows with each search, which ends where a rule is worse."""
    errors = {"rough": {"a": 0.2, "b": 9.0}, "coarse": {"a": 0.2, "b": 0.4}}
    errors["fine"] = {"a": 0.2, "b": 0.3}
    hard = {"a"}

    def error_of(rule: str, enough: float) -> float:
        assert enough in (1e-3, math.inf) or enough == NEARLY * where_hard("fine")
        if enough > 1e-3:
            hard.add("b")
        return max(value for place, value in errors[rule].items() if place in hard)

    def where_hard(rule: str) -> float:
        return max(errors[rule][place] for place in hard)

    rules = ["rough", "coarse", "fine"]
    found = coarsest(rules, error_of, 1e-3, "this", math.inf, 1.0, where_hard=where_hard)
    assert found == ("coarse", 0.4)
    hard -= {"b"}
    errors["coarse"]["b"] = 0.5
    found = coarsest(rules, error_of, 1e-3, "this", math.inf, 1.0, where_hard=where_hard)
    assert found == ("fine", 0.3)


def test_rules_with_more_points_than_fit_are_left_out() -> None:
    """Their means are not finite: a coarser rule is taken, even if that shows only later."""
    later: set[str] = set()

    def error_of(rule: str, enough: float) -> float:
        if enough > 1e-3:
            later.add("fine")
        errors = {"coarse": 0.2, "fine": math.inf if "fine" in later else 0.1, "finest": math.inf}
        return errors[rule]

    found = coarsest(["coarse", "fine", "finest"], error_of, 1e-3, "this", 10.0, 0.1)
    assert found == ("coarse", 0.2)
    with pytest.raises(NotYetError, match="not finite in double precision"):
        coarsest(["finest"], error_of, 1e-3, "this", 10.0, 0.1)


@pytest.mark.usefixtures("plain")
def test_a_search_begins_where_other_rules_were_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that an earlier covariance refuses is refused by one mean, and the same search that
    goes on finds what a whole one finds.
    """
    asked = []

    def means(self: Search, rule: MeanRule, kinds: Kinds, c: Matrix, b: Matrix) -> Matrix:
        asked.append(len(c))
        return rule.step * c[:, 0, 0] ** 3

    monkeypatch.setattr(Search, "means", means)
    monkeypatch.setattr(quadrature_error, "finer", lambda rule: MeanRule(0.0, (), ()))
    rules = [MeanRule(step, (), ()) for step in (2.0, 1.0)]
    search = search_of(monkeypatch, waves, [(0, 0)])
    assert search.error_where_hard(rules[0]) == 0.0
    first = search.error(rules[0], 1e-9)
    asked.clear()
    assert search.error(rules[1], 1e-9) == first / 2
    assert asked == [1, 1]
    whole = search_of(monkeypatch, waves, [(0, 0)]).error(rules[0], math.inf)
    assert search.error(rules[0], math.inf) == whole == pytest.approx(SAFETY * 2.0 * 2.0**3)


def test_what_the_finest_rule_is_stated_to_do_is_the_largest_error_of_a_whole_search() -> None:
    """A search that may end early finds less than a whole one."""
    found = {"coarse": (0.3, 0.5), "fine": (0.02, 0.05)}

    def error_of(rule: str, enough: float) -> float:
        early, whole = found[rule]
        return early if early > enough else whole

    rules = ["coarse", "fine"]
    assert coarsest(rules, error_of, 1e-3, "this", math.inf, 1.0) == ("fine", 0.05)
    assert coarsest(rules, error_of, 0.1, "this", math.inf, None) == ("fine", 0.05)
    with pytest.raises(ToleranceError, match=r"for this reaches 5\.0e-02"):
        coarsest(rules, error_of, 1e-3, "this", math.inf, None)
