"""Kernels in double precision against the same programs at many digits, and the moment form."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from pairs.engine import numbers, overlaps, packed
from pairs.states import Rates, State, random_state
from support.plain_module import checked_in
from symderiv_codegen import print_mpmath

from symderiv.checking.recipes import RECIPES
from symderiv.learning.derivation.learning_equations import derive_equations
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.programs.moment_program import moment_program
from symderiv.lowering.programs.program import solver_program

pytestmark = pytest.mark.turns(9)


def module_of(text: str) -> SimpleNamespace:
    namespace: dict[str, Any] = {}
    exec(compile(text, "generated", "exec"), namespace)
    return SimpleNamespace(**namespace)


def exact(array: Any, mp: Any) -> Any:
    """Nested lists of multiprecision numbers."""
    return [exact(row, mp) for row in array] if np.ndim(array) else mp.mpf(float(array))


def zeros(mp: Any, *shape: int) -> Any:
    return [zeros(mp, *shape[1:]) for _ in range(shape[0])] if shape else mp.zero


def spectral_rates(module: Any, system: State, rates: Rates, mp: Any) -> tuple[Any, Any, Any]:
    K, M, L = len(system.J), len(system.B), len(system.eigenvalue)
    outputs = zeros(mp, K, K, L), zeros(mp, K, M, L), zeros(mp, K)
    parts = overlaps(system)
    module.right_hand_side(
        mp,
        *(exact(a, mp) for a in (parts[0], parts[1], system.v)),
        *(exact(a, mp) for a in (system.eigenvalue, system.weight, parts[2])),
        *(exact(a, mp) for a in (system.T, system.v_teacher)),
        *(mp.mpf(rate) for rate in numbers(rates)),
        *outputs,
    )
    return outputs


@pytest.mark.parametrize("name", RECIPES)
def test_the_kernel_agrees_with_many_digits_to_the_rounding_of_its_input(name: str) -> None:
    mp = mpmath.MPContext()
    mp.dps = 22
    program = solver_program(derive_equations(learning_problem(*RECIPES[name])), name)
    reference = module_of(print_mpmath(program))
    kernel = checked_in(name)
    # Gelu at many digits needs an integral for every set of fields, so it gets a small system.
    sizes = ((3, 1, 2),) if name == "gelu" else ((1, 2, 2), (2, 3, 2))
    for seed, K, M in sizes:
        system, rates = random_state("general", seed, K, M, 2, hidden=M), Rates()
        outputs = spectral_rates(reference, system, rates, mp)
        expected = np.concatenate([np.ravel(np.array(part, dtype=float)) for part in outputs])
        found = np.empty_like(expected)
        vector, sizes_of, parameters = packed(system, rates)
        kernel.flat_right_hand_side(0.0, vector, sizes_of, parameters, found)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13 * scale)


@pytest.mark.parametrize(("student", "teacher"), [("erf", "erf"), ("quadratic", "erf")])
@pytest.mark.parametrize("L", [1, 2])
def test_the_moment_form_is_the_spectral_form_summed_over_eigenvalues(
    student: str, teacher: str, L: int
) -> None:
    """Both right-hand sides at 40 digits; their agreement is the check of the hierarchy."""
    mp = mpmath.MPContext()
    mp.dps = 40
    equations = derive_equations(learning_problem(student, teacher))
    spectral = module_of(print_mpmath(solver_program(equations, "spectral")))
    moments = module_of(print_mpmath(moment_program(equations, "moments")))
    K, M = 3, 2
    system, rates = random_state("general", 11, K, M, L, hidden=M), Rates()
    if L == 1:
        system = replace(system, eigenvalue=np.array([1.3]))
    rho, w = exact(system.eigenvalue, mp), exact(system.weight, mp)
    parts_of = [exact(np.moveaxis(part, -1, 0), mp) for part in overlaps(system)]

    def moment(parts: Any, power: int, rows: int, columns: int) -> Any:
        return [
            [
                mp.fsum(w[k] * rho[k] ** power * parts[k][a][b] for k in range(L))
                for b in range(columns)
            ]
            for a in range(rows)
        ]

    student_moment = [moment(parts_of[0], l, K, K) for l in range(L)]
    cross_moment = [moment(parts_of[1], l - 1, K, M) for l in range(L)]
    teacher_moment = [moment(parts_of[2], l - 1, M, M) for l in range(L)]
    nu = [mp.fsum(w[k] * rho[k] ** (l + 1) for k in range(L)) for l in range(L)]
    found = zeros(mp, L, K, K), zeros(mp, L, K, M), zeros(mp, K)
    v, T, v_teacher = (exact(a, mp) for a in (system.v, system.T, system.v_teacher))
    moments.right_hand_side(
        mp,
        student_moment,
        cross_moment,
        v,
        closure_coefficients(rho),
        nu,
        teacher_moment,
        T,
        v_teacher,
        *(mp.mpf(rate) for rate in numbers(rates)),
        *found,
    )
    dQ, dr, dv = spectral_rates(spectral, system, rates, mp)
    dQ, dr = (np.moveaxis(np.array(part, dtype=object), -1, 0) for part in (dQ, dr))
    expected = (
        [moment(dQ, l, K, K) for l in range(L)],
        [moment(dr, l - 1, K, M) for l in range(L)],
        dv,
    )
    for ours, theirs in zip(found, expected, strict=True):
        difference = np.abs(np.array(ours, dtype=object) - np.array(theirs, dtype=object))
        assert difference.max() < mp.mpf("1e-35")
