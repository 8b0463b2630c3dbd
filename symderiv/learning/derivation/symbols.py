r"""Symbols of all quantities in the learning equations.

Index letters: ``i, j, p, q, u`` students (range K), ``n, m, o`` teachers (range M), ``k`` distinct
eigenvalues of the input covariance (range L), ``a`` coordinates inside the eigenspace of one
eigenvalue (n_k of them), ``c, d`` components of the data (range C), ``l`` powers of the covariance.
Indices start at 0, as in the generated code.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import sympy as sp

from symderiv.foundation import packing
from symderiv.statement.stated_motion import Average as Average

K, M, L, N, C = sp.symbols("K M L N C", integer=True, positive=True)

STUDENTS = tuple(sp.Idx(name, K) for name in ("i", "j", "p", "q", "u"))
TEACHERS = tuple(sp.Idx(name, M) for name in ("n", "m", "o"))
MODES = tuple(sp.Idx(name, L) for name in ("k", "h"))
COMPONENTS = tuple(sp.Idx(name, C) for name in ("c", "d"))
COORDINATES = tuple(sp.Symbol(name, integer=True, positive=True) for name in ("a", "b"))
# Pools are listed in the order of sums, outermost first (coordinates depend on their mode).
ORDERS = (sp.Idx("l", L),)
POOLS: tuple[tuple[Any, ...], ...] = (
    COMPONENTS,
    MODES,
    ORDERS,
    STUDENTS,
    TEACHERS,
    COORDINATES,
)

i, j, p, q, u = STUDENTS
n, m, o = TEACHERS
k, h = MODES
c, d = COMPONENTS
a, b = COORDINATES
(l,) = ORDERS

# Sums run over p, q and m; free units are i, j and n.
SUMMED = {STUDENTS: (p, q, j, i, u), TEACHERS: (m, n, o)}

eta, eta_v, kappa, kappa_v, sigma = sp.symbols(
    "learning_rate second_layer_learning_rate weight_decay second_layer_weight_decay label_noise",
    real=True,
)
full_order = sp.Symbol("full_order", real=True)
# Numbers of learning rules; see learning_rule.py.
label_flip, keep, evaluation_scale, input_noise = (
    sp.Symbol(name, real=True) for name in ("label_flip", "keep", "evaluation_scale", "input_noise")
)
# The mean sign of a target, and cumulants of a 0/1 mask, of order 2 to 4 (the first is keep).
mean_flip = sp.Symbol("mean_flip", real=True)
kept_cumulants = tuple(sp.Symbol(f"keep_{n}", real=True) for n in (2, 3, 4))
eta_b = sp.Symbol("bias_learning_rate", real=True)
gamma = sp.Symbol("momentum_rate", real=True)
update_noise = sp.Symbol("update_noise", real=True)


def _base(name: str, **assumptions: bool) -> sp.IndexedBase:
    return sp.IndexedBase(sp.Symbol(name, **(assumptions or {"real": True})))


# Microscopic: weights, teacher correlations and input components, all labelled (.., k, a).
J = _base("J")
U = _base("U")
update_zeta = _base("update_zeta")
phi = _base("phi")
xi = _base("xi")
input_epsilon = _base("input_epsilon")
multiplicity = _base("multiplicity", integer=True, positive=True)
# Random fields of one example.
x = _base("x")
y = _base("y")
zeta = sp.Symbol("zeta", real=True)
# A sign of the target, and whether a unit is kept in an example.
flip = sp.Symbol("flip", real=True)
# The sign of the teacher's output, where that is the target.
label = sp.Symbol("label", real=True)
mask = _base("mask")
# Mean of the masks of two units, and the probability that a third is kept if both are.
kept_pair = _base("kept_pair")
third_kept = _base("kept")
x_mode = _base("x_mode")
y_mode = _base("y_mode")
u_mode = _base("u_mode")
xi_square = _base("xi_square")
# Derivatives of the loss by x_i and by v_i.
F = _base("F")
output_force = _base("output_force")
# Any Gaussian field, any function of the example, student minus noisy teacher.
z = sp.Symbol("z", real=True)
f = sp.Symbol("f", real=True)
delta = sp.Symbol("delta", real=True)
# The loss of an example and the generalisation error.
epsilon = sp.Symbol("epsilon", real=True)
epsilon_g = sp.Symbol("generalization_error", real=True)
# Order parameters and their ingredients.
student_overlap = _base("student_overlap")
cross_overlap = _base("cross_overlap")
teacher_overlap = _base("teacher_overlap")
momentum_overlap = _base("momentum_overlap")
momentum_square = _base("momentum_square")
momentum_cross = _base("momentum_cross")
eigenvalue = _base("eigenvalue")
weight = _base("weight")
probability = _base("probability")
Q = _base("Q")
R = _base("R")
T = _base("T")
v = _base("v")
bias = _base("student_biases")
teacher_bias = _base("teacher_biases")
v_teacher = _base("v_teacher")
# Velocities of output weights and biases, N times those in the update.
v_velocity = _base("v_velocity")
b_velocity = _base("b_velocity")
A = _base("A")
B = _base("B")
Gamma = _base("Gamma")
G = _base("G")
H = _base("H")
dv = _base("dv")
db = _base("db")

_RANK = {"U": 0, "J": 1, "B": 3}
_FIELDS = {"J": x, "B": y}


def in_order(first: str, second: str) -> tuple[str, str]:
    """Return two families of vectors in the order in which arrays have their indices.

    The order is: velocities "U", students "J", families that a rule adds, teachers "B".
    """
    one, other = sorted((first, second), key=lambda name: (_RANK.get(name, 2), name))
    return one, other


def field(family: str) -> sp.IndexedBase:
    """Return the array of the fields of a family."""
    return _FIELDS.get(family) or _base(f"x_{family}")


def vector(family: str) -> sp.IndexedBase:
    """Return the array of the coordinates of a moving family."""
    return {"J": J, "U": U}.get(family) or _base(f"w_{family}")


def mode(family: str) -> sp.IndexedBase:
    """Return the array of the fields of a moving family in an eigenspace."""
    return {"J": x_mode, "U": u_mode}.get(family) or _base(f"x_{family}_mode")


def covariance(first: str, second: str) -> sp.IndexedBase:
    """Return the array of the covariances of the fields of two families in order."""
    return _base(packing.COVARIANCES.get((first, second), f"covariance_{first}_{second}"))


def product(first: str, second: str) -> sp.IndexedBase:
    """Return the array of the products w·v/N of two families in order."""
    return _base(f"product_{first}_{second}")


def overlap(first: str, second: str) -> sp.IndexedBase:
    """Return the array of a state that holds overlaps of two families in order."""
    return _base(packing.OVERLAPS.get((first, second), f"overlap_{first}_{second}"))


def drift(family: str, of_all: bool) -> sp.IndexedBase:
    """Return the array of the coefficients by which students drift along a family.

    Args:
        family: The name of the family.
        of_all: Whether the drift is the same along all eigenvectors of the inputs; else ρ_k
            multiplies it.
    """
    return _base(f"drift_{family}_of_all" if of_all else f"drift_{family}")


def gain(family: str) -> sp.IndexedBase:
    """Return the array of an example's coefficients for students' motion along a family."""
    return _base(f"gain_{family}")


@lru_cache(maxsize=1000)
def families_of(base: sp.IndexedBase) -> tuple[str, ...]:
    """Return the families of an array whose last indices count units of two families."""
    return packing.families_of(str(base.label))


RANDOM = frozenset(
    {"xi", "x", "y", "x_mode", "y_mode", "u_mode", "xi_square", "F", "output_force", "mask"}
)


class StudentActivation(sp.Function):  # type: ignore[misc]
    """``StudentActivation(s, x)``: the s-th derivative of the student's activation at x."""

    nargs = 2

    def fdiff(self, argindex: int = 2) -> sp.Expr:
        """Return the next derivative: this is the derivative with respect to the field."""
        if argindex != 2:
            raise sp.ArgumentIndexError(self, argindex)
        return type(self)(self.args[0] + 1, self.args[1])


class TeacherActivation(StudentActivation):
    """The teacher's activation, as :class:`StudentActivation` is the student's."""


class LossSlope(sp.Function):  # type: ignore[misc]
    """``LossSlope(a, b)``: ℓ(s, t) differentiated a times by s and b times by t, at the outputs."""

    nargs = 2


class ComponentAverage(sp.Function):  # type: ignore[misc]
    """``ComponentAverage(f, c)``: mean over an example of component c of the data."""

    nargs = 2


class Partial(sp.Function):  # type: ignore[misc]
    """``Partial(f, x, …)``: a derivative that is not carried out; its order does not matter."""

    @classmethod
    def eval(cls, function: sp.Expr, *variables: sp.Expr) -> sp.Expr | None:
        """Return the variables in one order; a derivative of a derivative is of higher order."""
        if isinstance(function, Partial):
            inner, *earlier = function.args
            return cls(inner, *earlier, *variables)
        ordered = sorted(variables, key=sp.default_sort_key)
        return None if ordered == list(variables) else cls(function, *ordered)


class Change(sp.Function):  # type: ignore[misc]
    """The change of an order parameter in one example."""

    nargs = 1


class Rate(sp.Function):  # type: ignore[misc]
    """The derivative of an order parameter by α, the number of examples over N."""

    nargs = 1


@lru_cache(maxsize=20_000)
def is_random(expression: sp.Basic) -> bool:
    """Return whether the expression depends on the example that is drawn."""
    if expression.has(zeta, flip, label, z, LossSlope):
        return True
    labels = {str(e.base.label) for e in expression.atoms(sp.Indexed)}
    return bool(labels & RANDOM) or any(each.startswith(("x_", "gain_")) for each in labels)
