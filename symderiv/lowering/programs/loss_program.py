"""The solver of a problem whose means of forces are computed in one pass over the fields."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure, Program

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.rule.learning_problem import LearningProblem
from symderiv.lowering.means.loss_means import FORCES, LOSSES, LossMeans
from symderiv.lowering.programs.module_header import constants, header_equations, recipe, title
from symderiv.lowering.programs.program import before_noise, spectral_equations, spectral_procedures
from symderiv.lowering.solver_arrays import (
    B_STATE,
    B_STUDENT,
    B_TEACHER,
    DB,
    DV,
    ERROR,
    EVALUATION_SCALE,
    GAMMA,
    KEEP,
    LABEL_FLIP,
    LABEL_NOISE,
    LATTICE_SHIFT,
    LOSS,
    RANGES,
    A,
    B,
    SolverArrays,
    arrays_of,
)
from symderiv.numerics import GAUSSIAN

_SQUARES = Array("squared_forces", ("K", "K"), "mean of the product of two forces", True)
_WITHOUT = {
    LABEL_NOISE: 0,
    LABEL_FLIP: 0,
    KEEP: 1,
    EVALUATION_SCALE: 1,
    B_STUDENT: 0,
    B_TEACHER: 0,
    LATTICE_SHIFT: 0,
}
"""The neutral values of features that a rule does not have."""


def loss_program(equations: LearningEquations, name: str, means: LossMeans) -> Program:
    """Return the solver of the equations in spectral form.

    Args:
        equations: The derived equations.
        name: Name of the module.
        means: The means of forces.
    """
    problem = equations.problem
    arrays = arrays_of(problem.rule)
    errors = _parts(arrays)
    return Program(
        name=name,
        title=title(problem),
        recipe=recipe(problem, means),
        equations=(
            *header_equations(equations),
            *_loss_stated(problem),
            *spectral_equations(equations),
            *means.statement,
        ),
        ranges=RANGES,
        functions=means.functions(),
        procedures=(FORCES, LOSSES, *errors, *_spectral(equations, arrays, errors)),
        state=arrays.state,
        parameters=arrays.parameters,
        constants=constants(problem, means),
        small=("K", "M"),
        extension=GAUSSIAN,
        mostly_zero=("weight_decay",),
    )


def _loss_stated(problem: LearningProblem) -> list[str]:
    """Return lines that explain l, s and t in the equations."""
    lines = [f"l = {problem.loss.expression}, l_s its derivative by s, the student's output;"]
    if problem.rule.dropout:
        lines += ["    units put out nothing where mask is 0, all of them are summed over;"]
    if problem.rule.target == "sign":
        return [
            *lines,
            "    t is label, the sign of the teacher's output, flipped and with label noise;",
            "    l_t is a derivative by that output, with delta functions where its sign changes",
        ]
    return [*lines, "    t is the teacher's output, flipped and with label noise"]


def _taken(arrays: SolverArrays) -> dict[Array, Array]:
    """Return the arrays of a rule by the inputs of the means that they are passed as."""
    own = {array.name: array for array in (*arrays.fields, LABEL_NOISE, *arrays.numbers)}
    stands_for = {array: own[array.name] for array in FORCES.inputs if array.name in own}
    return {**stands_for, **({B_STUDENT: B_STATE} if B_STATE.name in own else {})}


def _made(
    called: Procedure,
    arrays: SolverArrays,
    results: tuple[Array, ...],
    noiseless: bool = False,
) -> tuple[tuple[Array, ...], tuple[Array, ...], tuple[Assignment | Call, ...]]:
    """Return inputs, locals and steps of a procedure that calls another for a rule.

    Args:
        called: The procedure that computes means.
        arrays: The arrays of the rule.
        results: The arrays for its results.
        noiseless: Whether label noise, flips and dropout are left out, as when the student is
            judged.
    """
    taken = _taken(arrays)
    if noiseless:
        taken = {a: b for a, b in taken.items() if a not in (LABEL_NOISE, LABEL_FLIP, KEEP)}
    inputs = tuple(taken[array] for array in called.inputs if array in taken)
    missing = tuple(array for array in called.inputs if array not in taken)
    given = tuple(
        Assignment(
            sp.IndexedBase(array.name)[s.i if array == B_STUDENT else s.n]
            if array.shape
            else sp.Symbol(array.name),
            sp.Integer(_WITHOUT[array]),
        )
        for array in missing
    )
    names = tuple(taken.get(array, array).name for array in called.inputs)
    call = Call(called.name, (*names, *(array.name for array in results)))
    return inputs, missing, (*given, call)


def _parts(arrays: SolverArrays) -> tuple[Procedure, ...]:
    """Return procedures for the error, the mean loss, the gradients and the noise, one each."""

    def part(name: str, doc: str, outputs: tuple[Array, ...], noiseless: bool = False) -> Procedure:
        inputs, missing, body = _made(FORCES, arrays, FORCES.outputs, noiseless)
        rest = tuple(array for array in FORCES.outputs if array not in outputs)
        return Procedure(name, doc, inputs, outputs, (*rest, *missing), body)

    inputs, missing, body = _made(LOSSES, arrays, (LOSS,))
    derivatives = "Derivatives of the mean loss by"
    trained = any(array == B_STATE for array in arrays.fields)
    return (
        part(
            "generalization_error",
            "Mean of (student - target)**2 / 2 over the inputs, without label noise and flips.",
            (ERROR,),
            noiseless=True,
        ),
        Procedure(
            "mean_loss",
            "Mean of the loss over examples, which is what descent decreases.",
            inputs,
            (LOSS,),
            missing,
            body,
        ),
        part("first_layer_gradients", f"{derivatives} Q (one variable for Q_ij, Q_ji), R.", (A, B)),
        part("second_layer_gradient", f"{derivatives} v.", (DV,)),
        part("gradients", f"{derivatives} Q (one variable for Q_ij and Q_ji), R, v.", (A, B, DV)),
        part("noise", "Mean of the product of two students' forces.", (GAMMA,)),
        *((part("bias_gradient", f"{derivatives} the biases.", (DB,)),) if trained else ()),
    )


def _spectral(
    equations: LearningEquations, arrays: SolverArrays, errors: tuple[Procedure, ...]
) -> tuple[Procedure, ...]:
    """Return the procedures on overlaps per eigenvalue; the rates compute all means in one pass."""
    *others, rates = spectral_procedures(equations, arrays, errors)
    covariances = rates.body[0]
    own = tuple(step for step in rates.body if isinstance(step, Assignment))
    results = tuple(_SQUARES if array == GAMMA else array for array in FORCES.outputs)
    _, missing, steps = _made(FORCES, arrays, results)
    order = sp.S.One if before_noise(equations.motion) else s.full_order
    wanted = order * sp.IndexedBase(_SQUARES.name)[s.i, s.j]
    noise = Assignment(s.Gamma[s.i, s.j], wanted, symmetric=True)
    more = (array for array in (*results, *missing) if array not in rates.locals)
    return (
        *others,
        replace(
            rates,
            locals=(*rates.locals, *more),
            body=(covariances, *steps, noise, *own),
        ),
    )
