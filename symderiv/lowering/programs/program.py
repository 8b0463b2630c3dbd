"""The equations as an indexed program: procedures over scalar functions.

Every right-hand side of an assignment is an expression of ``LearningEquations`` in which means have
become calls of scalar functions; nothing is written anew here but the order of the computation and
the words of the documentation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import sympy as sp
from symderiv_codegen import Array, Assignment, Call, Procedure, Program

from symderiv.learning.derivation import symbols as s
from symderiv.learning.derivation.example_noise import MOMENTS, kept_definitions
from symderiv.learning.derivation.learning_equations import LearningEquations
from symderiv.learning.derivation.motion import GRADIENT_SIZE as GRADIENT_SIZE_SYMBOL
from symderiv.learning.derivation.motion import Motion
from symderiv.learning.rule.learning_rule import PLAIN
from symderiv.lowering.means.approximation import Approximation
from symderiv.lowering.means.shared_means import before_shared
from symderiv.lowering.programs.lowered_equations import (
    Lowered,
    activation_functions,
    in_state,
    lower,
)
from symderiv.lowering.programs.module_header import (
    constants,
    header_equations,
    recipe,
    stated,
    title,
)
from symderiv.lowering.solver_arrays import (
    BATCH_RATIO,
    CROSS_OVERLAP,
    CURVATURE,
    DB,
    DV,
    EIGENVALUE,
    ERROR,
    GAMMA,
    GRADIENT_SIZE,
    KEPT,
    KEPT_PAIR,
    LABEL_NOISE,
    LOSS,
    NOISE_DIAGONAL,
    RANGES,
    RATES,
    STATE,
    STRETCH,
    STUDENT_OVERLAP,
    TEACHER_OVERLAP,
    V_TEACHER,
    WEIGHT,
    A,
    B,
    Q,
    R,
    SolverArrays,
    T,
    V,
    arrays_of,
)
from symderiv.numerics import GAUSSIAN

MOTION_ARRAYS = (GRADIENT_SIZE, STRETCH)

WRITTEN_OUT = ("first_layer_gradients", "noise")
"""The procedures in which common factors of the means in a sum are worth computing once."""


def error_procedures(
    lowered: Lowered, arrays: SolverArrays, with_loss: bool = False
) -> tuple[Procedure, ...]:
    """Return the procedures for error, gradients and noise, which depend on Q, R, T and v only.

    Args:
        lowered: The expressions.
        arrays: The arrays of fields and of the rule's numbers.
        with_loss: Also ``mean_loss``, for a rule whose descent minimises another loss than the
            error.
    """
    own = _gradients(lowered, arrays)
    error = lowered.generalization_error
    procedures = (
        Procedure(
            "generalization_error",
            "Mean of (student - teacher)**2 / 2 over the inputs, without label noise.",
            (*arrays.fields, *arrays.needed(error)),
            (ERROR,),
            *_with_shared(lowered, arrays, (Assignment(sp.Symbol(ERROR.name), error),)),
        ),
        *((_mean_loss(lowered, arrays),) if with_loss else ()),
        *own,
        _all_gradients(own, "mean loss" if with_loss else "generalisation error"),
        _noise(lowered, arrays),
        *_bias_gradient(lowered, arrays),
        *(_further(lowered, arrays, *each) for each in lowered.further),
    )
    called = {step.procedure for each in procedures for step in each.body if isinstance(step, Call)}
    return (*(each for each in lowered.shared_means if each.name in called), *procedures)


def _with_shared(
    lowered: Lowered,
    arrays: SolverArrays,
    body: tuple[Assignment | Call, ...],
    held: tuple[Array, ...] = (),
) -> tuple[tuple[Array, ...], tuple[Assignment | Call, ...]]:
    """Return locals and body of a procedure that first computes the shared means it reads."""
    means, first = before_shared(body, arrays.fields, lowered.shared_means)
    return (*held, *means), (*first, *body)


def _mean_loss(lowered: Lowered, arrays: SolverArrays) -> Procedure:
    loss = lowered.mean_loss
    return Procedure(
        "mean_loss",
        "Mean of the loss over examples, which is what descent decreases.",
        (*arrays.fields, LABEL_NOISE, *arrays.needed(loss)),
        (LOSS,),
        *_with_shared(lowered, arrays, (Assignment(sp.Symbol(LOSS.name), loss),)),
    )


def _gradients(lowered: Lowered, arrays: SolverArrays) -> tuple[Procedure, Procedure]:
    diagonal, steps, held = _diagonal(CURVATURE, lowered.curvature)
    first = lowered.student_gradient, lowered.curvature, lowered.teacher_gradient
    body = (
        *steps,
        Assignment(s.A[s.i, s.j], lowered.student_gradient + diagonal, symmetric=True),
        Assignment(s.B[s.i, s.n], lowered.teacher_gradient),
    )
    return (
        Procedure(
            "first_layer_gradients",
            "Derivatives of the generalisation error by Q (one variable for Q_ij and Q_ji) and R.",
            (*arrays.fields, *arrays.needed(*first)),
            (A, B),
            *_with_shared(lowered, arrays, body, held),
        ),
        Procedure(
            "second_layer_gradient",
            "Derivatives of the generalisation error by v.",
            (*arrays.fields, *arrays.needed(lowered.second_layer_gradient)),
            (DV,),
            *_with_shared(lowered, arrays, (Assignment(s.dv[s.i], lowered.second_layer_gradient),)),
        ),
    )


def _all_gradients(own: tuple[Procedure, Procedure], potential: str) -> Procedure:
    inputs = tuple(dict.fromkeys(array for each in own for array in each.inputs))
    return Procedure(
        "gradients",
        f"Derivatives of the {potential} by Q (one variable for Q_ij and Q_ji), R, v.",
        inputs,
        (A, B, DV),
        (),
        tuple(_call(each) for each in own),
    )


def _noise(lowered: Lowered, arrays: SolverArrays) -> Procedure:
    diagonal, steps, held = _diagonal(NOISE_DIAGONAL, lowered.noise_diagonal)
    if lowered.noise.has(s.kept_pair):
        saved = tuple(
            Assignment(name, value.xreplace(MOMENTS)) for name, value in kept_definitions()
        )
        steps, held = (*saved, *steps), (KEPT_PAIR, KEPT, *held)
    total = Assignment(s.Gamma[s.i, s.j], lowered.noise + diagonal, symmetric=True)
    body = (*steps, total)
    return Procedure(
        "noise",
        "Mean of the product of two students' forces, with label noise.",
        (*arrays.fields, LABEL_NOISE, *arrays.needed(*(step.value for step in body))),
        (GAMMA,),
        *_with_shared(lowered, arrays, body, held),
    )


def _bias_gradient(lowered: Lowered, arrays: SolverArrays) -> tuple[Procedure, ...]:
    """Return the procedure for the gradient of biases, or none if the rule does not train them."""
    if lowered.mean_force is None:
        return ()
    own = Procedure(
        "bias_gradient",
        "Derivatives of the mean loss by the biases: the mean forces.",
        (*arrays.fields, *arrays.needed(lowered.mean_force)),
        (DB,),
        *_with_shared(lowered, arrays, (Assignment(s.db[s.i], lowered.mean_force),)),
    )
    return (own,)


def _further(
    lowered: Lowered, arrays: SolverArrays, name: sp.Indexed, value: sp.Expr, alone: sp.Expr
) -> Procedure:
    """Return the procedure for the coefficients of students' drift along other vectors."""
    label = str(name.base.label)
    array = Array(label, tuple(index.upper.free_symbols.pop().name for index in name.indices))
    diagonal, steps, held = _diagonal(Array(f"{label}_diagonal", ("K",)), alone)
    return Procedure(
        f"{label}_means",
        "Means of what the learning rate multiplies where students move along other vectors.",
        (*arrays.fields, *arrays.needed(value, alone)),
        (array,),
        *_with_shared(lowered, arrays, (*steps, Assignment(name, value + diagonal)), held),
    )


def _diagonal(
    array: Array, value: sp.Expr
) -> tuple[sp.Expr, tuple[Assignment, ...], tuple[Array, ...]]:
    """Return the additional diagonal term, the steps that compute it, and its local array."""
    if value == 0:
        return sp.Integer(0), (), ()
    target = sp.IndexedBase(array.name)[s.i]
    return sp.KroneckerDelta(s.i, s.j) * target, (Assignment(target, value),), (array,)


def _call(called: Procedure, when: sp.Basic | None = None) -> Call:
    """Return the call of a procedure with arrays under the names of its own arguments."""
    return Call(called.name, _names((*called.inputs, *called.outputs)), when=when)


def modes_last(expression: sp.Expr) -> sp.Expr:
    """Return overlaps per eigenvalue in their layout in memory: the eigenvalue's index last.

    The eigenvalues of one pair of units are contiguous, so that loops over them have stride one.
    """
    return expression.xreplace(
        {
            element: element.base[(*element.indices[1:], element.indices[0])]
            for element in expression.atoms(sp.Indexed)
            if len(element.indices) == 3 and s.families_of(element.base)
        }
    )


def spectral_procedures(
    equations: LearningEquations, arrays: SolverArrays, errors: tuple[Procedure, ...]
) -> tuple[Procedure, ...]:
    """Return the procedures on overlaps per eigenvalue: covariances, observables, last
    the rates.
    """
    overlaps = (STUDENT_OVERLAP, CROSS_OVERLAP, EIGENVALUE, WEIGHT)
    named = {each.name: each for each in errors}
    error, first, second, noise = (
        named[name]
        for name in (
            "generalization_error",
            "first_layer_gradients",
            "second_layer_gradient",
            "noise",
        )
    )
    forces = (named["bias_gradient"],) if equations.mean_force is not None else ()
    further = [named[f"{name.base.label}_means"] for name, _ in equations.further]
    used = (first, second, noise, *forces, *further)
    moved = (value for _, value in (*equations.motion.before, *equations.motion.rates))
    inputs = dict.fromkeys(
        (*(array for each in used for array in each.inputs), *arrays.needed(*moved))
    )
    covariances = seen = _covariances(
        "order_parameters", equations.student_covariance, equations, arrays
    )
    if equations.seen_covariance is not None:
        seen = _covariances("seen_order_parameters", equations.seen_covariance, equations, arrays)
        inputs |= dict.fromkeys(arrays.needed(equations.seen_covariance))
    return (
        *dict.fromkeys((covariances, seen)),
        Procedure(
            "observables",
            "Covariances of the fields and, returned, the generalisation error of a state.",
            (*overlaps, *(array for array in error.inputs if array not in (Q, R))),
            (Q, R, ERROR),
            (),
            (_call(covariances), _call(error)),
        ),
        _right_hand_side(equations, arrays, seen, used, inputs),
    )


def _right_hand_side(
    equations: LearningEquations,
    arrays: SolverArrays,
    seen: Procedure,
    used: tuple[Procedure, ...],
    inputs: Iterable[Array],
) -> Procedure:
    """Return the procedure for the rates of the state, from the gradients and the noise."""
    motion, (first, second, noise, *others) = equations.motion, used
    known = {Q, R, T, V, V_TEACHER, LABEL_NOISE, *arrays.state.fields, *arrays.sums}
    sums = tuple(array for array in inputs if array in arrays.sums)
    outputs = {
        array.name: Array(f"d_{array.name}", array.shape, "time derivative", array.symmetric)
        for array in arrays.state.fields
    }
    before = tuple(array_of(target, MOTION_ARRAYS) for target, _ in motion.before)
    return Procedure(
        "right_hand_side",
        "Time derivatives of a state; time is examples over input dimension.",
        (
            *(STUDENT_OVERLAP, CROSS_OVERLAP, V, EIGENVALUE, WEIGHT),
            *(TEACHER_OVERLAP, T, V_TEACHER, *RATES),
            *arrays.state.fields[len(STATE.fields) :],
            *(array for array in inputs if array not in known),
            *(array for array in arrays.parameters.fields if array == BATCH_RATIO),
        ),
        tuple(outputs.values()),
        (Q, R, *sums, A, B, DV, GAMMA, *(each.outputs[0] for each in others), *before),
        (
            _call(seen),
            *_summed(equations, sums),
            _call(first),
            # output weights mostly stay fixed
            _call(second, when=sp.Ne(s.eta_v, 0)),
            _call(noise, when=None if before_noise(motion) else sp.Ne(s.full_order, 0)),
            *(_call(each) for each in others),
            *(Assignment(target, modes_last(value)) for target, value in motion.before),
            *(_rate(field, rate, outputs) for field, rate in _of_order(motion)),
        ),
    )


def _summed(equations: LearningEquations, arrays: tuple[Array, ...]) -> Iterator[Assignment]:
    """Yield covariances and products of vectors from the overlaps per eigenvalue."""
    for target, value in equations.sums:
        for array in arrays:
            if array.name == str(target.base.label):
                yield Assignment(target, modes_last(value), symmetric=array.symmetric)


def _of_order(motion: Motion) -> Iterator[tuple[sp.Indexed, sp.Expr]]:
    """Yield the rates; noise that is always computed is switched by ``full_order``."""
    for field, rate in motion.rates:
        noise = [each for each in rate.atoms(sp.Indexed) if each.base == s.Gamma]
        scaled = {each: s.full_order * each for each in noise if before_noise(motion)}
        yield field, rate.xreplace(scaled)


def _covariances(
    name: str, students: sp.Expr, equations: LearningEquations, arrays: SolverArrays
) -> Procedure:
    """Return the procedure for Q and R; inputs are as they are or as the student sees them."""
    what = "" if students == equations.student_covariance else " of what the student sees"
    return Procedure(
        name,
        f"Covariances of the fields{what} from the overlaps per eigenvalue.",
        (STUDENT_OVERLAP, CROSS_OVERLAP, EIGENVALUE, WEIGHT, *arrays.needed(students)),
        (Q, R),
        (),
        (
            Assignment(s.Q[s.i, s.j], modes_last(students), symmetric=True),
            Assignment(s.R[s.i, s.n], modes_last(equations.cross_covariance)),
        ),
    )


def _rate(field: sp.Indexed, rate: sp.Expr, outputs: Mapping[str, Array]) -> Assignment:
    """Return the assignment of the rate of a field of the state."""
    own = in_state(modes_last(field))
    symmetric = outputs[str(own.base.label)].symmetric
    return Assignment(_renamed(own, "d_"), modes_last(rate), symmetric=symmetric)


def before_noise(motion: Motion) -> bool:
    """Return whether a motion needs the noise even to first order in the learning rate."""
    return any(target == GRADIENT_SIZE_SYMBOL for target, _ in motion.before)


def array_of(target: sp.Expr, arrays: tuple[Array, ...]) -> Array:
    """Return the declaration of what is assigned."""
    name = str(target.base.label if isinstance(target, sp.Indexed) else target)
    return next(array for array in arrays if array.name == name)


def _renamed(element: sp.Indexed, prefix: str) -> sp.Indexed:
    return sp.IndexedBase(f"{prefix}{element.base.label}")[element.indices]


def _names(arrays: tuple[Array, ...]) -> tuple[str, ...]:
    return tuple(array.name for array in arrays)


def spectral_equations(equations: LearningEquations) -> list[str]:
    """Return the equations in spectral form as lines of plain text."""
    motion = equations.motion
    change = "change of {} in a step" if motion.by_steps else "d {}/d alpha"
    named = (
        ("Q[i, j]", modes_last(equations.student_covariance)),
        ("R[i, n]", modes_last(equations.cross_covariance)),
        *((str(target), modes_last(value)) for target, value in motion.before),
        *((change.format(modes_last(field)), modes_last(rate)) for field, rate in motion.rates),
    )
    return [line for name, value in named for line in stated(name, value)]


def solver_program(
    equations: LearningEquations, name: str, approximation: Approximation | None = None
) -> Program:
    """Return the solver of the equations in spectral form.

    Args:
        equations: The derived equations.
        name: Name of the module.
        approximation: The mixtures or the quadrature, if means have no closed form.

    Raises:
        DivergentError: The student's activation is too rough for gradient descent.
        NotYetError: A mean has no closed form with the present rules.
    """
    problem = equations.problem
    lowered = lower(equations, approximation)
    arrays = arrays_of(problem.rule)
    errors = error_procedures(lowered, arrays, problem.rule != PLAIN)
    stated_approximation = approximation.statement if approximation else []
    return Program(
        name=name,
        title=title(problem),
        recipe=recipe(problem, approximation),
        equations=(
            *header_equations(equations),
            *spectral_equations(equations),
            *stated_approximation,
        ),
        ranges=RANGES,
        functions=(*activation_functions(problem, approximation), *lowered.functions),
        procedures=(*errors, *spectral_procedures(equations, arrays, errors)),
        state=arrays.state,
        parameters=arrays.parameters,
        constants=constants(problem, approximation),
        small=("K", "M"),
        written_out=WRITTEN_OUT,
        extension=GAUSSIAN,
        mostly_zero=("weight_decay",),
    )
