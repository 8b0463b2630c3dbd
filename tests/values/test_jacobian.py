"""Jacobians of problems against differences of their rates, and against known linearisations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import symderiv as sd
from symderiv.foundation.errors import NotYetError


def general(**others: Any) -> sd.Problem:
    """Return a problem with K ≠ M, T ≠ 1 and noise; two eigenvalues unless inputs are given."""
    inputs = sd.PowerLaw(exponent=1.0, dimension=400, distinct_eigenvalues=2)
    given = {"activation": "erf", "learning_rate": 0.7, "student_std": 0.5, "inputs": inputs}
    return sd.Problem(students=2, teachers=3, label_noise=0.1, **{**given, **others})


def by_differences(problem: sd.Problem, names: tuple[str, ...]) -> np.ndarray:
    """Return the Jacobian by central differences of fourth order."""
    rates = problem.rhs()
    start, entries, step = rates.initial, list(rates.names), 1e-4
    kept = [entries.index(name) for name in names]
    columns = []
    for name in names:
        direction = np.zeros(start.size)
        direction[[entries.index(name), entries.index(_mirrored(name))]] = 1.0

        def at(steps: int, along: np.ndarray = direction) -> np.ndarray:
            return rates(0.0, start + steps * step * along)[kept]

        columns.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    return np.stack(columns, axis=1)


def _mirrored(name: str) -> str:
    family, _, places = name.rstrip("]").partition("[")
    if family not in ("student_overlap", "momentum_square"):
        return name
    mode, i, j = places.split(",")
    return f"{family}[{mode},{j},{i}]"


def test_entries_are_those_of_differences() -> None:
    problem = general()
    found = problem.jacobian()
    assert found.matrix.shape == (20, 20)
    np.testing.assert_allclose(
        found.matrix, by_differences(problem, found.names), rtol=1e-8, atol=1e-10
    )
    rates, entries = problem.rhs(), list(problem.rhs().names)
    kept = [entries.index(name) for name in found.names]
    np.testing.assert_array_equal(found.rates, rates(0.0, rates.initial)[kept])
    # the rates are quadratic in the learning rate, linear in the decay and in the noise's variance,
    # so that differences are exact
    for key, ends, power in (
        ("learning_rate", (0.6, 0.8), 1),
        ("label_noise", (0.0, 0.2), 2),
        ("weight_decay", (0.0, 0.1), 1),
    ):
        there = [problem.replace(**{key: end}).rhs()(0.0, rates.initial)[kept] for end in ends]
        expected = (there[1] - there[0]) / (ends[1] ** power - ends[0] ** power)
        if power == 2:
            expected *= 2 * problem.label_noise
        np.testing.assert_allclose(found.parameters[key], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "others",
    [{"momentum": 0.3}, {"input_noise": 0.2}],
    ids=["momentum", "noise on inputs"],
)
def test_more_digits_are_those_of_differences(others: dict[str, Any]) -> None:
    problem = general(inputs=sd.Isotropic(400), **others)
    found = problem.jacobian(digits=20)
    np.testing.assert_allclose(
        found.matrix.astype(float), by_differences(problem, found.names), rtol=1e-7, atol=1e-9
    )


def test_modes_of_a_saddle_are_those_of_its_catalogue() -> None:
    problem = sd.Problem(
        "erf", students=2, teachers=2, learning_rate=0.5, teacher="orthogonal", draw="mean"
    )
    plateau = problem.plateau(full=True).full_flow_equal_students
    Q, R, C = (float(plateau[name]) for name in "QRC")
    found = problem.linearise({"Q": [[Q, C], [C, Q]], "R": [[R, R], [R, R]], "T": np.eye(2)})
    assert found.largest_rate < 1e-15
    assert found.unstable == 3  # the index of this state in docs/manual/how-to/fixed-points.md
    assert found.eigenvalues[0][0] == pytest.approx(float(plateau["unstable_eigenvalue"]), rel=1e-9)
    # students specialise: the differences of R grow, with opposite signs
    grows = found.modes[0]
    assert sorted(grows) == [f"cross_overlap[1,{i},{n}]" for i in (1, 2) for n in (1, 2)]
    assert sorted(round(each, 9) for each in grows.values()) == [-1, -1, 1, 1]
    assert "cross_overlap[1,1,2]" in found.to_text()


def test_what_has_no_jacobian_is_refused() -> None:
    with pytest.raises(NotYetError, match="has no Jacobian"):
        sd.Problem("x/(1+Abs(x))", students=1, teachers=1).jacobian()
    with pytest.raises(sd.InputError, match="digits"):
        general().jacobian(digits=0)
