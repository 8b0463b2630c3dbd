"""One linear student of vectors: its mean flow, exact averages over teacher and initial weights.

The mean of one SGD step of size η/√N is -(η/N) Σ (J - B), so that d = J - B decays with e^(-ηPΣα),
P the projection on trained components. Overlaps are quadratic forms of the initial J and B; with
independent entries of mean zero its average is the sum of its values at unit vectors times their
variances.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values, extended

from symderiv_papers.references.exact import as_number
from symderiv_papers.references.power_law import eigenvalues, largest

__all__ = [
    "VectorFlow",
    "block_flows",
    "blocks",
    "diagonal",
    "random_covariance",
    "sgd_error",
]

#: Late enough for everything that is trained to have settled.
END = Fraction(4000)


@dataclass(frozen=True)
class VectorFlow:
    """A covariance, which components are trained, weights and a time.

    Attributes:
        numbers: The arithmetic.
        covariance: Σ, a matrix of these numbers.
        trained: Per component, is it trained?
        time: α.
        L: Number of distinct eigenvalues.
        learning_rate: η.
        student_std: σ_J.
        seed: Of the weights, rational numbers.
    """

    numbers: Any
    covariance: Any
    trained: tuple[bool, ...]
    time: Fraction
    L: int
    learning_rate: Fraction = Fraction(7, 10)
    student_std: Fraction = Fraction(3, 5)
    seed: int = 1

    @property
    def N(self) -> int:
        """Dimension."""
        return len(self.trained)

    @property
    def N_l(self) -> int:
        """Number of trained components."""
        return sum(self.trained)

    @cached_property
    def eta(self) -> Any:
        """η."""
        return as_number(self.learning_rate, self.numbers)

    @cached_property
    def weights(self) -> tuple[Any, Any]:
        """J at the start and B, rational columns."""
        source = random.Random(self.seed)
        start, teacher = (
            self.numbers.matrix(
                [
                    self.numbers.mpf(source.randint(-9, 9)) / source.randint(2, 7)
                    for _ in self.trained
                ]
            )
            for _ in range(2)
        )
        return start, teacher

    @cached_property
    def propagator(self) -> Any:
        """e^(-ηPΣα), by its series."""
        matrix = self.covariance.copy()
        for i, trained in enumerate(self.trained):
            if not trained:
                matrix[i, :] = self.numbers.zeros(1, self.N)
        return self.numbers.expm(matrix * (-self.eta * as_number(self.time, self.numbers)))

    def student(self, start: Any, teacher: Any) -> Any:
        """J(α)."""
        return teacher + self.propagator * (start - teacher)

    def overlaps(self, start: Any, teacher: Any) -> tuple[Any, Any, Any]:
        """R^(1), Q^(1), T^(1)."""
        J, Sigma = self.student(start, teacher), self.covariance
        R, Q, T = ((x.T * Sigma * y)[0] for x, y in ((J, teacher), (J, J), (teacher, teacher)))
        return R / self.N, Q / self.N, T / self.N

    @cached_property
    def means(self) -> tuple[Any, Any, Any]:
        """⟨R^(1)⟩, ⟨Q^(1)⟩, ⟨ε_g⟩ with variances σ_J² of J and 1 of B."""
        numbers, N = self.numbers, self.N
        variance = as_number(self.student_std, numbers) ** 2
        totals, none = [numbers.zero] * 3, numbers.zeros(N, 1)
        for a in range(N):
            unit = numbers.zeros(N, 1)
            unit[a] = numbers.one
            for scale, start, teacher in ((variance, unit, none), (numbers.one, none, unit)):
                found = self.overlaps(start, teacher)
                totals = [x + scale * y for x, y in zip(totals, found, strict=True)]
        R, Q, T = totals
        return R, Q, (Q - 2 * R + T) / 2

    def gradient_of_error(self) -> list[Any]:
        """Return derivatives of ε_g = ½ (J - B)ᵀ Σ (J - B)/N by J at the start, numerically."""
        start, teacher = self.weights

        def error(a: int, x: Any) -> Any:
            moved = start.copy()
            moved[a] = x
            difference = moved - teacher
            return (difference.T * self.covariance * difference)[0] / (2 * self.N)

        return [self.numbers.diff(lambda x, a=a: error(a, x), start[a]) for a in range(self.N)]

    def drift(self) -> Any:
        """Return mean change of J per unit of α at the start: N times the mean of one step."""
        start, teacher = self.weights
        step = self.covariance * (teacher - start) * (self.eta / self.N)
        return step * self.N

    def step(self) -> tuple[list[Any], list[Any]]:
        """Return one SGD step for one input, and the gradient of its loss, numerically."""
        numbers, root = self.numbers, self.numbers.sqrt(self.N)
        start, teacher = self.weights
        inputs = numbers.matrix([numbers.mpf(2 * a + 1) / (a - 3.5) for a in range(self.N)])

        def delta(J: Any) -> Any:
            return (inputs.T * (J - teacher))[0] / root

        def loss(a: int, x: Any) -> Any:
            moved = start.copy()
            moved[a] = x
            return delta(moved) ** 2 / 2

        steps = [-self.eta / root * delta(start) * inputs[a] for a in range(self.N)]
        slopes = [numbers.diff(lambda x, a=a: loss(a, x), start[a]) for a in range(self.N)]
        return steps, slopes

    def point(self, label: str, **more: Callable[[], Any]) -> Point:
        """Return the case with all names that statements use."""
        numbers, N, cut = self.numbers, self.N, self.N_l
        start, teacher = self.weights
        first = [i for i in range(N) if self.trained[i]]
        last = [i for i in range(N) if not self.trained[i]]

        def column(vector: Sequence[Any]) -> Indexed:
            return Indexed(list(vector), (1, N))

        def block(rows: list[int], columns: list[int]) -> Any:
            return numbers.matrix([[self.covariance[i, j] for j in columns] for i in rows])

        def part(vector: Any, rows: list[int]) -> Any:
            return numbers.matrix([vector[i] for i in rows])

        def number(value: Any) -> Any:
            return numbers.matrix([[value]])

        def student() -> Any:
            return self.student(start, teacher)

        known = {
            "N": N, "L": self.L, "M": 1, "K": 1, "N_l": cut, "eta": self.eta,
            "alpha": as_number(self.time, numbers),
            "sigma_J": as_number(self.student_std, numbers),
        }  # fmt: skip
        lazy = {
            "J": lambda: column(student()),
            "J0": lambda: column(start),
            "B": lambda: column(teacher),
            "Sigma": lambda: Indexed(self.covariance, (1, N), (1, N)),
            "R": lambda: self.overlaps(start, teacher)[0],
            "Q": lambda: self.overlaps(start, teacher)[1],
            "mean_R": lambda: self.means[0],
            "mean_Q": lambda: self.means[1],
            "epsilon_g": lambda: self.means[2],
            "drift": lambda: column(self.drift()),
            "grad_epsilon_g": lambda: column(self.gradient_of_error()),
            "step": lambda: column(self.step()[0]),
            "gradient": lambda: column(self.step()[1]),
            "lambda_": lambda: column([self.covariance[i, i] for i in range(N)]),
            # matrices and columns
            "R_1": lambda: number(self.overlaps(start, teacher)[0]),
            "Q_1": lambda: number(self.overlaps(start, teacher)[1]),
            "covariance": lambda: self.covariance,
            "J_vector": student,
            "B_vector": lambda: teacher,
            "tilde_Sigma": lambda: block(first, first),
            "Sigma_cross": lambda: block(first, last),
            "hat_Sigma": lambda: block(last, last),
            "tilde_J": lambda: part(student(), first),
            "hat_J": lambda: part(start, last),
            "tilde_J0": lambda: part(start, first),
            "tilde_B": lambda: part(teacher, first),
            "hat_B": lambda: part(teacher, last),
        }
        return Point(label, Values(known, lazy | more))


def sgd_error(
    covariance: Any, trained: Sequence[bool], learning_rate: float, deviation: float, steps: int
) -> float:
    """⟨ε_g⟩ of SGD after so many steps, exactly: finite N, any learning rate, Gaussian inputs.

    One step is d ← (1 - (η/N) P ξ ξᵀ) d. The second moments C = ⟨d dᵀ⟩ close on themselves because
    ⟨ξ ξᵀ C ξ ξᵀ⟩ = 2 Σ C Σ + Σ tr(ΣC).

    Args:
        covariance: Σ, shape (N, N).
        trained: P, per component.
        learning_rate: η.
        deviation: Mean square of every entry of d at the start, 1 + σ_J².
        steps: Number of examples.
    """
    N = len(trained)
    Sigma = np.array(covariance.tolist(), dtype=float)
    mask = np.array(trained, dtype=float)
    small = learning_rate / N

    def after_one(C: Any) -> Any:
        moved = mask[:, None] * (Sigma @ C) + mask * (C @ Sigma)
        noise = 2.0 * Sigma @ C @ Sigma + Sigma * np.trace(Sigma @ C)
        return C - small * moved + small**2 * np.outer(mask, mask) * noise

    images = [after_one(unit.reshape(N, N)).ravel() for unit in np.eye(N * N)]
    power = np.linalg.matrix_power(np.array(images).T, steps)
    C = (power @ (deviation * np.eye(N)).ravel()).reshape(N, N)
    return float(np.trace(Sigma @ C)) / (2 * N)


def random_covariance(numbers: Any, N: int, seed: int, copies: int = 1) -> Any:
    """Return a positive definite matrix of rational entries with trace N, in general position.

    Args:
        numbers: The arithmetic.
        N: Dimension.
        seed: Of the entries.
        copies: Multiplicity of every eigenvalue, a divisor of N.
    """
    source = random.Random(seed)
    L = N // copies
    entries = [[source.choice((-3, -2, -1, 1, 2, 3)) for _ in range(L)] for _ in range(L)]
    factor = numbers.matrix(entries) / 2
    inner = factor * factor.T + numbers.diag([numbers.mpf(i + 1) / 4 for i in range(L)])
    spread = numbers.zeros(N)
    for i in range(N):
        for j in range(N):
            if i % copies == j % copies:
                spread[i, j] = inner[i // copies, j // copies]
    # a reflection, so that no entry is zero
    axis = numbers.matrix([source.randint(1, 5) for _ in range(N)])
    reflection = numbers.eye(N) - axis * axis.T * (2 / (axis.T * axis)[0])
    matrix = reflection * spread * reflection
    return matrix * (N / sum(matrix[i, i] for i in range(N)))


def diagonal(
    numbers: Any,
    spectrum: Sequence[Fraction] | tuple[int, Fraction],
    copies: int,
    trained: int,
    time: Fraction,
    *,
    spaces: bool = False,
) -> Point:
    """Training in the eigenbasis; component k has the eigenvalue k modulo L.

    So the first L components have the distinct eigenvalues and λ_k is the same for components and
    eigenvalues, as the print uses it.

    Args:
        numbers: The arithmetic.
        spectrum: λ_k with mean 1, descending, or L and β of a power law.
        copies: N/L.
        trained: N_l: the first so many components are trained.
        time: α.
        spaces: N_l counts eigenvalues instead, with all their components.
    """
    power: dict[str, Callable[[], Any]] = {}
    if isinstance(spectrum[0], int):
        L, beta = int(spectrum[0]), Fraction(spectrum[1])
        values = eigenvalues(numbers, beta, L)
        power = {
            "beta": lambda: as_number(beta, numbers),
            "lambda_plus": lambda: largest(numbers, beta, L),
        }
    else:
        values = [as_number(value, numbers) for value in spectrum]
        L = len(values)
    N = copies * L
    matrix = numbers.diag([values[k % L] for k in range(N)])
    mask = tuple((k % L if spaces else k) < trained for k in range(N))
    flow = VectorFlow(numbers, matrix, mask, time, L)
    label = f"N = {N}, L = {L}, N_l = {trained}, alpha = {time}"
    point = flow.point(label, **power)
    return Point(label, extended(point.values, {"N_l": trained}))


def blocks(numbers: Any, time: Fraction) -> Iterator[Point]:
    """Training outside of the eigenbasis, general covariances."""
    for flow in block_flows(numbers, time):
        label = f"N = {flow.N}, N_l = {flow.N_l}, covariance {flow.seed}, alpha = {time}"
        yield flow.point(label)


def block_flows(numbers: Any, time: Fraction) -> Iterator[VectorFlow]:
    """Yield random covariances with N/L = 2, 1, 3, of which the first components are trained."""
    for N, trained, seed, copies in ((6, 2, 3, 2), (4, 3, 4, 1), (6, 3, 5, 3)):
        matrix = random_covariance(numbers, N, seed, copies)
        mask = tuple(k < trained for k in range(N))
        yield VectorFlow(numbers, matrix, mask, time, N // copies, seed=seed)
