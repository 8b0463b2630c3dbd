"""The drift from derivatives of the error against the drift from I3, and the step at finite N."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
import sympy as sp
from support.sgd_definition import Rates, System, packed, random_system
from symderiv_kernels import erf as erf_kernel

from symderiv.gaussian import i3
from symderiv.learning import learning_problem
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.lowering.lowered_equations import lower

pytestmark = pytest.mark.turns(9)


def rational(matrix: np.ndarray) -> sp.Matrix:
    return sp.Matrix(
        *matrix.shape, [sp.Rational(round(float(a) * 4096), 4096) for a in matrix.flat]
    )


def drift_of_overlap_by_i3(
    student: sp.Expr, teacher: sp.Expr, system: System, C: sp.Matrix, mode: int, i: int, j: int
) -> float:
    """E[F_i x_j^k] as sums of I3 = E[g'(x_i) z g(x_p)], z the field of one eigenspace."""
    K = len(system.J)
    students = system._overlap(system.J, system.J)[mode]
    cross = system._overlap(system.J, system.phi)[mode]
    # Covariances of z = x_j^k with every field, and any sufficient variance for z itself.
    with_z = rational(np.concatenate([system.eigenvalue[mode] * students[j], cross[j]])[None, :])
    total = 0.0
    for field, weight in enumerate([*system.v, *(-system.v_teacher)]):
        places = (i, field)
        if i == field:
            matrix = sp.Matrix([[C[i, i], with_z[i]], [with_z[i], 1000]])
            mean = i3(student, student, matrix, fields=(0, 1, 0))
        else:
            matrix = sp.Matrix(
                [
                    [C[i, i], with_z[i], C[i, field]],
                    [with_z[i], 1000, with_z[field]],
                    [C[i, field], with_z[field], C[field, field]],
                ]
            )
            mean = i3(student, student if places[1] < K else teacher, matrix)
        total += weight * float(mean.evaluate(17).value)
    return float(system.v[i]) * total


@pytest.mark.parametrize(
    ("student", "teacher", "K", "M"),
    [
        ("erf", "erf", 2, 3),
        ("relu", "relu", 3, 2),
        ("quadratic", "quadratic", 2, 3),
        ("sin", "sin", 1, 3),
        ("erf", "sign", 2, 1),
    ],
)
def test_the_drift_from_i3_is_the_drift_from_derivatives_of_the_error(
    student: str, teacher: str, K: int, M: int
) -> None:
    problem = learning_problem(student, teacher)
    lowered = lower(derive_equations(problem))
    system = random_system(K + 7 * M, K, M)
    # Both routes at the same rational covariance of the fields.
    C = rational(system.field_covariance())
    A, B = gradients(lowered, system, C, K, M)
    mode, i, j = 1, K - 1, 0
    students = np.array(
        rational(system.eigenvalue[mode] * system._overlap(system.J, system.J)[mode]), dtype=float
    )
    cross = np.array(rational(system._overlap(system.J, system.phi)[mode]), dtype=float)
    by_stein = students[j] @ A[i] + cross[j] @ B[i]
    g, h = problem.student.expression, problem.teacher.expression
    by_i3 = drift_of_overlap_by_i3(g, h, system, C, mode, i, j)
    assert by_stein == pytest.approx(by_i3, rel=1e-12)


def gradients(
    lowered, system: System, C: sp.Matrix, K: int, M: int
) -> tuple[np.ndarray, np.ndarray]:
    """A_ij and B_in of the lowered equations, evaluated by substitution (no printer involved)."""
    functions = {function.name: function for function in lowered.functions}

    def value(expression: sp.Expr, indices: dict[str, int]) -> float:
        if isinstance(expression, sp.Sum):
            (index, *_), *others = expression.limits
            inner = sp.Sum(expression.function, *others) if others else expression.function
            size = {"p": K, "q": K, "m": M, "n": M}[str(index)]
            return sum(value(inner, {**indices, str(index): a}) for a in range(size))
        if isinstance(expression, sp.Piecewise):
            for branch, condition in expression.args:
                at = {e: sp.Integer(indices[str(e)]) for e in condition.atoms(sp.Idx)}
                if condition.xreplace(at) == sp.true:
                    return value(branch, indices)
        if isinstance(expression, sp.Indexed):
            at = [indices[str(index)] for index in expression.indices]
            name = str(expression.base.label)
            if name in ("v", "v_teacher"):
                return float(getattr(system, name)[at[0]])
            shift = {"Q": (0, 0), "R": (0, K), "T": (K, K)}[name]
            return float(C[at[0] + shift[0], at[1] + shift[1]])
        if isinstance(expression, sp.core.function.AppliedUndef):
            function = functions[str(expression.func)]
            known = {
                symbol: sp.Float(value(argument, indices), 30)
                for symbol, argument in zip(function.arguments, expression.args, strict=True)
            }
            for symbol, definition in function.definitions:
                known[symbol] = definition.xreplace(known)
            written = function.value.replace(
                lambda node: str(node.func) == "ExpDifference",
                lambda node: sp.exp(node.args[0]) - sp.exp(node.args[1]),
            )
            return float(sp.N(written.xreplace(known), 20))
        if str(expression.func) == "ExpDifference":
            first, second = (sp.Float(value(a, indices), 30) for a in expression.args)
            return float(sp.exp(first) - sp.exp(second))
        if isinstance(expression, sp.Add | sp.Mul):
            parts = [value(argument, indices) for argument in expression.args]
            return float(np.sum(parts) if isinstance(expression, sp.Add) else np.prod(parts))
        if expression.args and not expression.is_number:
            arguments = [sp.Float(value(argument, indices), 30) for argument in expression.args]
            return float(sp.N(expression.func(*arguments), 20))
        return float(expression)

    A = np.array(
        [
            [
                value(lowered.student_gradient, {"i": i, "j": j})
                + (value(lowered.curvature, {"i": i}) if i == j else 0.0)
                for j in range(K)
            ]
            for i in range(K)
        ]
    )
    B = np.array(
        [[value(lowered.teacher_gradient, {"i": i, "n": n}) for n in range(M)] for i in range(K)]
    )
    return A, B


def test_the_mean_change_in_one_step_at_finite_size_is_the_right_hand_side() -> None:
    """Explicit inputs and weights; what is left out is of order 1/N and shrinks as it should."""
    rng = np.random.default_rng(7)
    K, M, N, batches, batch = 2, 2, 120, 50, 4000
    mode = np.array([0] * 40 + [1] * 80)
    eigenvalue = np.array([2.0, 0.5])
    J, teacher = rng.normal(size=(K, N)), rng.normal(size=(M, N))
    phi = teacher * eigenvalue[mode]
    T = phi @ teacher.T / N
    system = System(J, phi, mode, eigenvalue, T, np.array([0.8, -1.1]), np.array([1.0, 0.7]))
    rates = Rates(learning_rate=0.5, label_noise=0.2)
    expected = np.empty_like(system.state())
    erf_kernel.flat_right_hand_side(
        0.0, system.state(), system.sizes(), system.parameters(rates), expected
    )
    from scipy.special import erf

    changes = []
    before = system.state()
    for _ in range(batches):
        xi = rng.normal(size=(batch, N)) * np.sqrt(eigenvalue[mode])
        x, y = xi @ J.T / np.sqrt(N), xi @ teacher.T / np.sqrt(N)
        g, h = erf(x / np.sqrt(2)), erf(y / np.sqrt(2))
        delta = g @ system.v - h @ system.v_teacher - rates.label_noise * rng.normal(size=batch)
        force = system.v * np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2) * delta[:, None]
        # The mean of the changed overlaps needs E[dJ] and E[dJ dJ] only.
        dJ = -rates.learning_rate / np.sqrt(N) * force.T @ xi / batch - rates.weight_decay / N * J
        dQ = system._overlap(dJ, J) + system._overlap(J, dJ)
        for k in range(2):
            # dJ_ia dJ_ja summed over the eigenspace, averaged; the decay's part is of order 1/N^2.
            power = (xi[:, mode == k] ** 2).mean(axis=1)
            dQ[k] += rates.learning_rate**2 / N * (force.T * power) @ force / batch
        dr = system._overlap(dJ, phi)
        dv = -(rates.second_layer_learning_rate * g.T @ delta / batch) / N
        dv -= rates.second_layer_weight_decay / N * system.v
        changes.append(N * packed(dQ, dr, dv))
    mean = np.mean(changes, axis=0)
    deviation = np.std(changes, axis=0, ddof=1) / np.sqrt(batches)
    assert before.shape == mean.shape
    assert deviation.max() < 0.02 * np.abs(mean).max()
    # The correlation of s_k with the forces is of order 1/N in Gamma: below the sampling error.
    assert np.all(np.abs(mean - expected) < 4.5 * deviation)


def test_the_kernel_and_the_lowered_equations_have_the_same_gradients() -> None:
    """The printed text against the symbolic expressions it came from."""
    K, M = 3, 2
    system = random_system(23, K, M)
    lowered = lower(derive_equations(learning_problem("relu")))
    C = rational(system.field_covariance())
    A, B = gradients(lowered, system, C, K, M)
    numbers = np.array(C, dtype=float)
    parts = numbers[:K, :K], numbers[:K, K:], numbers[K:, K:]
    found = np.empty((K, K)), np.empty((K, M)), np.empty(K)
    import_module("symderiv_kernels.relu").gradients(
        *(np.ascontiguousarray(part) for part in parts),
        system.v,
        system.v_teacher,
        *found,
    )
    np.testing.assert_allclose(found[0], A, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(found[1], B, rtol=1e-13, atol=1e-14)
