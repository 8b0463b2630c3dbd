r"""Site-symmetric fixed points with students that differ (Q > C), and those of the full η² flow.

With dr_k = 0 as at first order, r_k = c τ_k/ρ_k, c = -B/a_s. Summed over modes, dQ_k = 0 gives two
more equations, and only the mean eigenvalue ν_1 of the inputs enters, whatever the spectrum is:

.. math:: a_s R + B (T + D) = 0, \quad a_s Q_s + K M B R = \tfrac12 \eta \nu_1 \Gamma_s, \quad
          \kappa (Q - C) = \tfrac12 \eta \nu_1 (\Gamma_{ii} - \Gamma_{ij})

with Q_s = Q + (K-1) C and Γ_s = Γ_ii + (K-1) Γ_ij. Equal students, Q = C, always solve the third
one; the noise drives them apart, and a second branch has Q > C. Which state is approached is found
by integrating the three equations from small, different students; Newton's rule and then
Krawczyk's operator on balls turn it into digits that are proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Rational

import numpy as np
import numpy.typing as npt
from flint import arb

from symderiv.analysis.fixed_points.newton_steps import newton
from symderiv.analysis.fixed_points.symmetric_flow import differences, integrated
from symderiv.analysis.plateau.closed_plateau import FullFlow
from symderiv.analysis.plateau.stability import mode_rates
from symderiv.analysis.plateau.teacher import HomogeneousTeacher, rational_ball
from symderiv.formula.as_function import function_written
from symderiv.foundation.errors import InputError, ToleranceError
from symderiv.precision.balls.expression_balls import ball_at
from symderiv.precision.balls.krawczyk import enclosed_root
from symderiv.precision.balls.working import working_bits

_UNKNOWNS = ("Q", "C", "R")
_GIVEN = ("M", "T", "D", "nu")
_LARGE = 1e5
# Small rates bring the state close to the end of its domain, and steps of differences with it.
_STEPS = (4e-3, 6e-5, 1e-6, 2e-8)
_LASTING = 2000.0
"""Duration of the integration in units of ηα."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FullPlateau:
    """A site-symmetric fixed point with Q > C, or Q = C where no other is approached, in balls.

    Attributes:
        Q, C, R: Q_ii, Q_ij, R_in of order 1.
        generalization_error: Its height.
        unstable_eigenvalue: Largest rate of the specialisation sector per unit of α; None if it
            needs a spectrum that is not known.
    """

    Q: arb
    C: arb
    R: arb
    generalization_error: arb
    unstable_eigenvalue: arb | None


def full_plateau(
    flow: FullFlow, teacher: HomogeneousTeacher, learning_rate: Rational, bits: int
) -> FullPlateau:
    """Return the symmetric plateau that small, different students approach, with proved digits.

    Args:
        flow: The flow with noise terms (full flow), or without (first order in η).
        teacher: Its moments or modes; inputs given by moments have mean eigenvalue 1.
        learning_rate: η, exact, positive.
        bits: Working precision.

    Raises:
        InputError: There is no such plateau at this η; the message names the η up to which there
            is one.
        ToleranceError: The state could not be enclosed.
    """
    numeric = _Numeric(flow, teacher)
    closed, eta = flow.plain, float(learning_rate)
    start = numeric.approached(eta)
    if start is None:
        reached, start = numeric.followed(eta)
    if start is None:
        raise InputError(
            f"--learning-rate {learning_rate}: the full flow has a stationary symmetric plateau "
            f"only up to {reached:.4g} here; above it Q grows without bound"
        )
    work = bits + 40
    with working_bits(work):
        values = numeric.values(work)
        values["eta"] = rational_ball(learning_rate)
        state = enclosed_root(closed.equations, _UNKNOWNS, values, list(start), work, closed.slopes)
        values.update(zip(_UNKNOWNS, state, strict=True))
        return _measured(flow, teacher, values, work)


def equal_students(
    flow: FullFlow,
    teacher: HomogeneousTeacher,
    learning_rate: Rational,
    bits: int,
    start: tuple[float, float],
) -> FullPlateau:
    """Return the stationary state with Q = C, which small students see as long as they are equal.

    Args:
        flow, teacher, learning_rate, bits: As in :func:`full_plateau`.
        start: Q and R nearby.

    Raises:
        ToleranceError: There is none that could be enclosed.
    """
    work = bits + 40
    numeric = _Numeric(flow, teacher)
    with working_bits(work):
        values = numeric.values(work)
        values["eta"] = rational_ball(learning_rate)
        if flow.plain.equal is None:
            raise ToleranceError("the equations of equal students are singular")
        equations, slopes = flow.plain.equal
        first, second = enclosed_root(equations, ("Q", "R"), values, list(start), work, slopes)
        values.update({"Q": first, "C": first, "R": second})
        return _measured(flow, teacher, values, work)


def _measured(
    flow: FullFlow, teacher: HomogeneousTeacher, values: dict[str, arb], bits: int
) -> FullPlateau:
    """Height and escape of a state."""
    error, kappa, response = (
        ball_at(getattr(flow.plain, name), values, bits)
        for name in ("generalization_error", "difference_stiffness", "teacher_response")
    )
    rate: arb | None = None
    if teacher.modes is not None:
        modes = teacher.modes(bits)
        # Without noise the third equation says κ = 0 where Q > C: rank one is all there is.
        stiffness = values["eta"] * kappa if flow.plain.noise else arb(0)
        rate = mode_rates(modes, stiffness, values["eta"] * response, modes.difference)[0]
    return FullPlateau(values["Q"], values["C"], values["R"], error, rate)


class _Numeric:
    """The flow in double precision: integration, and solutions followed in η."""

    def __init__(self, flow: FullFlow, teacher: HomogeneousTeacher) -> None:
        self.teacher = teacher
        values = {name: float(x) for name, x in self.values(60).items()}
        self.M, self.T = values["M"], values["T"]
        self._given = [values[each] for each in _GIVEN]
        self._call = function_written(flow.plain.text, {"SignMean4": _sign_mean4})

    def values(self, bits: int) -> dict[str, arb]:
        """M, T, D and the mean eigenvalue as balls."""
        T1, D1, _, _ = self.teacher.moments(bits)
        mean = arb(1)
        if self.teacher.modes is not None:
            modes = self.teacher.modes(bits)
            with working_bits(bits):
                mean = sum(
                    (w * x for w, x in zip(modes.weight, modes.eigenvalue, strict=True)), arb(0)
                )
        return {"M": arb(self.teacher.units), "T": T1, "D": D1, "nu": mean}

    def residual(self, state: Floats, eta: float) -> Floats:
        """Return the three equations at (Q, C, R); not a number outside of their domain."""
        try:
            return np.array(self._call(*map(float, state), eta, *self._given), dtype=float)
        except (ValueError, ZeroDivisionError, OverflowError, TypeError):
            return np.full(3, math.nan)

    def _rates(self, state: Floats, eta: float) -> Floats:
        """dQ, dC, dR per unit of ηα, up to the factor ν_1: the equations are their sums."""
        first, total, spread = self.residual(state, eta)
        # d(Q + (M-1) C) = -2 total, d(Q - C) = -2 spread
        d_spread, d_total = -2 * spread, -2 * total
        d_c = (d_total - d_spread) / self.M
        return np.array([d_c + d_spread, d_c, -first])

    def approached(self, eta: float) -> Floats | None:
        """Return the state that is approached from small students, or None if Q runs away."""
        begin = np.array([0.01 * self.T, 0.0, 0.002 * self.T])
        end = integrated(lambda y: self._rates(y, eta), begin, _LASTING, _LARGE * self.T)
        return None if end is None else self.solved(end, eta)

    def solved(self, start: Floats, eta: float) -> Floats | None:
        """Newton's rule on the equations, the third divided by Q - C, from a state nearby."""

        def scaled(y: Floats) -> Floats:
            spread, rest, cross = np.exp(y)
            state = np.array([rest, rest - spread, cross])
            first, second, third = self.residual(state, eta)
            return np.array([first / cross, second / rest, third / spread])

        def slopes(y: Floats) -> Floats:
            found = (differences(scaled, y, step) for step in _STEPS)
            return next(
                (each for each in found if np.all(np.isfinite(each))), np.full((3, 3), np.nan)
            )

        begin = np.array([max(start[0] - start[1], 1e-9 * start[0]), start[0], start[2]])
        if np.any(begin <= 0):
            return None
        with np.errstate(all="ignore"):
            found = newton(lambda y: (scaled(y), slopes(y)), np.log(begin), 30, 1e-10)
            if found is None or not np.abs(scaled(logs := found[0])).max() < 1e-9:
                return None
        if abs(logs[1] - np.log(begin[1])) > 1.0:
            return None
        spread, rest, cross = np.exp(logs)
        return np.array([rest, rest - spread, cross]) if rest < _LARGE * self.T else None

    def followed(self, eta: float) -> tuple[float, Floats | None]:
        """Return the state followed from a small learning rate: how far, and the state if it got
        there.

        Raises:
            ToleranceError: None was found at smaller rates either.
        """
        reached, state = eta, None
        for _ in range(40):
            reached *= 0.5
            state = self.approached(reached)
            if state is not None:
                break
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
            reached, state = wanted, further
            if reached == eta:
                return reached, state
        return reached, None


def _sign_mean4(*correlations: float) -> float:
    import sympy as sp

    from symderiv.gaussian import SignMean4

    value: float = float(SignMean4(*map(sp.Float, correlations)))
    return value
