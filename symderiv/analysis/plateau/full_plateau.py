r"""Symmetric plateaus with students that differ (Q > C), and plateaus of the full η² flow.

With dr_k = 0 as at first order, r_k = c τ_k/ρ_k, c = -B/a_s. Summed over modes, dQ_k = 0 gives two
more equations, and only the mean eigenvalue ν_1 of the inputs enters, whatever the spectrum is:

.. math:: a_s R + B (T + D) = 0, \quad a_s Q_s + K M B R = \tfrac12 \eta \nu_1 \Gamma_s, \quad
          \kappa (Q - C) = \tfrac12 \eta \nu_1 (\Gamma_{ii} - \Gamma_{ij})

with Q_s = Q + (K-1) C and Γ_s = Γ_ii + (K-1) Γ_ij. Equal students, Q = C, always solve the third
one; the noise drives them apart, and a second branch has Q > C. The state that is approached is
found by implicit time steps from small, different students, which end as Newton's method;
Krawczyk's operator on balls then proves its digits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from symderiv.analysis.fixed_points.newton_steps import Floats, newton
from symderiv.analysis.plateau.closed_plateau import FullFlow
from symderiv.analysis.plateau.stability import mode_rates
from symderiv.analysis.plateau.teacher import HomogeneousTeacher, rational_ball
from symderiv.formula.as_function import function_written
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.expression_balls import ball_at
from symderiv.precision.balls.krawczyk import enclosed_root
from symderiv.precision.balls.working import working_bits

_LARGE = 1e5
# Logarithms of Q - C below this count as equal students.
_APART = -60.0
# Time steps in units of ηα: the first one, the shortest and the longest; the largest change of
# logarithms in a step, and that in the last one. Newton steps: the size that ends the iteration,
# and the largest that counts as converged.
_FIRST_STEP, _SHORTEST_STEP, _LONGEST_STEP = 0.01, 1e-9, 1e15
_CHANGE, _STILL = 0.3, 1e-9
_NEAR, _CLOSE = 1e-10, 1e-4


@dataclass(frozen=True)
class FullPlateau:
    """A site-symmetric fixed point in balls: with Q > C, or Q = C if no other is approached.

    Attributes:
        Q, C, R: Q_ii, Q_ij, R_in of order 1.
        generalization_error: The height of the plateau.
        unstable_eigenvalue: The largest rate of the specialisation sector per unit of α; None if
            the spectrum, which it needs, is unknown.
    """

    Q: arb
    C: arb
    R: arb
    generalization_error: arb
    unstable_eigenvalue: arb | None


def full_plateau(
    flow: FullFlow, teacher: HomogeneousTeacher, learning_rate: Fraction, bits: int
) -> FullPlateau:
    """Return the symmetric plateau that small, different students approach, with proved digits.

    Args:
        flow: The flow with noise terms (full flow), or without (first order in η).
        teacher: The teacher, by its moments or modes; with moments the mean eigenvalue is 1.
        learning_rate: η, exact, positive.
        bits: The working precision.

    Raises:
        InputError: There is no such plateau at this η; the message names the η up to which there
            is one.
        ToleranceError: The state could not be enclosed.
    """
    numeric, eta = _Numeric(flow, teacher), float(learning_rate)
    start = numeric.approached(eta)
    if start is None:
        reached, start = numeric.followed(eta)
    if start is None:
        raise InputError(
            f"{eta:g} is too large: the full flow has a stationary symmetric plateau only up to "
            f"{reached:.4g} here; above it Q grows without bound",
            argument="learning_rate",
        )
    near = dict(zip("QCR", map(float, start), strict=True))
    return _enclosed(flow, teacher, learning_rate, bits, near)


def equal_students(
    flow: FullFlow,
    teacher: HomogeneousTeacher,
    learning_rate: Fraction,
    bits: int,
    start: tuple[float, float],
) -> FullPlateau:
    """Return the stationary state with Q = C, the plateau of students that start equal.

    Args:
        flow, teacher, learning_rate, bits: See :func:`full_plateau`.
        start: Q and R nearby.

    Raises:
        ToleranceError: No such state could be enclosed, or no vectors have its overlaps.
    """
    if flow.plain.equal is None:
        raise ToleranceError("the equations of equal students are singular")
    return _enclosed(flow, teacher, learning_rate, bits, dict(zip("QR", start, strict=True)))


def _enclosed(
    flow: FullFlow,
    teacher: HomogeneousTeacher,
    learning_rate: Fraction,
    bits: int,
    start: Mapping[str, float],
) -> FullPlateau:
    """Return the state near given numbers in balls, with its height and escape.

    Without C among the numbers students are equal.
    """
    work, plain = bits + 40, flow.plain
    equations, slopes = (plain.equations, plain.slopes) if "C" in start else plain.equal
    with working_bits(work):
        values = {**_given(teacher, work), "eta": rational_ball(learning_rate)}
        state = enclosed_root(equations, [*start], values, [*start.values()], work, slopes)
        overlaps = dict(zip(start, state, strict=True))
        Q, C, R = (overlaps.get(name, state[0]) for name in "QCR")
        if "C" not in overlaps and Q * (values["T"] + values["D"]) < values["M"] * R**2:
            raise ToleranceError("no vectors have the overlaps of equal students that were found")
        values |= {"Q": Q, "C": C, "R": R}
        error, kappa, response = (
            ball_at(getattr(plain, name), values, work)
            for name in ("generalization_error", "difference_stiffness", "teacher_response")
        )
        rate: arb | None = None
        if teacher.modes is not None:
            modes = teacher.modes(work)
            # Without noise the third equation means κ = 0 where Q > C: only the rank-one part is
            # left.
            stiffness = values["eta"] * kappa if plain.noise else arb(0)
            rate = mode_rates(modes, stiffness, values["eta"] * response, modes.difference)[0]
        return FullPlateau(Q, C, R, error, rate)


def _given(teacher: HomogeneousTeacher, bits: int) -> dict[str, arb]:
    """Return M, T, D and the mean eigenvalue as balls."""
    T1, D1, _, _ = teacher.moments(bits)
    mean = arb(1)
    if teacher.modes is not None:
        modes = teacher.modes(bits)
        with working_bits(bits):
            mean = sum((w * x for w, x in zip(modes.weight, modes.eigenvalue, strict=True)), arb(0))
    return {"M": arb(teacher.units), "T": T1, "D": D1, "nu": mean}


class _Numeric:
    """The flow in double precision: its integration, and solutions that are followed in η."""

    def __init__(self, flow: FullFlow, teacher: HomogeneousTeacher) -> None:
        values = {name: float(x) for name, x in _given(teacher, 60).items()}
        self.M, self.T = values["M"], values["T"]
        self._given = list(values.values())
        self._call = function_written(flow.plain.text, {"SignMean4": _sign_mean4})

    def _overlaps(self, y: Floats) -> Floats:
        """Return Q, C and R at y = log(Q - C, Q + (M-1) C, R)."""
        apart, total, cross = np.exp(y)
        return np.array([(total + (self.M - 1) * apart) / self.M, (total - apart) / self.M, cross])

    def _moving(self, y: Floats, eta: float) -> tuple[Floats, Floats]:
        """Return the rates of y = log(Q - C, Q + (M-1) C, R), and their derivatives.

        Rates are per unit of ηα, up to the factor ν_1, and NaN outside of the domain of the
        equations.

        The first two entries are the eigenvalues of the overlaps of students: both are positive,
        and with two units one may be far smaller than the other.
        """
        apart, total, cross = np.exp(y)
        try:
            parts = np.array(self._call(*self._overlaps(y), eta, *self._given), dtype=float)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            parts = np.full(12, math.nan)
        # d(Q - C) = -2 third, d(Q + (M-1) C) = -2 second, dR = -first
        turn = [[0, 0, -2 / apart], [0, -2 / total, 0], [-1 / cross, 0, 0]]
        M = self.M
        by_y = [[apart * (M - 1) / M, total / M, 0], [-apart / M, total / M, 0], [0, 0, cross]]
        rates = turn @ parts[:3]
        return rates, turn @ parts[3:].reshape(3, 3) @ by_y - np.diag(rates)

    def approached(self, eta: float) -> Floats | None:
        """Return the state that is approached from small students; None if Q runs away.

        Long steps of the implicit Euler rule are Newton steps; while a direction grows, steps are
        shorter than its doubling time.
        """
        y, step = np.log([0.01 * self.T, 0.01 * self.T, 0.002 * self.T]), _FIRST_STEP
        rates, slopes = self._moving(y, eta)
        while step > _SHORTEST_STEP and self._within(y) and y[0] > _APART:
            growth = np.max(np.linalg.eigvals(slopes).real)
            step = min(step, 0.5 / growth) if growth > 0 else step
            change = np.linalg.solve(np.eye(3) / step - slopes, rates)
            moved = self._moving(y + change, eta) if np.abs(change).max() < _CHANGE else None
            if moved is None or not np.all(np.isfinite(moved[1])):
                step /= 2
                continue
            (rates, slopes), y, step = moved, y + change, 2 * step
            if np.abs(change).max() < _STILL or step > _LONGEST_STEP:
                return self.solved(self._overlaps(y), eta)
        return None

    def _within(self, y: Floats) -> bool:
        """Return whether Q is below the bound at which it counts as running away."""
        return bool(self._overlaps(y)[0] < _LARGE * self.T)

    def solved(self, start: Floats, eta: float) -> Floats | None:
        """Return the state with Q > C that Newton's method reaches from one nearby."""
        first, second, cross = start
        apart, total = max(first - second, 1e-9 * first), first + (self.M - 1) * second
        if min(apart, total, cross) <= 0:
            return None
        with np.errstate(all="ignore"):
            begin = np.log([apart, total, cross])
            solution = newton(lambda y: self._moving(y, eta), begin, 30, _NEAR, smallest=0.0)
        # rates of large students are small everywhere: small Newton steps show convergence, not
        # rates
        if solution is None or solution[1] > _CLOSE:
            return None
        overlaps = self._overlaps(solution[0])
        equal = overlaps[0] - overlaps[1] < 1e-12 * overlaps[0]
        far = not self._within(solution[0]) or abs(np.log(overlaps[0] / first)) > 1.0
        return None if equal or far else overlaps

    def followed(self, eta: float) -> tuple[float, Floats | None]:
        """Follow the plateau from a small learning rate up to ``eta``.

        Returns the learning rate that was reached, and the state if that is ``eta``.

        Raises:
            ToleranceError: No plateau was found at smaller learning rates either.
        """
        smaller = ((rate, self.approached(rate)) for rate in (eta / 2**n for n in range(1, 41)))
        reached, state = next((each for each in smaller if each[1] is not None), (eta, None))
        if state is None:
            raise ToleranceError(
                f"the search found no symmetric plateau of the full flow at learning rates up to "
                f"{eta:g}, which does not prove that there is none; try a larger learning_rate, "
                "or the flow of first order in it"
            )
        step = 0.2 * reached
        while step > 1e-5 * reached:
            wanted = min(reached + step, eta)
            further = self.solved(state, wanted)
            if further is None:
                step *= 0.5
                continue
            reached, state, step = wanted, further, 1.5 * step
            if reached == eta:
                return reached, state
        return reached, None


def _sign_mean4(*correlations: float) -> float:
    import sympy as sp

    from symderiv.gaussian import SignMean4

    return float(SignMean4(*map(sp.Float, correlations)))
