"""The solver module of a statement for all numbers of units, in the layout of studies.

Coefficients of drift and noise come from :mod:`symderiv.system.all_sizes`; what is written here is
where they stand: covariances of fields from overlaps, then coefficients, then rates,

    d(w_a·w_b)_k/dα = Σ_e D_ae (w_e·w_b)_k + (a ↔ b) + ρ_k Γ_ab.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import sympy as sp
from symderiv_codegen import (
    Array,
    Assignment,
    Call,
    Procedure,
    Program,
    Vector,
    print_fast,
    print_readable,
)
from symderiv_kernels.layout import LAYOUT

from symderiv.dynamics.rules.stated_module import FIXED, INPUTS, MOVING, kept_name
from symderiv.dynamics.storage.kernels import Kernel, kept_module
from symderiv.learning.lowering import solver_arrays as known
from symderiv.numerics import GAUSSIAN
from symderiv.statement.stated_motion import derived
from symderiv.statement.stated_problem import Statement
from symderiv.statement.vector_expressions import SlowVector
from symderiv.system.all_sizes import AllSizes, index
from symderiv.system.closed_motion import Closed, closed

__all__ = ["FEW", "GeneralModule"]

FEW: Mapping[str, int] = {"K": 4, "M": 2}
"""Students and teachers of the equations that coefficients are read from."""

_I, _J, _P, _Q = (index("K", letter) for letter in "ijpq")
_N, _M = (index("M", letter) for letter in "nm")
_MODE = sp.Idx("k", sp.Symbol("L", integer=True, positive=True))
_OTHER_MODE = sp.Idx("h", sp.Symbol("L", integer=True, positive=True))
_KEPT = {
    (MOVING, MOVING): known.STUDENT_OVERLAP,
    (MOVING, FIXED): known.CROSS_OVERLAP,
    (FIXED, FIXED): known.TEACHER_OVERLAP,
}
_COVARIANCES = {(MOVING, MOVING): known.Q, (MOVING, FIXED): known.R, (FIXED, FIXED): known.T}
_RHO = sp.IndexedBase(known.EIGENVALUE.name)
_WEIGHT = sp.IndexedBase(known.WEIGHT.name)


@dataclass(frozen=True)
class _Coefficient:
    """A coefficient of two units: an array, and what is computed before it."""

    array: Array
    steps: tuple[Assignment, ...]
    locals: tuple[Array, ...]

    def __getitem__(self, indices: tuple[sp.Idx, sp.Idx]) -> sp.Expr:
        if self.diagonal:
            return sp.KroneckerDelta(*indices) * sp.IndexedBase(self.array.name)[indices[0]]
        return sp.IndexedBase(self.array.name)[indices]

    @property
    def diagonal(self) -> bool:
        """Whether only units with themselves have one."""
        return len(self.array.shape) == 1


@dataclass(frozen=True)
class GeneralModule:
    """Writes the program of a statement that treats the units of each family alike.

    Args:
        statement: For :data:`FEW` units.
        numbers: Arrays of the parameters behind those of plain descent, in order.
    """

    statement: Statement
    numbers: tuple[Array, ...]
    general: ClassVar[bool] = True

    @cached_property
    def closed(self) -> Closed:
        """The equations of the first units of each family, from which all others follow."""
        equations = derived(self.statement)
        first = {v for members in self.statement.families.values() for v in members[:1]}
        two = {v for members in self.statement.families.values() for v in members[:2]}
        drift = {
            a: {key: rate for key, rate in rates.items() if key[1] in two}
            for a, rates in equations.drift.items()
            if a in first
        }
        noise = {
            (a, b): rates for (a, b), rates in equations.noise.items() if a in first and b in two
        }
        firsts = {members[0] for members in self.statement.scalars.values()}
        scalars = {u: rate for u, rate in equations.scalars.items() if u in firsts}
        return closed(replace(equations, drift=drift, noise=noise, scalars=scalars))

    @property
    def moving(self) -> tuple[str, ...]:
        """Names of the families that move."""
        return tuple(name for name in self.statement.families if name != FIXED)

    @property
    def further(self) -> tuple[tuple[str, str], ...]:
        """Pairs of families whose overlaps are order parameters beyond those of plain descent."""
        pairs = [(a, b) for n, a in enumerate(self.moving) for b in self.moving[n:]]
        pairs += [(a, FIXED) for a in self.moving]
        return tuple(pair for pair in pairs if pair not in _KEPT)

    # arrays

    def kept(self, pair: tuple[str, str]) -> Array:
        """Return the array of the overlaps of two families per eigenvalue."""
        if pair in _KEPT:
            return _KEPT[pair]
        a, b = pair
        shape = ("K", "M" if b == FIXED else "K", "L")
        return Array(kept_name(pair), shape, f"overlaps of {a} and {b} per eigenvalue", a == b)

    def covariance(self, pair: tuple[str, str]) -> Array:
        """Return the array of the covariances of the fields of two families."""
        if pair in _COVARIANCES:
            return _COVARIANCES[pair]
        a, b = pair
        shape = ("K", "M" if b == FIXED else "K")
        return Array(f"covariance_{a}_{b}", shape, f"covariances of fields of {a} and {b}", a == b)

    def plain(self, pair: tuple[str, str]) -> Array:
        """Return the array of the overlaps of two families over all eigenvalues."""
        array = self.covariance(pair)
        return replace(
            array, name=f"overlap_of_{pair[0]}_{pair[1]}", doc="overlaps over all inputs"
        )

    def scalar(self, name: str) -> Array:
        """Return the array of slow scalars."""
        return known.V if name == "v" else Array(name, ("K",), f"slow scalars {name}")

    @cached_property
    def state(self) -> Vector:
        """The unknowns."""
        further = tuple(self.kept(pair) for pair in self.further)
        slow = tuple(self.scalar(name) for name in self.statement.scalars if name != "v")
        return Vector("state", (*known.STATE.fields, *further, *slow))

    @cached_property
    def parameters(self) -> Vector:
        """The constants."""
        return Vector("parameters", (*known.PARAMETERS.fields, *self.numbers))

    @cached_property
    def layout(self) -> dict[str, Any]:
        """The order of sizes and fields, as modules state it."""
        return {
            "sizes": LAYOUT["sizes"],
            **{
                vector.name: {field.name: field.shape for field in vector.fields}
                for vector in (self.state, self.parameters)
            },
        }

    # expressions

    @cached_property
    def _names(self) -> dict[str, str]:
        """The names of arrays in modules by those of coefficients."""
        pairs = [
            tuple(pair)
            for n, a in enumerate(self.statement.families)
            for pair in ((a, b) for b in list(self.statement.families)[n:])
        ]
        found = {"c": known.V_TEACHER.name}
        for first, second in pairs:
            pair = self._ordered(first, second)
            found[f"c__{INPUTS}__{first}__{second}"] = self.covariance(pair).name
            found[f"o__{first}__{second}"] = self.plain(pair).name
        return found

    def _ordered(self, first: str, second: str) -> tuple[str, str]:
        """Return two families, teachers behind."""
        return (second, first) if first == FIXED else (first, second)

    def _named(self, expression: sp.Expr) -> sp.Expr:
        """Return a coefficient in the arrays of the module."""
        replaced: dict[sp.Expr, sp.Expr] = {}
        for element in expression.atoms(sp.Indexed):
            label = str(element.base.label)
            name = self._names.get(label, label)
            indices = element.indices
            if label.split("__")[-2:-1] == [FIXED] and not label.endswith(f"__{FIXED}"):
                indices = tuple(reversed(indices))
            replaced[element] = sp.IndexedBase(name)[indices]
        found = expression.xreplace(replaced)
        traces = {s: self._trace(s) for s in found.free_symbols if str(s).startswith("trace__")}
        return found.xreplace(traces)

    def _trace(self, symbol: sp.Symbol) -> sp.Expr:
        return sp.Sum(_WEIGHT[_OTHER_MODE] * _RHO[_OTHER_MODE], _OTHER_MODE)

    def overlap(self, a: str, b: str, i: sp.Idx, j: sp.Idx) -> sp.Expr:
        """Return the overlap of two vectors in an eigenspace; teachers are kept as ρ_k B."""
        first, second = self._ordered(a, b)
        places = (j, i) if (first, second) != (a, b) else (i, j)
        if (first, second) not in self._kept_pairs:
            first, second, places = second, first, (places[1], places[0])
        element = sp.IndexedBase(self.kept((first, second)).name)[(*places, _MODE)]
        return element / _RHO[_MODE] ** int((first == FIXED) + (second == FIXED))

    @cached_property
    def _kept_pairs(self) -> set[tuple[str, str]]:
        return {*_KEPT, *self.further}

    # coefficients

    @cached_property
    def lifting(self) -> AllSizes:
        """What reads coefficients off."""
        return AllSizes(self.closed, FEW)

    def _pair(
        self, name: str, a: str, e: str, value: Mapping[int, sp.Expr], symmetric: bool
    ) -> _Coefficient | None:
        """Return the coefficient of units of two families from its values at the first units.

        Args:
            name: Of the array.
            a, e: The families.
            value: By the number of the unit of the second; of teachers the first only.
            symmetric: Whether it may be symmetric.
        """
        if all(each == 0 for each in value.values()):
            return None
        if e == FIXED:
            formula = self._named(self.lifting.lifted(value[0], [("K", 0), ("M", 0)]))
            array = Array(name, ("K", "M"))
            target = sp.IndexedBase(name)[_I, _N]
            return _Coefficient(array, (Assignment(target, formula),), (array,))
        different, same, even = self.lifting.pair(value[1], value[0], [("K", 0), ("K", 1)])
        array = Array(name, ("K", "K"), "", symmetric and even)
        if different == 0:
            alone = Array(name, ("K",))
            target = sp.IndexedBase(name)[_I]
            return _Coefficient(alone, (Assignment(target, self._named(same)),), (alone,))
        steps, arrays = [], [array]
        diagonal = sp.S.Zero
        if same != 0:
            own = Array(f"{name}_diagonal", ("K",))
            element = sp.IndexedBase(own.name)[_I]
            steps.append(Assignment(element, self._named(same)))
            arrays.append(own)
            diagonal = sp.KroneckerDelta(_I, _J) * element
        target = sp.IndexedBase(name)[_I, _J]
        total = self._named(different) + diagonal
        steps.append(Assignment(target, total, symmetric=array.symmetric))
        return _Coefficient(array, tuple(steps), tuple(arrays))

    @cached_property
    def drift(self) -> dict[tuple[str, str, bool], _Coefficient]:
        """The drift of a family along another, times ρ_k or not."""
        found = {}
        for a in self.moving:
            rates = self.closed.drift.get(self.statement.families[a][0], {})
            for e, members in self.statement.families.items():
                for scaled in (True, False):
                    value = {
                        n: sp.Add(
                            *(
                                rate
                                for (inputs, vector), rate in rates.items()
                                if vector is member and (inputs == INPUTS) == scaled
                            )
                        )
                        for n, member in enumerate(members[:2])
                    }
                    name = f"drift_{a}_{e}" + ("" if scaled else "_of_all")
                    coefficient = self._pair(name, a, e, value, a == e)
                    if coefficient is not None:
                        found[a, e, scaled] = coefficient
        return found

    @cached_property
    def noise(self) -> dict[tuple[str, str, bool], _Coefficient]:
        """The noise of two families, times ρ_k or not."""
        found = {}
        for n, a in enumerate(self.moving):
            for b in self.moving[n:]:
                for scaled in (True, False):
                    first, members = self.statement.families[a][0], self.statement.families[b][:2]
                    value = {
                        n: sp.Add(
                            *(
                                rate
                                for inputs, rate in self._noise_of(first, member).items()
                                if (inputs == INPUTS) == scaled
                            )
                        )
                        for n, member in enumerate(members)
                    }
                    name = f"noise_{a}_{b}" + ("" if scaled else "_of_all")
                    coefficient = self._pair(name, a, b, value, a == b)
                    if coefficient is not None:
                        found[a, b, scaled] = coefficient
        return found

    def _noise_of(self, a: SlowVector, b: SlowVector) -> Mapping[str, sp.Expr]:
        noise = self.closed.noise
        return noise.get((a, b)) or noise.get((b, a)) or {}

    def texts_of(self, name: str) -> tuple[str, str]:
        """Return the readable and the fast module under a name."""
        program = self.program(name)
        return print_readable(program), print_fast(program)

    @cached_property
    def _kernel(self) -> Kernel:
        texts = self.texts_of("stated")
        readable, fast = map(kept_module, texts)
        digests = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        path = Path(str(readable.__file__))
        return Kernel(readable, path, digests[0], "", "", False, fast, digests[1])

    def kernel(self, student: str, teacher: str) -> Kernel:
        """Return the modules as those of studies are loaded."""
        return replace(self._kernel, student_activation=student, teacher_activation=teacher)

    # procedures

    def program(self, name: str = "stated") -> Program:
        """Return the program."""
        procedures = self._procedures()
        return Program(
            name=name,
            title="Order parameters of a stated learning rule, for all numbers of units.",
            recipe={},
            equations=(),
            ranges=known.RANGES,
            functions=self.closed.means.all_functions,
            procedures=procedures,
            state=self.state,
            parameters=self.parameters,
            small=("K", "M"),
            written_out=("drift", "noise"),
            extension=GAUSSIAN,
            mostly_zero=("weight_decay",),
        )

    def _used(self, *expressions: sp.Expr) -> tuple[Array, ...]:
        """Return the arrays and numbers that occur in expressions."""
        labels = {str(e.base.label) for each in expressions for e in each.atoms(sp.Indexed)}
        labels |= {str(s) for each in expressions for s in each.free_symbols}
        pairs = [*_COVARIANCES, *self.further]
        arrays = [self.covariance(pair) for pair in pairs]
        arrays += [self.plain(pair) for pair in pairs]
        arrays += [*self.state.fields, *self.parameters.fields]
        return tuple(each for each in dict.fromkeys(arrays) if each.name in labels)

    def _sums(self, arrays: Sequence[Array]) -> Iterator[Assignment]:
        """Yield the covariances and overlaps among arrays from the overlaps per eigenvalue."""
        for pair in (*_COVARIANCES, *self.further):
            a, b = pair
            i, j = _I, _N if b == FIXED else _J
            each = sp.IndexedBase(self.kept(pair).name)
            if a == FIXED:
                i, j = _N, _M
            power = (a == FIXED) + (b == FIXED)
            for array, scale in ((self.covariance(pair), 1), (self.plain(pair), 0)):
                if array not in arrays or array == known.T:
                    continue
                value = _WEIGHT[_OTHER_MODE] * each[i, j, _OTHER_MODE]
                value *= _RHO[_OTHER_MODE] ** (scale - power)
                yield Assignment(
                    sp.IndexedBase(array.name)[i, j],
                    sp.Sum(value, _OTHER_MODE),
                    symmetric=array.symmetric,
                )

    def _procedures(self) -> tuple[Procedure, ...]:
        error = self._named(self.lifting.lifted(self.closed.observables["error"], []))
        given = self._used(error)
        generalization = Procedure(
            "generalization_error",
            "Mean of (student - teacher)**2 / 2 over the inputs, without label noise.",
            given,
            (known.ERROR,),
            (),
            (Assignment(sp.Symbol(known.ERROR.name), error),),
        )
        sums = tuple(self._sums((known.Q, known.R)))
        covariances = Procedure(
            "order_parameters",
            "Covariances of the fields from the overlaps per eigenvalue.",
            (known.STUDENT_OVERLAP, known.CROSS_OVERLAP, known.EIGENVALUE, known.WEIGHT),
            (known.Q, known.R),
            (),
            sums,
        )
        overlaps = tuple(dict.fromkeys((*covariances.inputs, *given)))
        observed = tuple(array for array in overlaps if array not in (known.Q, known.R))
        observables = Procedure(
            "observables",
            "Covariances of the fields and, returned, the generalisation error of a state.",
            observed,
            (known.Q, known.R, known.ERROR),
            (),
            (_call(covariances), _call(generalization)),
        )
        stages = tuple(stage for stage, _ in self._stages)
        return generalization, covariances, observables, *stages, self._right_hand_side()

    def _stage(self, name: str, doc: str, coefficients: Iterable[_Coefficient]) -> Procedure:
        """Return a procedure that computes coefficients."""
        body = [step for each in coefficients for step in each.steps]
        held = [array for each in coefficients for array in each.locals]
        outputs = [each.array for each in coefficients]
        return Procedure(
            name,
            doc,
            self._used(*(step.value for step in body)),
            tuple(outputs),
            tuple(array for array in held if array not in outputs),
            tuple(body),
        )

    @cached_property
    def _stages(self) -> tuple[tuple[Procedure, sp.Basic | None], ...]:
        """The procedures that compute coefficients, and when they are needed."""
        found: list[tuple[Procedure, sp.Basic | None]] = []
        if self.drift:
            text = "Mean motion of vectors along others."
            drift = self._stage("drift", text, self.drift.values())
            found.append((drift, None))
        if self.noise:
            text = "Mean products of the changes of two vectors in a step."
            noise = self._stage("noise", text, self.noise.values())
            found.append((noise, sp.Ne(sp.Symbol("full_order", real=True), 0)))
        for assignment in self._scalar_rates():
            array = next(a for a in self._outputs if a.name == assignment.name)
            stage = Procedure(
                f"{assignment.name}_rates",
                "Mean motion of slow scalars.",
                self._used(assignment.value),
                (array,),
                (),
                (assignment,),
            )
            found.append((stage, _when(assignment.value, self.parameters)))
        return tuple(found)

    @cached_property
    def _outputs(self) -> tuple[Array, ...]:
        return tuple(
            Array(f"d_{field.name}", field.shape, "time derivative", field.symmetric)
            for field in self.state.fields
        )

    def _right_hand_side(self) -> Procedure:
        rates = list(self._overlap_rates())
        stages = self._stages
        used = dict.fromkeys(array for stage, _ in stages for array in stage.inputs)
        used |= dict.fromkeys(self._used(*(rate.value for rate in rates)))
        before = list(self._sums(tuple(used)))
        sums = {str(step.target.base.label) for step in before}
        made = [a for stage, _ in stages for a in stage.outputs if a not in self._outputs]
        return Procedure(
            "right_hand_side",
            "Time derivatives of a state; time is examples over input dimension.",
            tuple(each for each in (*self.state.fields, *self.parameters.fields)),
            self._outputs,
            (*(array for array in used if array.name in sums), *made),
            (*before, *(_call(stage, when) for stage, when in stages), *rates),
        )

    def _overlap_rates(self) -> Iterator[Assignment]:
        for pair in ((MOVING, MOVING), (MOVING, FIXED), *self.further):
            a, b = pair
            i, j = _I, _N if b == FIXED else _J
            factor = _RHO[_MODE] if b == FIXED else sp.S.One
            total = self._along(a, b, i, j, factor)
            if b != FIXED:
                total += self._along(b, a, j, i, factor)
                for scaled in (True, False):
                    found = self.noise.get((a, b, scaled))
                    if found is not None:
                        full = sp.Symbol("full_order", real=True)
                        total += full * found[i, j] * (_RHO[_MODE] if scaled else 1)
            array = self.kept(pair)
            target = sp.IndexedBase(f"d_{array.name}")[i, j, _MODE]
            yield Assignment(target, total, symmetric=array.symmetric)

    def _along(self, a: str, b: str, i: sp.Idx, j: sp.Idx, factor: sp.Expr) -> sp.Expr:
        """Return Σ_e D_ae (w_e·w_b)_k times a factor."""
        total = sp.S.Zero
        for (moving, e, scaled), coefficient in self.drift.items():
            if moving != a:
                continue
            if coefficient.diagonal:
                own = sp.IndexedBase(coefficient.array.name)[i]
                scale = _RHO[_MODE] if scaled else sp.S.One
                total += sp.expand(own * self.overlap(e, b, i, j) * scale * factor)
                continue
            p = _M if e == FIXED else _P
            overlap = self.overlap(e, b, p, j) * (_RHO[_MODE] if scaled else 1)
            total += sp.Sum(sp.expand(coefficient[i, p] * overlap * factor), p)
        return total

    def _scalar_rates(self) -> Iterator[Assignment]:
        for name, members in self.statement.scalars.items():
            rate = self.closed.scalars.get(members[0], sp.S.Zero)
            formula = self._named(self.lifting.lifted(rate, [("K", 0)]))
            yield Assignment(sp.IndexedBase(f"d_{self.scalar(name).name}")[_I], formula)


def _call(procedure: Procedure, when: sp.Basic | None = None) -> Call:
    names = tuple(a.name for a in (*procedure.inputs, *procedure.outputs))
    return Call(procedure.name, names, when=when)


def _when(rate: sp.Expr, parameters: Vector) -> sp.Basic | None:
    """Return when a rate may differ from zero, None for always."""
    numbers = {field.name for field in parameters.fields if not field.shape}
    needed = set()
    for term in sp.Add.make_args(sp.expand(rate)):
        factors = [f.as_base_exp()[0] for f in sp.Mul.make_args(term)]
        found = [f for f in factors if isinstance(f, sp.Symbol) and f.name in numbers]
        if not found:
            return None
        needed.add(sp.Ne(found[0], 0))
    return sp.Or(*needed)
