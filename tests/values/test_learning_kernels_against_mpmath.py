"""Kernels in double precision against the same programs at many digits, and the moment form."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest
from support.sgd_definition import Rates, System, modes_last, random_system
from symderiv_codegen import print_mpmath

from symderiv.learning import (
    RECIPES,
    derive_equations,
    learning_problem,
    moment_program,
    solver_program,
)
from symderiv.learning.derivation.moment_hierarchy import closure_coefficients

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


def spectral_rates(module: Any, system: System, rates: Rates, mp: Any) -> tuple[Any, Any, Any]:
    K, M, L = system.sizes()
    outputs = zeros(mp, K, K, L), zeros(mp, K, M, L), zeros(mp, K)
    J, phi = system.J, system.phi
    parts = [modes_last(system._overlap(a, b)) for a, b in ((J, J), (J, phi), (phi, phi))]
    module.right_hand_side(
        mp,
        *(exact(a, mp) for a in (parts[0], parts[1], system.v)),
        *(exact(a, mp) for a in (system.eigenvalue, system.weight, parts[2])),
        *(exact(a, mp) for a in (system.T, system.v_teacher)),
        *(mp.mpf(rate) for rate in rates.packed()),
        *outputs,
    )
    return outputs


@pytest.mark.parametrize("name", RECIPES)
def test_the_kernel_agrees_with_many_digits_to_the_rounding_of_its_input(name: str) -> None:
    mp = mpmath.MPContext()
    mp.dps = 22
    program = solver_program(derive_equations(learning_problem(*RECIPES[name])), name)
    reference = module_of(print_mpmath(program))
    kernel = import_module(f"symderiv_kernels.{name}")
    # Gelu at many digits needs an integral for every set of fields, so it gets a small system.
    sizes = ((3, 1, 2),) if name == "gelu" else ((1, 2, 2), (2, 3, 2))
    for seed, K, M in sizes:
        system, rates = random_system(seed, K, M), Rates()
        outputs = spectral_rates(reference, system, rates, mp)
        expected = np.concatenate([np.ravel(np.array(part, dtype=float)) for part in outputs])
        found = np.empty_like(expected)
        kernel.flat_right_hand_side(
            0.0, system.state(), system.sizes(), system.parameters(rates), found
        )
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
    system, rates = random_system(11, 3, 2), Rates()
    if L == 1:
        mode = np.zeros_like(system.mode)
        system = System(
            system.J, system.phi, mode, np.array([1.3]), system.T, system.v, system.v_teacher
        )
    K, M, _ = system.sizes()
    J, phi = system.J, system.phi
    rho, w = exact(system.eigenvalue, mp), exact(system.weight, mp)
    overlaps = [exact(system._overlap(a, b), mp) for a, b in ((J, J), (J, phi), (phi, phi))]

    def moment(parts: Any, power: int, rows: int, columns: int) -> Any:
        return [
            [
                mp.fsum(w[k] * rho[k] ** power * parts[k][a][b] for k in range(L))
                for b in range(columns)
            ]
            for a in range(rows)
        ]

    student_moment = [moment(overlaps[0], l, K, K) for l in range(L)]
    cross_moment = [moment(overlaps[1], l - 1, K, M) for l in range(L)]
    teacher_moment = [moment(overlaps[2], l - 1, M, M) for l in range(L)]
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
        *(mp.mpf(rate) for rate in rates.packed()),
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
