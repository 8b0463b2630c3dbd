"""The arrays of solver modules: what they hold, their shapes, how vectors are packed."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp
from symderiv_codegen import Array, Vector

from symderiv.keys.study_tables import letter_of
from symderiv.learning.derivation import symbols as s
from symderiv.learning.rule.learning_rule import PLAIN, LearningRule


def _number(name: str, meaning: str) -> Array:
    """Return the array of a number of a rule, with the letter of its key."""
    return Array(name, (), meaning, False, "_".join(filter(None, letter_of(name))))


Q = Array("Q", ("K", "K"), "covariance E[x_i x_j] of the student fields", True, "Q")
R = Array("R", ("K", "M"), "covariance E[x_i y_n] of student and teacher fields", False, "R")
T = Array("T", ("M", "M"), "covariance E[y_n y_m] of the teacher fields", True, "T")
V = Array("v", ("K",), "output weights of the student", False, "v")
V_TEACHER = Array("v_teacher", ("M",), "output weights of the teacher", False, r"\tilde v")
A = Array("A", ("K", "K"), "(1 + delta_ij) d error / d Q_ij", True, "A")
B = Array("B", ("K", "M"), "d error / d R_in", False, "B")
DV = Array("dv", ("K",), "d error / d v_i", False, r"\partial_v \epsilon")
CURVATURE = Array("curvature", ("K",), "the part of A that only its diagonal has")
GAMMA = Array(
    "Gamma", ("K", "K"), "coefficient of learning_rate**2 eigenvalue in dQ_k", True, r"\Gamma"
)
LABEL_NOISE = _number("label_noise", "standard deviation of the label noise")
STUDENT_OVERLAP = Array(
    "student_overlap", ("K", "K", "L"), "overlaps Q_k of the students per eigenvalue", True, "Q"
)
CROSS_OVERLAP = Array(
    "cross_overlap", ("K", "M", "L"), "overlaps r_k of students and teachers", False, "r"
)
TEACHER_OVERLAP = Array(
    "teacher_overlap", ("M", "M", "L"), "overlaps t_k of the teachers", True, "t"
)
EIGENVALUE = Array("eigenvalue", ("L",), "distinct eigenvalues of the inputs", False, r"\rho")
WEIGHT = Array("weight", ("L",), "their multiplicities over the input dimension", False, "w")
RATES = (
    _number("learning_rate", "of the first layer"),
    _number("second_layer_learning_rate", "0 keeps the output weights"),
    _number("weight_decay", "of the first layer"),
    _number("second_layer_weight_decay", "of the output weights"),
    LABEL_NOISE,
    Array("full_order", (), "1 with the terms of order learning_rate**2, 0 without"),
)
ERROR = Array("error", (), "the generalisation error", False, r"\epsilon_g")
FIELDS = (Q, R, T, V, V_TEACHER)

RANGES = ("K", "M", "L")
STATE = Vector("state", (STUDENT_OVERLAP, CROSS_OVERLAP, V))
PARAMETERS = Vector("parameters", (EIGENVALUE, WEIGHT, TEACHER_OVERLAP, T, V_TEACHER, *RATES))
"""The order in which solvers pack their arrays, defined here and nowhere else."""

B_STATE = Array("b", ("K",), "biases of the student", False, "b")
B_STUDENT = Array("student_biases", ("K",), "biases of the student", False, "b")
B_TEACHER = Array("teacher_biases", ("M",), "biases of the teacher", False, "c")
DB = Array("db", ("K",), "d loss / d b_i", False, r"\partial_b \epsilon")
BIAS_RATE = _number("bias_learning_rate", "of the biases")
INPUT_NOISE = _number("input_noise", "of what the student sees")
MOMENTUM_RATE = _number("momentum_rate", "N (1 - momentum)")
MOMENTUM = (
    Array("momentum_overlap", ("K", "K", "L"), "overlaps of velocities and students", False, "P"),
    Array("momentum_square", ("K", "K", "L"), "overlaps of velocities", True, "W"),
    Array("momentum_cross", ("K", "M", "L"), "overlaps of velocities and teachers", False, "C"),
)
V_VELOCITY = Array("v_velocity", ("K",), "N times the velocities of the output weights")
B_VELOCITY = Array("b_velocity", ("K",), "N times the velocities of the biases")
UPDATE_NOISE = _number("update_noise", "deviation of what an update adds, times sqrt(N)")
LABEL_FLIP = Array("label_flip", (), "probability of a target with its sign changed", False, "p_f")
KEEP = Array("keep", (), "probability of a student's unit to be kept", False, "p")
EVALUATION_SCALE = Array(
    "evaluation_scale", (), "what output weights are scaled by in the error", False, r"\lambda"
)
BATCH_RATIO = _number("batch_ratio", "examples of a step over input dimension")
GRADIENT_SIZE = Array("gradient_size", (), "root mean square of a step of the first layer")
STRETCH = Array("stretch", ("K",), "growth rate of Q_ii that is taken away")
NOISE_DIAGONAL = Array("noise_diagonal", ("K",), "the part of Gamma that only its diagonal has")
KEPT_PAIR = Array("kept_pair", ("K", "K"), "probability that two units are kept", True)
KEPT = Array("kept", ("K", "K", "K"), "the same of a third one if both are")
LATTICE_SHIFT = Array("lattice_shift", (), "of the lattice that means over many fields go along")
LOSS = Array("loss", (), "the mean loss of an example")


@dataclass(frozen=True)
class SolverArrays:
    """The arrays of the modules of a rule: those of plain descent, followed by its own.

    Attributes:
        fields: The moments that means of activations depend on, and output weights.
        numbers: The numbers of the rule, on which means may depend too.
        state: The arrays of the state, as packed.
        parameters: The arrays of parameters, as packed.
        sums: Further covariances and products of vectors, computed from the state.
    """

    fields: tuple[Array, ...]
    numbers: tuple[Array, ...]
    state: Vector
    parameters: Vector
    sums: tuple[Array, ...] = ()

    def needed(self, *values: sp.Expr) -> tuple[Array, ...]:
        """Return the numbers of the rule and the sums of its state that occur in expressions."""
        names = {str(symbol) for value in values for symbol in value.free_symbols}
        return tuple(array for array in (*self.sums, *self.numbers) if array.name in names)


def array_of_families(element: sp.Indexed) -> Array:
    """Return the array of covariances, products or overlaps of two families of vectors."""
    first, second = s.families_of(element.base)
    kind = str(element.base.label).split("_")[0]
    axes = tuple("M" if family == "B" else "K" for family in (first, second))
    words = {
        "covariance": "covariance of the fields of",
        "product": "products over the input dimension of",
        "overlap": "overlaps per eigenvalue of",
    }
    return Array(
        str(element.base.label),
        (*axes, "L") if kind == "overlap" else axes,
        f"{words[kind]} vectors {first} and {second}",
        first == second,
        rf"{'C' if kind == 'covariance' else 'O'}^{{{first}{second}}}",
    )


def arrays_of(rule: LearningRule = PLAIN) -> SolverArrays:
    """Return the arrays of the modules of a rule and how they are packed."""
    biases: tuple[Array, ...] = ()
    if rule.biases:
        biases = (B_STATE if rule.trained_biases else B_STUDENT, B_TEACHER)
    numbers = (
        *((LABEL_FLIP,) if rule.flips else ()),
        *((KEEP, EVALUATION_SCALE) if rule.dropout else ()),
        *((INPUT_NOISE,) if rule.input_noise else ()),
        *((BIAS_RATE,) if rule.trained_biases else ()),
        *((UPDATE_NOISE,) if rule.update_noise else ()),
        *((MOMENTUM_RATE,) if rule.momentum else ()),
        *(_number(name, "of the rule") for name in rule.stated),
    )
    stated: tuple[Array, ...] = ()
    sums: tuple[Array, ...] = ()
    if rule.stated:  # imported here: arrays of other rules are known without deriving equations
        from symderiv.learning.derivation.rule_equations import equations_of

        equations = equations_of(rule)
        sums = tuple(array_of_families(name) for name, _ in equations.sums)
        known = {each.name for each in (*STATE.fields, *MOMENTUM)}
        held = [element for element in equations.overlaps if str(element.base.label) not in known]
        stated = tuple(array_of_families(element) for element in held)
    in_state = tuple(array for array in biases if array == B_STATE)
    constant = tuple(array for array in biases if array != B_STATE)
    if rule.batches:
        constant += (BATCH_RATIO,)
    velocities: tuple[Array, ...] = ()
    if rule.momentum:
        velocities = (*MOMENTUM, V_VELOCITY, *((B_VELOCITY,) if rule.trained_biases else ()))
    return SolverArrays(
        fields=(*FIELDS, *biases),
        numbers=numbers,
        state=Vector("state", (*STATE.fields, *in_state, *velocities, *stated)),
        parameters=Vector("parameters", (*PARAMETERS.fields, *numbers, *constant)),
        sums=sums,
    )
