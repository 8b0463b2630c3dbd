r"""The order-parameter equations of a learning rule, for all activations and numbers of units.

A rule is stated for a few units with functions that are names (:mod:`named_rule`). Drift and noise
follow from the statement as those of any system do (:mod:`symderiv.statement.stated_motion`), and
are summed over all units (:mod:`summed_units`). Means of products of activations
(``symbols.Average``) stay symbols here and become numbers only through the Gaussian calculus.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from symderiv.foundation.derivation_cache import derived_once
from symderiv.foundation.errors import NotYetError
from symderiv.learning.derivation import symbols as s

if TYPE_CHECKING:
    from symderiv.learning.derivation.moment_hierarchy import MomentEquations
    from symderiv.learning.derivation.motion import Motion
    from symderiv.learning.rule.learning_problem import LearningProblem
    from symderiv.learning.rule.learning_rule import LearningRule

EQUATION_ROOMS = ("statement", "learning/rule", "learning/derivation")
"""The rooms on whose sources the equations of a rule depend."""
PLAIN_EQUATIONS = Path(__file__).with_name("plain_equations.pickle")
"""The file with the shipped equations of rules, which ``make kernels`` writes."""


@dataclass(frozen=True)
class SpectralEquations:
    """Time derivatives of the order parameters of each eigenspace, for one component of the data.

    The symbols A, B, Γ in them are the expressions of the same name in :class:`LearningEquations`.
    """

    student_overlap: sp.Expr
    cross_overlap: sp.Expr
    second_layer: sp.Expr


@dataclass(frozen=True)
class LearningEquations:
    """The order-parameter equations of a problem as symbolic expressions.

    Attributes:
        problem: The activations and the rule.
        generalization_error: ε_g as a sum of means of products of two activations.
        mean_loss: The mean of the loss over examples, which descent decreases.
        student_gradient: A_ij = (1 + δ_ij) ∂⟨ε⟩/∂Q_ij.
        teacher_gradient: B_in = ∂⟨ε⟩/∂R_in.
        second_layer_gradient: ∂⟨ε⟩/∂v_i.
        noise: Γ_ij, the coefficient of η² ρ_k in dQ_k/dα.
        student_covariance: Q_ij from the overlaps of the eigenspaces.
        cross_covariance: R_in from the overlaps of the eigenspaces.
        components: The equations for data of several components (classes).
        spectral: The equations for a single component.
        moment_form: The equations in the moments Q^(l), R^(l), with their closure; None for rules
            without them.
        motion: The motion of all fields of the state, for a single component.
        mean_force: The mean force under a rule that trains biases: ⟨F_i⟩ = ∂⟨ε⟩/∂b_i, named db_i.
        seen_covariance: Q_ij of the fields of noisy inputs, for a rule with such inputs. A, B, Γ
            are then at this covariance, and ε_g is at both.
        further: Coefficients by which students drift along vectors besides A and B, by name.
        sums: Covariances and products of vectors from the overlaps of the eigenspaces, which means
            may need in addition to Q, R and T.
    """

    problem: LearningProblem
    generalization_error: sp.Expr
    mean_loss: sp.Expr
    student_gradient: sp.Expr
    teacher_gradient: sp.Expr
    second_layer_gradient: sp.Expr
    noise: sp.Expr
    student_covariance: sp.Expr
    cross_covariance: sp.Expr
    components: SpectralEquations
    spectral: SpectralEquations
    motion: Motion
    moment_form: MomentEquations | None
    mean_force: sp.Expr | None = None
    seen_covariance: sp.Expr | None = None
    further: tuple[tuple[sp.Indexed, sp.Expr], ...] = ()
    sums: tuple[tuple[sp.Indexed, sp.Expr], ...] = ()

    @property
    def moments(self) -> MomentEquations:
        """The equations in moments of the input covariance.

        Raises:
            NotYetError: They are not derived for this rule.
        """
        if self.moment_form is None:
            raise NotYetError("not yet: moments of the input covariance with momentum")
        return self.moment_form


def derive_equations(problem: LearningProblem) -> LearningEquations:
    """Derive the order-parameter equations of stochastic gradient descent from its statement.

    Args:
        problem: The activations and the rule; numbers of units and modes stay symbols.

    Returns:
        Right-hand sides as SymPy expressions in indexed arrays and sums over index ranges.

    Raises:
        InputError: The rule asks for two motions at once.
        SymderivError: Units are not treated alike: an error of ours.
    """
    return LearningEquations(problem=problem, **equations_of_any(problem.rule))


@derived_once(*EQUATION_ROOMS, shipped=PLAIN_EQUATIONS)
def equations_of_any(rule: LearningRule) -> Mapping[str, Any]:
    """Return the parts of :class:`LearningEquations` for symbolic activations."""
    # imported here: equations that come with the package are read without the derivation
    from symderiv.learning.derivation.moment_hierarchy import moment_equations
    from symderiv.learning.derivation.rule_equations import (
        CROSS,
        STUDENTS,
        equations_of,
        written_out,
    )

    derived = equations_of(rule)
    general = [written_out(rate) for rate in derived.overlaps.values()][:2]
    special = [*derived.of_one_component.values()][:2]
    plain = rule.plain_motion and not (rule.momentum or rule.stated)
    output = derived.slow["v"][s.v[s.i]]
    return {
        "generalization_error": derived.error,
        "mean_loss": derived.mean_loss,
        "student_gradient": derived.gradients[0],
        "teacher_gradient": derived.gradients[1],
        "second_layer_gradient": derived.forces["v"],
        "noise": derived.noise,
        "student_covariance": STUDENTS,
        "seen_covariance": STUDENTS.xreplace(_SEEN) if rule.input_noise else None,
        "cross_covariance": CROSS,
        "components": SpectralEquations(general[0], general[1], output),
        "spectral": SpectralEquations(special[0], special[1], output),
        "motion": derived.motion,
        "moment_form": moment_equations(special[0], special[1])[0] if plain else None,
        "mean_force": derived.forces.get("b"),
        "further": derived.further,
        "sums": derived.sums,
    }


_SEEN = {s.eigenvalue[s.k]: s.eigenvalue[s.k] + s.input_noise**2}
