"""Means by quadrature in generated modules against closed forms and independent integrals."""

import functools
import inspect
from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from support.plain_module import plain_module

import symderiv as sd
from symderiv.checking.generated_check import GeneratedError, check_generated
from symderiv.checking.recipes import generate
from symderiv.foundation.errors import DivergentError, ToleranceError
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import quadrature_error
from symderiv.lowering.means.approximation import mixtures
from symderiv.lowering.means.compiled_means import module_of_means
from symderiv.lowering.means.quadrature_means import Quadrature
from symderiv.lowering.programs.program import solver_program
from symderiv.lowering.solver_files import solver_of

pytestmark = pytest.mark.turns(18)


@functools.cache
def derived(student: str, teacher: str | None, tolerance: float):
    """Text by quadrature, also where the means have closed forms, what for, and its rules."""
    problem = learning_problem(student, teacher)
    rules = Quadrature(problem, tolerance)
    program = solver_program(derive_equations(problem), "tested", rules)
    return solver_of(program), problem, rules


def mean_of_four(covariance, kinds, *of_what):
    """A mean of four factors as the module computes it, together with others."""
    rules = derived(*of_what)[2]
    return rules.search.mean(rules.rule, kinds, covariance)


@functools.cache
def by_quadrature(student: str, teacher: str | None = None, tolerance: float = 1e-6):
    """The module of it."""
    return plain_module(derived(student, teacher, tolerance)[0].readable)


@functools.cache
def activation(student: str):
    """The activation and its derivatives alone."""
    rules = Quadrature(learning_problem(student), 1e-5)
    return plain_module(module_of_means(rules.activation_functions(), {}))


@functools.cache
def otherwise(student: str, teacher: str | None = None) -> SimpleNamespace:
    """The module of closed forms, or of sums of error functions in place of tanh."""
    problem = learning_problem(student, teacher)
    program = solver_program(derive_equations(problem), "tested", mixtures(problem, 1e-8))
    return plain_module(solver_of(program).readable)


def upper(covariance):
    return covariance[np.triu_indices(len(covariance))]


def covariances():
    """Generic, end of learning, coinciding fields, a field without variance."""
    rng = np.random.default_rng(4)
    factor = rng.normal(size=(4, 4)) * np.array([[1.0], [0.7], [1.2], [0.4]]) / 1.5
    generic = factor @ factor.T
    almost = generic[np.ix_([0, 1, 0, 1], [0, 1, 0, 1])].copy()
    almost[2, 2] += 1e-9
    almost[3, 3] += 1e-5
    coinciding = generic[np.ix_([0, 0, 0, 2], [0, 0, 0, 2])]
    still = generic.copy()
    still[1] = still[:, 1] = 0.0
    return {"generic": generic, "almost": almost, "coinciding": coinciding, "still": still}


@pytest.mark.parametrize("name", covariances())
@pytest.mark.parametrize(("student", "teacher"), [("erf", None), ("tanh", None), ("erf", "relu")])
def test_quadrature_gives_what_closed_forms_and_mixtures_give(student, teacher, name):
    tolerance = 1e-4 if teacher else 1e-6
    m, reference = by_quadrature(student, teacher, tolerance), otherwise(student, teacher)
    c = covariances()[name]
    assert tolerance >= m.ACTIVATION_ERROR
    for end in ["_ss", "_st"] if teacher else [""]:
        for pair in ([0, 1], [1, 2], [0, 3]):
            part = c[np.ix_(pair, pair)]
            for name_of_mean, found in of_two(m, part, end).items():
                expected = getattr(reference, name_of_mean + end)(*upper(part))
                assert found == pytest.approx(expected, abs=tolerance), (name_of_mean, end, pair)
        expected = of_four(reference, c, end)
        kinds = (1, 1, 0, 3 if end == "_st" else 0)
        found = mean_of_four(c, kinds, student, teacher, tolerance)
        assert found == pytest.approx(expected, abs=tolerance)


def of_two(m, c, end=""):
    """Means of two factors as the module computes them, together or one by one: of two students
    ("_ss"), or of a student and a teacher.
    """
    if not hasattr(m, "pair_means"):
        return {name: getattr(m, name + end)(*upper(c)) for name in ("i2", "i2_12", "i2_11")}
    K, whose = (2, "students") if end == "_ss" else (1, "both")
    outputs = [*inspect.signature(m.pair_means).parameters][5:]
    shapes = {"students": (K, K), "both": (K, 1), "teachers": (1, 1)}
    found = {name: np.full(shapes[name.rsplit("_", 1)[1]], np.nan) for name in outputs}
    m.pair_means(c[:K, :K], c[:K, 1:], c[1:, 1:], np.zeros(K), np.zeros(1), *found.values())
    names = {"i2": "values", "i2_12": "slopes", "i2_11": "curvatures"}
    return {own: found[f"{name}_of_{whose}"][0, K - 1] for own, name in names.items()}


@mpmath.workdps(40)
def test_pairs_with_kinks_at_zero_are_derivatives_of_certified_means():
    """dI2/dc12 = E[g'h'], dI2/dc11 = E[g''h]/2, and d E[g^2]/dc = E[g'^2] + E[g g''].

    Slopes of both activations jump, and the curvature has a delta function.
    """
    m = plain_module(generate("tested", "selu", "elu", tolerance=1e-4))
    rng, K, M = np.random.default_rng(5), 2, 3
    factor = rng.normal(size=(K + M, K + M)) / 3
    c = np.round(factor @ factor.T, 6)
    fields = c[:K, :K], c[:K, K:], c[K:, K:], np.zeros(K), np.zeros(M)
    students = [np.full((K, K), np.nan) for _ in range(3)]
    both = [np.full((K, M), np.nan) for _ in range(3)]
    arrays = (array for pair in zip(students, both, strict=True) for array in pair)
    m.pair_means(*fields, *arrays)
    of = ["selu"] * K + ["elu"] * M
    step = mpmath.mpf("1e-8")

    def mean(i, j, by11=0, by12=0):
        moments = [[mpmath.mpf(str(c[a, b])) for b in (i, j)] for a in (i, j)]
        moments[0][0] += by11 * step
        moments[0][1] = moments[1][0] = moments[0][1] + by12 * step
        texts = [[mpmath.nstr(value, 25) for value in row] for row in moments]
        found = sd.i2(of[i], of[j], covariance=texts, digits=30)
        return mpmath.mpf(str(found.value))

    for i, j in ((0, 1), (1, 0), (0, 2), (1, 3), (0, 4)):
        values, slopes, curvatures = both if j >= K else students
        at = (i, j - K) if j >= K else (i, j)
        assert values[at] == pytest.approx(float(mean(i, j)), abs=1e-12)
        by12 = (mean(i, j, by12=1) - mean(i, j, by12=-1)) / (2 * step)
        by11 = (mean(i, j, by11=1) - mean(i, j, by11=-1)) / (2 * step)
        assert slopes[at] == pytest.approx(float(by12), abs=1e-12)
        assert curvatures[at] == pytest.approx(float(by11), abs=1e-12)
    values, slopes, curvatures = students
    for i in range(K):
        square = (mpmath.mpf(str(c[i, i])) + step * side for side in (1, -1))
        above, below = (
            mpmath.mpf(str(sd.i2("selu", "selu", covariance=[[s, s], [s, s]], digits=30).value))
            for s in (mpmath.nstr(value, 25) for value in square)
        )
        assert values[i, i] == pytest.approx(float((above + below) / 2), abs=1e-12)
        by_variance = float((above - below) / (2 * step))
        assert slopes[i, i] + 2 * curvatures[i, i] == pytest.approx(by_variance, abs=1e-12)


def of_four(m, c, end):
    """A mean of four factors by closed forms, or by the series of tanh, which has all at once."""
    if not hasattr(m, "noise_means"):
        return getattr(m, f"i4{end}")(*upper(c))
    found = [np.full((2, 2, 2, 2), np.nan) for _ in range(3)]
    m.noise_means(c[:2, :2], c[:2, 2:], c[2:, 2:], *found)
    return found[2][0, 1, 0, 1]


def softplus(x):
    return mpmath.log1p(mpmath.exp(x))


ACTIVATIONS = {
    "softplus": softplus,
    "x/(1+Abs(x))": lambda x: x / (1 + abs(x)),
    "sin(x)/x": lambda x: mpmath.sinc(x),
    "x*tanh(log(1+exp(x)))": lambda x: x * mpmath.tanh(softplus(x)),
}


@pytest.mark.parametrize("text", sorted(ACTIVATIONS))
def test_means_of_independent_fields_are_products(text):
    # With independent fields every mean is a product of one-dimensional integrals.
    m, g = by_quadrature(text, None, 1e-5), ACTIVATIONS[text]

    def mean(function, variance):
        def weighted(t):
            return function(mpmath.sqrt(variance) * t) * mpmath.npdf(t)

        return mpmath.quad(weighted, [-9, -4, -1, 0, 1, 4, 9])

    def slope(x):
        # the factor that Stein's rule leaves, so that nothing is differentiated twice
        return g(x) * x

    variances = (0.6, 1.9, 1.3, 0.8)
    first = mean(slope, variances[0]) / variances[0]
    second = mean(slope, variances[1]) / variances[1]
    expected = first * second * mean(g, variances[2]) * mean(g, variances[3])
    found = mean_of_four(np.diag(variances), (1, 1, 0, 0), text, None, 1e-5)
    assert found == pytest.approx(float(expected), abs=1e-5)
    apart, equal = of_two(m, np.diag([0.6, 1.9]))["i2"], of_two(m, np.full((2, 2), 1.9))["i2"]
    assert apart == pytest.approx(float(mean(g, 0.6) * mean(g, 1.9)), abs=1e-5)
    assert equal == pytest.approx(float(mean(lambda x: g(x) ** 2, 1.9)), abs=1e-5)


@pytest.mark.parametrize(("text", "tolerance"), [("softplus", 1e-5), ("Max(-1,Min(1,x))", 1e-4)])
def test_price_derivatives_are_those_of_the_mean(text, tolerance):
    m = by_quadrature(text, None, tolerance)
    c11, c12, c22, h = 0.8, -0.5, 1.7, 0.02

    def mean(which, c11, c12):
        return of_two(m, np.array([[c11, c12], [c12, c22]]))[which]

    by_covariance = (mean("i2", c11, c12 + h) - mean("i2", c11, c12 - h)) / (2 * h)
    by_variance = (mean("i2", c11 + h, c12) - mean("i2", c11 - h, c12)) / (2 * h)
    assert mean("i2_12", c11, c12) == pytest.approx(by_covariance, abs=3e-4)
    assert mean("i2_11", c11, c12) == pytest.approx(by_variance, abs=3e-4)


def test_the_check_passes_a_module_by_quadrature():
    text, problem, rules = derived("erf", "relu", 1e-4)
    check_generated(text, problem, rules.search.compiled)  # raises where it finds an error


def replaced(name: str, body: str) -> str:
    """Another function in the place of one, which can call it as ``right``."""
    head = f"\nright = {name}\ndef wrong(*a):\n    {body}\n"
    return f"{head}wrong.__doc__ = right.__doc__\nwrong.__wrapped__ = right\n{name} = wrong\n"


KINKS = "TEACHER_KINKS = np.array([\n    0."
WRONG = {
    "a mean": (
        "",
        replaced("i2_tt", "return 1.2 * right(*a)"),
        r"i2_tt\(.*but its definition gives",
    ),
    "means of two": (
        "",
        replaced("pair_means", "right(*a); a[-1][:] *= 1.2"),
        "the statement gives",
    ),
    "means of four": (
        "",
        replaced("noise_means", "right(*a); a[-1][:] *= 1.2"),
        "the statement gives",
    ),
    "Gamma": ("", replaced("noise", "right(*a); a[-1][0] *= 1 + 1e-6"), "differs from"),
    "a rule": ("0.6 * (scale", "0.5 * (scale", "_cells_away of the module differs"),
    "kinks": (KINKS + "0", KINKS + "1", "quadrature_kinks of the module differs"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_in_a_module_by_quadrature_is_named(case):
    text, problem, rules = derived("erf", "relu", 1e-4)
    compiled = rules.search.compiled
    old, new, message = WRONG[case]
    readable = text.readable.replace(old, new) if old else text.readable + new
    wrong = replace(text, readable=readable)
    assert wrong != text
    with pytest.raises(GeneratedError, match=message):
        check_generated(wrong, problem, compiled)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the search for the largest error, where it is not what is asked about."""
    monkeypatch.setattr(quadrature_error, "_SAMPLES", {2: 30, 4: 3})
    monkeypatch.setattr(quadrature_error, "_AROUND", {2: 6, 4: 3})


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("x", [0.0, 1e-12, 1e-5, 0.2499999, 0.2500001, -0.24, 3.0])
def test_a_removable_singularity_is_removed(x):
    m = activation("sin(x)/x")
    with mpmath.workdps(30):
        exact = mpmath.taylor(mpmath.sinc, mpmath.mpf(x) or mpmath.mpf("1e-25"), 2)
        if abs(x) < 1e-4:
            exact = [mpmath.sinc(x), -mpmath.mpf(x) / 3, -mpmath.mpf(1) / 6]
    assert m.student_activation(x) == pytest.approx(float(exact[0]), abs=1e-14)
    assert m.student_activation_derivative(x) == pytest.approx(float(exact[1]), abs=1e-13)
    assert m.student_activation_curvature(x) == pytest.approx(float(exact[2]), abs=1e-8)


@pytest.mark.usefixtures("hasty")
def test_large_arguments_do_not_overflow():
    m = by_quadrature("silu", None, 1e-4)
    assert m.student_activation_derivative(-1e4) == 0.0
    assert m.student_activation_derivative(1e4) == 1.0
    assert by_quadrature("softplus", None, 1e-5).student_activation(1e4) == 1e4


@pytest.mark.parametrize(
    ("student", "error", "words"),
    [
        ("tanh(x)+sign(x)", DivergentError, "Γ_ii.*jumps"),
        ("tanh(x)*exp(x**2/2)", DivergentError, r"Γ_ii.*exists only for Var\(x\) < 1/2"),
        ("tanh(x)/x**2", DivergentError, "not finite at x = 0"),
    ],
)
def test_activations_without_dynamics_are_refused(student, error, words):
    with pytest.raises(error, match=words):
        generate("refused", student)


@pytest.mark.usefixtures("hasty")
def test_what_is_out_of_reach_is_refused_unless_the_best_is_asked_for():
    problem = learning_problem("silu")
    with pytest.raises(ToleranceError, match=r"tolerance 1e-14: .* reaches \d"):
        Quadrature(problem, 1e-14)
    best = Quadrature(problem, 1e-14, limited=True)
    assert 1e-14 < best.error < 1e-9
