r"""Price's rule on sums of means: derivatives by the covariances of the fields.

For jointly Gaussian fields z_a with covariances C_ab = C_ba, ∂⟨f⟩/∂C_ab = ⟨∂²f/∂z_a∂z_b⟩ for a ≠ b
and half of that for a = b. A mean that names the fields x_p and x_q is a function of Q_pp, Q_pq and
Q_qq, also where p = q: its derivative is then that for two coinciding fields.
"""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp
from sympy.functions.special.tensor_functions import KroneckerDelta

from symderiv.foundation.errors import SymderivError
from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.indexed_sums import (
    Term,
    contract,
    map_terms,
    spread,
    terms,
    together,
)
from symderiv.learning.derivation.network_outputs import Outputs


def by_covariance(expression: sp.Expr, variable: sp.Indexed, outputs: Outputs) -> sp.Expr:
    """Return the derivative by Q_ij (one variable with Q_ji) or R_in, with sums carried out where
    possible.

    Args:
        expression: A sum of terms with one mean each, whose fields are x_p and y_m.
        variable: Q_ij or R_in.
        outputs: The outputs of the example, for means of slopes of the loss.

    Raises:
        SymderivError: A term has another form.
    """
    parts = [
        Term(slope, term.limits)
        for whole in terms(expression)
        for term in [whole.renamed(variable.indices)]
        for slope in _slopes(term.factor, variable, outputs)
    ]
    return spread(_in_order(contract(together(parts))))


def by_weight(expression: sp.Expr, variable: sp.Indexed, outputs: Outputs) -> sp.Expr:
    """Return the derivative of a sum of terms with one mean each by an output weight or a bias."""

    def rule(whole: Term) -> Term:
        term = whole.renamed(variable.indices)
        means = {mean: sp.Dummy() for mean in term.factor.atoms(s.Average)}
        back = {dummy: mean for mean, dummy in means.items()}
        factor = term.factor.xreplace(means)
        slope = sp.diff(factor, variable).xreplace(back)
        for dummy, mean in back.items():
            inner = s.Average(outputs.by(mean.args[0], variable))
            slope += sp.diff(factor, dummy).xreplace(back) * inner
        return Term(slope, term.limits)

    return contract(spread(map_terms(expression, rule)))


def _slopes(factor: sp.Expr, variable: sp.Indexed, outputs: Outputs) -> Iterator[sp.Expr]:
    """Yield the derivative of one mean by Price's rule, a summand for each pair of its fields."""
    means = factor.atoms(s.Average)
    if not means:
        return
    (mean,) = means
    if (factor / mean).has(s.Average):
        raise SymderivError(f"Price's rule is for one mean at a time, not for {factor}")
    if mean.has(s.LossSlope):
        yield factor / mean * _slope_of_all_fields(mean.args[0], variable, outputs)
        return
    names = sorted(mean.args[0].atoms(sp.Indexed), key=sp.default_sort_key)
    fields = [field for field in names if str(field.base.label) in ("x", "y")]
    place = {field: sp.Dummy(real=True) for field in fields}
    back = {dummy: field for field, dummy in place.items()}
    function = mean.args[0].xreplace(place)
    for number, first in enumerate(fields):
        for second in fields[number:]:
            slope = sp.diff(function, place[first], place[second]).xreplace(back)
            half = sp.Rational(1, 2) if first == second else sp.Integer(1)
            share = sp.expand(half * _by_variable(first, second, variable))
            for part in sp.Add.make_args(share):
                yield factor / mean * part * s.Average(slope)


def _slope_of_all_fields(function: sp.Expr, variable: sp.Indexed, outputs: Outputs) -> sp.Expr:
    """Return the derivative by Price's rule of the mean of a function of the outputs, so of all
    fields.
    """
    i, j = variable.indices
    if variable.base == s.R:
        return s.Average(outputs.by(outputs.by(function, s.x[i]), s.y[j]))
    half = 1 - KroneckerDelta(i, j) / 2
    return half * s.Average(outputs.by(outputs.by(function, s.x[i]), s.x[j]))


def _by_variable(first: sp.Indexed, second: sp.Indexed, variable: sp.Indexed) -> sp.Expr:
    """Return the derivative of the covariance of two fields by Q_ij or R_in."""
    students = [field for field in (first, second) if field.base == s.x]
    i, j = variable.indices
    if variable.base == s.Q and len(students) == 2:
        (p,), (q,) = first.indices, second.indices
        straight, crossed = (
            KroneckerDelta(p, i) * KroneckerDelta(q, j),
            KroneckerDelta(p, j) * KroneckerDelta(q, i),
        )
        return straight + crossed - KroneckerDelta(i, j) * straight
    if variable.base == s.R and len(students) == 1:
        (p,), (m,) = students[0].indices, (second if first.base == s.x else first).indices
        return KroneckerDelta(p, i) * KroneckerDelta(m, j)
    return sp.Integer(0)


def settled(expression: sp.Expr) -> sp.Expr:
    """Return terms with a Kronecker delta of free indices rewritten with only one of the two."""

    def rule(term: Term) -> Term:
        rest, deltas = term.factor, sp.Integer(1)
        for delta in sorted(term.factor.atoms(KroneckerDelta), key=sp.default_sort_key):
            first, second = delta.args
            rest = (rest / delta).xreplace({second: first})
            deltas *= delta
        return Term(rest * deltas, term.limits)

    return map_terms(contract(expression), rule)


def prove_first_layer(
    mean_loss: sp.Expr, student: sp.Expr, teacher: sp.Expr, outputs: Outputs
) -> None:
    """Prove A_ij = (1 + δ_ij) ∂⟨ε⟩/∂Q_ij and B_in = ∂⟨ε⟩/∂R_in, with both sides written out.

    Args:
        mean_loss: ⟨ε⟩ in terms of means of products of activations.
        student: A_ij, the mean of the second derivatives of the loss by x_i and x_j.
        teacher: B_in, the mean of those by x_i and y_n.
        outputs: The outputs of the example.

    Raises:
        SymderivError: A_ij or B_in is something else.
    """
    twice = 1 + KroneckerDelta(s.i, s.j)
    _agree(s.A[s.i, s.j], twice * by_covariance(mean_loss, s.Q[s.i, s.j], outputs), student)
    _agree(s.B[s.i, s.n], by_covariance(mean_loss, s.R[s.i, s.n], outputs), teacher)


def prove_second_layer(mean_loss: sp.Expr, gradient: sp.Expr, outputs: Outputs) -> None:
    """Prove that the mean of ∂ε/∂v_i is the derivative of ⟨ε⟩ by v_i.

    Raises:
        SymderivError: They differ.
    """
    by_price = by_weight(mean_loss, s.v[s.i], outputs)
    _agree(s.Average(s.output_force[s.i]), by_price, gradient)


def prove_biases(mean_loss: sp.Expr, force: sp.Expr, outputs: Outputs) -> None:
    """Prove that the mean force is the derivative of ⟨ε⟩ by b_i.

    Raises:
        SymderivError: They differ.
    """
    _agree(s.Average(s.F[s.i]), by_weight(mean_loss, s.bias[s.i], outputs), force)


def _in_order(expression: sp.Expr) -> sp.Expr:
    """Return an expression with the indices of symmetric products of vectors in one order."""
    return expression.xreplace(
        {
            element: element.base[tuple(sorted(element.indices, key=str))]
            for element in expression.atoms(sp.Indexed)
            if len(set(s.families_of(element.base))) == 1 and len(element.indices) == 2
        }
    )


def _agree(name: sp.Expr, from_means: sp.Expr, from_forces: sp.Expr) -> None:
    apart = spread(_in_order(spread(settled(spread(from_means - from_forces)))))
    if apart != 0:
        raise SymderivError(f"{name} differs from the derivative of the mean loss by {apart}")
