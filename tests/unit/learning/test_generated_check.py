"""Generated modules are run before they are written: each wrong number is named, none is kept."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from symderiv import Problem
from symderiv.checking import checked_means, recipes
from symderiv.checking.checked_means import check_means
from symderiv.checking.checked_module import CheckedModule
from symderiv.checking.generated_check import GeneratedError, check_generated
from symderiv.checking.nested_means import OfField, nested_mean, resolving
from symderiv.checking.plain_functions import Functions
from symderiv.checking.stated_trial import Trial, expected_of
from symderiv.foundation.errors import SymderivError
from symderiv.learning.rule.learning_problem import LearningProblem, learning_problem
from symderiv.learning.rule.learning_rule import LearningRule
from symderiv.lowering import solver_files
from symderiv.lowering.means.uncompiled import uncompiled
from symderiv.lowering.solver_files import SolverText
from symderiv.storage.kernels import load_kernel

KERNELS = Path(__file__).parents[3] / "generated" / "symderiv_kernels"


def kept(name: str) -> tuple[SolverText, LearningProblem]:
    texts = ((KERNELS / folder / f"{name}.py").read_text() for folder in ("", "fast"))
    return SolverText(*texts), learning_problem(*recipes.RECIPES[name])


@pytest.mark.parametrize("name", recipes.RECIPES)
def test_the_kept_modules_pass(name: str) -> None:
    text, problem = kept(name)
    check_generated(text, problem)  # raises where it finds an error


def replaced(name: str, body: str) -> str:
    """Another function in the place of one, which can call it as ``right``."""
    head = f"\nright = {name}\ndef wrong(*a):\n    {body}\n"
    like = "wrong.__doc__ = right.__doc__\nwrong.__wrapped__ = right"  # of the same signature
    return f"{head}{like}\n{name} = wrong\n"


OF_FLAT = "right(*a); d, K, M, L = a[4], *a[2]; Q = d[: K * K * L].reshape(K, K, L); "


ERROR, FIRST = "generalization_error", "first_layer_gradients"
FLAT, SEEN = "flat_right_hand_side", "flat_observables"
READABLE, FAST = "readable.*: student_overlap", r"\(fast\): student_overlap .*"
#: The function that is wrong, what stands in its place, and what is said of it.
WRONG = [
    ("student_activation", "return right(*a) * (1 + 1e-9)", r"student_activation\(.*its formula"),
    (
        "student_activation_derivative",
        "return right(*a) * (1 + 1e-6)",
        r"student_activation_derivative\(.*, but its formula gives",
    ),
    ("i2", "return 5.0", r"i2\(.*\) = 5 is outside of its Hölder"),
    ("i4", "return math.nan", "i4.* = nan is outside of its Hölder"),
    ("i4", "return 1.00001 * right(*a)", r"i4\(.*\) = .*, but its definition gives"),
    ("i2_11", "return 1.0001 * right(*a)", "i2_11.*, but the slope of i2 is"),
    (ERROR, "return -1e-4", rf"{ERROR} \(K = 2, M = 3\) = -0.0001, but the statement gives"),
    (ERROR, "return right(*a) + 1e-7 * a[3][0]", f"{ERROR} .* but the statement gives"),
    # gradients by R, by Q, by v, and one of two equal entries
    (FIRST, "right(*a); a[6][0] *= 1 + 1e-6", f"{READABLE} .* but the statement gives"),
    (FIRST, "right(*a); a[5][0, 0] *= 1 + 1e-6", READABLE),
    ("second_layer_gradient", "right(*a); a[5][1] *= 1 + 1e-6", r"readable.*: v .*\[1\]"),
    (FIRST, "right(*a); a[5][0, 1] *= 1 + 1e-7", READABLE),
    ("gradients", "right(*a); a[5][0] *= 1 + 1e-6", "gradients: A"),
    ("gradients", "right(*a); a[7][1] *= 1 + 1e-6", "gradients: dv"),
    # modes, also with small weights; a symmetry; terms of several teachers, without the second
    # order, and of three students
    (FLAT, OF_FLAT + "Q[..., 0] *= 1 + 1e-6", rf"{FAST}\[0, 0, 0\]"),
    (FLAT, OF_FLAT + "Q[..., 2] *= 1 + 1e-6", rf"{FAST}\[., ., 2\]"),
    (FLAT, OF_FLAT + "Q[0, 1] += 1e-7 * a[3][-1]", rf"{FAST}\[0, 1, 0\]"),
    (FLAT, OF_FLAT + "Q[0, 0] -= 1e-7 * (M == 3) * a[3][-1]", rf"{FAST}\(K = 2, M = 3\)"),
    (FLAT, OF_FLAT + "Q[0, 0] -= 1e-7 * (1 - a[3][-1])", FAST),
    (FLAT, OF_FLAT + "Q[2:, 0] += 1e-7", rf"{FAST}\(K = 3, M = 1\)\[2, 0, 0\]"),
    ("right_hand_side", "right(*a); a[-1][0] += 1e-6", r"\(readable\): v"),
    (SEEN, "e = right(*a); a[3][0, 0] *= 1 + 1e-8; return e", "flat_observables: Q"),
    (SEEN, "return right(*a) * (1 + 1e-7)", ERROR),
    ("noise", "right(*a); a[-1][0, 0] *= 1 + 1e-6", READABLE),
    ("noise", "right(*a); a[-1][0, 0] *= 1 + 1e-6 * (len(a[4]) > 1)", READABLE),
    ("_arcsines", "right(*a); a[0][700:] *= 1 + 4e-15", "_arcsines of"),
    ("i2", "return math.sqrt(-1.0)", "cannot be evaluated"),
]


@pytest.mark.parametrize(("name", "body", "message"), WRONG)
def test_what_is_wrong_is_named(name: str, body: str, message: str) -> None:
    text, problem = kept("erf")
    module = "fast" if name in (FLAT, "_arcsines") else "readable"
    wrong = replace(text, **{module: getattr(text, module) + replaced(name, body)})
    with pytest.raises(GeneratedError, match=message):
        check_generated(wrong, problem)


def mean_of_two(problem: LearningProblem, scale: float, constant: float, off: float) -> None:
    """Checks the mean of two factors ``scale * x + constant``, wrong by ``off``."""

    def i2(c11: float, c12: float, c22: float) -> float:
        return scale**2 * c12 + constant**2 + off

    i2.__doc__ = "E[g(a) g(b)]"
    names = SimpleNamespace(i2=i2)
    functions = Functions(problem)
    check_means(CheckedModule(names, names, functions, False, 0.0, 0.0, 1))


@pytest.mark.parametrize(
    ("student", "scale", "constant", "noticed"),
    [("x", 1, 0, 1e-6), ("x/10000", 1e-4, 0, 1e-14), ("x+1000", 1, 1e3, 1e-3)],
)
def test_errors_count_beside_the_size_of_what_they_change(
    student: str, scale: float, constant: float, noticed: float
) -> None:
    problem = learning_problem(student)
    mean_of_two(problem, scale, constant, 0.0)
    with pytest.raises(GeneratedError, match="but its definition gives"):
        mean_of_two(problem, scale, constant, noticed)


def test_sums_are_as_fine_as_functions_ask_for() -> None:
    c = np.array([[1.0, 0.3], [0.3, 0.7]])
    narrow = OfField(lambda z: z * np.exp(-((z / 0.1) ** 2)), ())
    points = resolving([narrow, narrow], c)
    assert points is not None
    assert points > 1
    inverse = np.linalg.inv(c) + np.eye(2) * 2 / 0.1**2
    expected = np.linalg.inv(inverse)[0, 1] / np.linalg.det(inverse @ c) ** 0.5
    found, _ = nested_mean([narrow, narrow], c, points)
    assert found == pytest.approx(expected, rel=1e-6)
    # without that many the sums agree on nothing but zero
    assert abs(nested_mean([narrow, narrow], c)[0]) < 0.7 * expected
    assert resolving([narrow] * 4, np.eye(4)) is None
    assert resolving([OfField(np.tanh, ())] * 4, np.eye(4)) == 1.0


def test_nested_sums_are_the_means() -> None:
    c = np.array([[1.2, 0.3, -0.4, 0.2], [0.3, 0.8, 0.1, 0.3],
                  [-0.4, 0.1, 1.1, 0.4], [0.2, 0.3, 0.4, 0.6]])  # fmt: skip
    line, turned = OfField(lambda z: z, ()), OfField(lambda z: -z, (0.3,))
    step = OfField(lambda z: np.where(z > 0, 1.0, 0.0), (0.0,))
    square = OfField(lambda z: z**2, ())
    orthant = 0.25 + np.arcsin(c[0, 2] / (c[0, 0] * c[2, 2]) ** 0.5) / (2 * np.pi)
    wick = c[0, 1] * c[2, 3] + c[0, 2] * c[1, 3] + c[0, 3] * c[1, 2]
    for fields, places, expected in (
        ((step, step), (0, 2), orthant),
        ((line, turned), (0, 1), -c[0, 1]),
        ((square, step, line, line), None, None),
        ((line, line, turned, line), (0, 1, 2, 3), -wick),
        ((line, turned, turned, line), (0, 1, 2, 3), wick),
    ):
        if places is None:
            # E[z1² θ(z2) z3 z4] is half of the mean without the step: odd numbers of signs vanish
            places = (0, 1, 2, 3)
            expected = (c[0, 0] * c[2, 3] + 2 * c[0, 2] * c[0, 3]) / 2
        found, apart = nested_mean(fields, c[np.ix_(places, places)])
        assert apart < (1e-4 if len(fields) == 4 else 1e-7)
        assert found == pytest.approx(expected, abs=0.3 * apart + 1e-12), len(fields)


def test_functions_of_the_two_modules_are_compared() -> None:
    text, problem = kept("erf")
    wrong = replace(text, fast=text.fast + replaced("i2", "return right(*a) + 1e-8"))
    with pytest.raises(GeneratedError, match=r"^i2\(.* in the fast module"):
        check_generated(wrong, problem)


def derivative(doc: str, off: float, **more: object) -> None:
    """Checks what says that it is the slope of c11^2 c12, wrong by ``off``."""

    def slope(c11: float, c12: float, c22: float) -> float:
        return 2 * c11 * c12 + off

    slope.__doc__ = doc
    names = SimpleNamespace(i2_11=slope, **more)
    checked_means.check_derivatives(
        SimpleNamespace(names=names, quadrature=True, stated_of_two=1e-5)
    )


def test_slopes_by_quadrature_may_be_off_by_its_error_over_a_difference() -> None:
    def i2(c11: float, c12: float, c22: float) -> float:
        return c11**2 * c12

    derivative("= dI2/dc11", 1e-3, i2=i2)
    with pytest.raises(GeneratedError, match="slope of i2"):
        derivative("= dI2/dc11", 2e-3, i2=i2)
    # what says nothing, or of nothing that is there, is not asked
    derivative("A function.", 1.0, i2=i2)
    derivative("= dI2/dc11", 1.0)


@pytest.mark.turns(6)
def test_nothing_is_written_of_a_module_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = solver_files.print_readable
    broken = replaced("i2", "return 2 * right(*a)")
    monkeypatch.setattr(solver_files, "print_readable", lambda program: right(program) + broken)
    monkeypatch.setattr(recipes, "RECIPES", {"linear": ("linear", "linear")})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(SymderivError, match=r"^i2\("):
        recipes.write_checked_in(tmp_path)
    with pytest.raises(SymderivError, match=r"^i2\("):
        load_kernel("x/3")
    assert not list(tmp_path.rglob("*.py"))


def test_points_reach_as_far_as_exponentials_have_their_weight() -> None:
    Problem("sinh(3*x/2)", students=2, teachers=2).generate("grows", output=None)


def test_fields_that_lie_in_no_plane_are_looked_at() -> None:
    """Γ with a part that vanishes where three fields are dependent: only drawn states see it."""
    text, problem = kept("erf")
    volume = "np.linalg.det(np.block([[a[0], a[1][:, :1]], [a[1][:, :1].T, a[2][:1, :1]]]))"
    wrong = replace(
        text, readable=text.readable + replaced("noise", f"right(*a); a[-1][:] += 1e3 * {volume}")
    )
    with pytest.raises(GeneratedError, match="differs from that of the fast module"):
        check_generated(wrong, problem)
    fast = text.fast + replaced(
        "flat_right_hand_side", OF_FLAT + "Q += 0.05 * Q * (M == 3 and apart(a))"
    )
    apart = (
        "\ndef apart(a):\n    Q, R = a[1][:12].reshape(2, 2, 3), a[1][12:30].reshape(2, 3, 3)\n"
        "    w, T = a[3][3:6], a[3][33:42].reshape(3, 3)\n"
        "    Q, R = Q @ (w * a[3][:3]), R @ w\n"
        "    return np.linalg.matrix_rank(np.block([[Q, R], [R.T, T]]), tol=1e-9) > 2\n"
    )
    with pytest.raises(GeneratedError, match=r"\(fast\): student_overlap \(K = 2, M = 3\)"):
        check_generated(replace(text, fast=fast + apart), problem)


def test_an_uncompiled_module_imports_nothing_else() -> None:
    with pytest.raises(ImportError, match="imports 'os'"):
        uncompiled("import os\n")


def test_points_that_do_not_resolve_an_activation_are_not_taken() -> None:
    """E[sin(ω x) sin(ω y)] = exp(-ω² (var x + var y) / 2) sinh(ω² cov(x, y))."""
    rule = ("student_overlap", "cross_overlap"), ("label_noise", "learning_rate")
    expected = expected_of(learning_problem("sin(20*x)"), Trial(2, 3), *rule)
    known = {name: expected.known[name] for name in ("Q", "R", "T", "v", "v_teacher")}
    fields = np.block([[known["Q"], known["R"]], [known["R"].T, known["T"]]])
    variances = np.diag(fields)[:, None] + np.diag(fields)
    means = (np.exp(400 * (fields - variances / 2)) - np.exp(-400 * (fields + variances / 2))) / 2
    weights = np.concatenate([known["v"], -known["v_teacher"]])
    value, error = expected.increments["error", 1.0]
    assert error < 0.2  # of points of a plane it was 3e-4, and their value 0.15 off
    assert abs(value - weights @ means @ weights / 2) < error


def test_what_an_average_over_points_is_off_by_is_not_an_agreement_by_chance() -> None:
    """Coarse and fine points differed by 2e-9 where both were off by 5e-7."""
    rule = ("student_overlap", "cross_overlap"), ("label_noise", "learning_rate")
    problem = learning_problem("tanh(3*x)", rule=LearningRule(biases=True))
    expected = expected_of(problem, Trial(2, 1), *rule)
    known = expected.known
    fields = np.block([[known["Q"], known["R"]], [known["R"].T, known["T"]]])
    sizes, axes = np.linalg.eigh(fields)
    line = np.arange(-8.0, 8.0, 0.02)
    # three fields in a plane
    points = np.stack(np.meshgrid(line, line)).reshape(2, -1)
    biases = np.concatenate([known["student_biases"], known["teacher_biases"]])[:, None]
    outputs = np.tanh(3 * (axes[:, 1:] * sizes[1:] ** 0.5 @ points + biases))
    errors = (np.concatenate([known["v"], -known["v_teacher"]]) @ outputs) ** 2
    exact = 0.02**2 / (4 * np.pi) * errors @ np.exp(-(points**2).sum(axis=0) / 2)
    value, error = expected.increments["error", 1.0]
    assert error < 1e-6
    assert abs(value - exact) < error
