"""The form of a statement's step: one compiled text, and the meaning of its numbers.

Statements write their steps out for every unit. The form has them once for each family of
exchangeable units, with loops, so that it serves all numbers of units. It contains no SymPy objects
and can be cached.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy as sp
from symderiv_codegen import Array, Assignment, Procedure, Program, Vector, print_fast

from symderiv.experiment.steps.alike_units import NotAlikeError, Place, Unit, Units, labels_of
from symderiv.experiment.steps.step_program import CHANGES, StepBlock, StepForm, StepProgram
from symderiv.numerics import GAUSSIAN
from symderiv.statement.indicators import after_jumps
from symderiv.statement.register import Field, Latent, LearningTime, Overlap
from symderiv.statement.stated_problem import StatedStep, Statement, Update, changes_of
from symderiv.statement.vector_expressions import FreshInput

_NUMBERED = re.compile(r"(.*[^0-9])([1-9][0-9]*)")

# Kinds of values in the order of the loop's arguments.
_VALUES = ("field", "overlap", "scalar", "latent", "given", "parameter")
_TIME = ("number", "alpha")

Name = tuple[str, Unit | None]
"""The name of a vector, input or number, with # in place of its unit's number, and the unit."""


_Steps = list[tuple[Array, Assignment]]


def program_of(
    statement: Statement, given: Sequence[sp.Symbol] = (), remembered: bool = False
) -> StepProgram:
    """Return the compiled step of a statement; arguments as ``form_of``."""
    form = form_of(statement, given, remembered)
    return StepProgram(form, form.counts)


def form_of(
    statement: Statement, given: Sequence[sp.Symbol] = (), remembered: bool = False
) -> StepForm:
    """Return the form of the step of a statement.

    Units that are not treated alike are written out.

    Args:
        statement: The statement; no derived equation is used.
        given: Symbols (fields, parameters, averages) whose values are drawn with every example.
        remembered: Whether gradient steps and noise go through velocities that decay; see ``Pace``.
    """
    apart: set[str] = set()
    while True:
        try:
            return _Reading(statement, given, remembered, apart).form()
        except NotAlikeError as error:
            apart.add(error.letter)


@dataclass(frozen=True)
class _Group:
    """Changes of one kind that differ by their units.

    Args:
        kind: One of ``CHANGES``.
        block: The block of numbers that they change.
        members: The members by units, in the order of the axes.
    """

    kind: str
    block: StepBlock
    members: dict[tuple[Unit, ...], sp.Expr] = field(default_factory=dict)


class _Reading:
    """The families of units in a statement, and its changes by family.

    Args:
        statement, given, remembered: See ``form_of``.
        apart: Letters of families whose units are written out.
    """

    def __init__(
        self,
        statement: Statement,
        given: Sequence[sp.Symbol],
        remembered: bool,
        apart: Iterable[str],
    ) -> None:
        self.statement, self.given, self.remembered = statement, given, remembered
        self.counts: dict[str, int] = {}
        self._apart = set(apart)
        symbols = statement.symbols
        self.latent_symbols = sorted(symbols.of(Latent), key=str)
        self.vectors = self._named(v.name for v in statement.vectors)
        self.atoms = self._named(a.name for each in statement.inputs for a in each.atoms)
        self._numbers: dict[str, Name] = {}
        for group in (symbols.scalars, self.latent_symbols, symbols.parameters):
            self._numbers |= self._named(map(str, group))
        # fields of an episode's example are represented by those of its copies
        inner = {s for s, f in symbols.of(Field).items() if f.input.name not in self.atoms}
        known = {*symbols.meaning, *symbols.scalars, *symbols.parameters} - inner
        self.units = Units(self.counts, {symbol: self.place(symbol) for symbol in known})

    def _named(self, names: Iterable[str]) -> dict[str, Name]:
        """Return names as members of families, numbered 1 to n, or as single names."""
        parts = {name: _NUMBERED.fullmatch(name) for name in names}
        numbers: dict[str, list[int]] = {}
        for each in filter(None, parts.values()):
            numbers.setdefault(each[1], []).append(int(each[2]))
        by_name: dict[str, Name] = {}
        for name, match in parts.items():
            by_name[name] = name, None
            own = sorted(numbers[match[1]]) if match else []
            letter = f"U{len(own)}"
            if len(own) > 1 and own == [*range(1, len(own) + 1)] and letter not in self._apart:
                assert match is not None
                self.counts[letter] = len(own)
                by_name[name] = f"{match[1]}#", (letter, int(match[2]))
        return by_name

    def place(self, symbol: sp.Symbol) -> Place:
        """Return the number that a symbol stands for."""
        meaning = self.statement.symbols.meaning.get(symbol)
        if isinstance(meaning, Field):
            # inputs first, so that fields of one input are contiguous
            names = [self.atoms[meaning.input.name], self.vectors[meaning.vector.name]]
            return Place(("field", *(n for n, _ in names)), _units(names))
        if isinstance(meaning, Overlap):
            names = [self.vectors[v.name] for v in (meaning.first, meaning.second)]
            same = names[0][0] == names[1][0]
            return Place(("overlap", *(n for n, _ in names)), _units(names), same)
        names = [self._numbers.get(str(symbol), (str(symbol), None))]
        return Place(("number", names[0][0]), _units(names))

    def form(self) -> StepForm:
        """Return the form of the step.

        Raises:
            NotAlikeError: Units of a letter are not exchangeable.
        """
        groups = self._groups()
        text = _Text(self, [(group, self.units.formula(group.members)) for group in groups])
        laws = {str(s): _law(each) for s, each in self.statement.symbols.of(Latent).items()}
        latents = {str(s): self._numbers[str(s)] for s in self.latent_symbols}
        return StepForm(
            text=print_fast(text.program()),
            letters=text.letters,
            counts=self.counts,
            vectors=self._vectors(),
            atoms=self._atoms(),
            correlations=tuple(
                (each.atoms[0].name, np.array(each.correlation, dtype=float))
                for each in self.statement.inputs
                if each.correlation is not None
            ),
            values=text.blocks,
            laws={block: self._same(latents, block, laws) for block in text.blocks["latent"]},
            changes={kind: tuple(g.block for g in groups if g.kind == kind) for kind in CHANGES},
            remembered=self.remembered,
        )

    def _groups(self) -> list[_Group]:
        """Return the changes of a step by kind, with the forces of each input together."""
        forces, drifts, pushes, targets = _changes(self.statement, self.remembered)
        order = {name: n for n, name in enumerate(self.atoms)}
        forces.sort(key=lambda each: order[each[1]])
        groups: dict[tuple[str, StepBlock], _Group] = {}

        def add(kind: str, names: Sequence[Name], change: sp.Expr) -> None:
            units = tuple(dict.fromkeys(_units(names)))
            block = StepBlock(tuple(n for n, _ in names), tuple(letter for letter, _ in units))
            groups.setdefault((kind, block), _Group(kind, block)).members[units] = change

        for vector, atom, force in forces:
            add("force", (self.atoms[atom], self.vectors[vector]), force)
        for vector, other, rate in drifts:
            add("drift", (self.vectors[vector], self.vectors[other]), rate)
        for vector, other, rate in pushes:
            add("push", (self.vectors[vector], self.vectors[other]), rate)
        for scalar, direct, change in targets:
            add("direct" if direct else "scalar", (self._numbers[scalar],), change)
        return sorted(groups.values(), key=lambda group: CHANGES.index(group.kind))

    def _same(self, names: Mapping[str, Name], block: StepBlock, values: Mapping[str, Any]) -> Any:
        """Return the common value of all members of a family."""
        own = [values[name] for name, (stem, _) in names.items() if stem == block.parts[0]]
        if any(each != own[0] for each in own):
            raise NotAlikeError(block.shape[0])
        return own[0]

    def _families(self, names: Mapping[str, Name]) -> list[StepBlock]:
        """Return families and single names as blocks, in order."""
        return list(dict.fromkeys(StepBlock((s,), (u[0],) if u else ()) for s, u in names.values()))

    def _vectors(self) -> tuple[tuple[StepBlock, str, bool, int], ...]:
        constraint = {
            v.name: -1 if each.kind == "sphere" else number
            for number, each in enumerate(self.statement.constraints, start=1)
            for v in each.vectors
        }
        known = {
            v.name: (v.family, v.fixed, constraint.get(v.name, 0)) for v in self.statement.vectors
        }
        blocks = self._families(self.vectors)
        return tuple((block, *self._same(self.vectors, block, known)) for block in blocks)

    def _atoms(self) -> tuple[tuple[StepBlock, str, bool], ...]:
        once = {atom.name for atom in _once_in_a_step(self.statement)}
        known = {
            a.name: ("" if a.name == each.name else each.name, a.name in once)
            for each in self.statement.inputs
            for a in each.atoms
        }
        blocks = self._families(self.atoms)
        return tuple((block, *self._same(self.atoms, block, known)) for block in blocks)


class _Text:
    """The program of the changes of a step, with the blocks of its values in order.

    Args:
        reading: The reading of the statement that expressions come from.
        formulas: Groups of changes with their formulas.
    """

    def __init__(self, reading: _Reading, formulas: list[tuple[_Group, sp.Expr]]) -> None:
        self.reading, self.units, self.formulas = reading, reading.units, formulas
        written = [*(f for _, f in formulas), *(total.body for total in self.units.totals)]
        used = set().union(*(each.free_symbols for each in written))
        places = [self.units.place[symbol] for symbol in used]
        self._used = {place.array for place in places}
        # all other arrays with two units of one letter need only the diagonal
        self._wide = {p.array for p in places if len(set(p.units)) > 1}
        self.blocks, self._arrays = self._values()
        blocks = [
            *(b for each in self.blocks.values() for b in each),
            *(g.block for g, _ in formulas),
        ]
        self.letters = tuple(sorted({letter for block in blocks for letter in block.shape}))

    def _values(self) -> tuple[dict[str, tuple[StepBlock, ...]], dict[tuple[str, ...], Array]]:
        """Return the blocks of values by kind, and arrays by the quantities that they hold."""
        reading = self.reading
        symbols = reading.statement.symbols
        wanted: dict[str, Iterable[sp.Symbol]] = {
            "given": reading.given,
            "field": [s for s in symbols.of(Field) if s in self.units.place],
            "overlap": sorted(symbols.of(Overlap), key=str),
            "scalar": symbols.scalars,
            "latent": reading.latent_symbols,
            "parameter": symbols.parameters,
        }
        blocks: dict[str, dict[tuple[str, ...], StepBlock]] = {}
        for kind, own in wanted.items():
            blocks[kind] = {}
            for place in map(reading.place, own):
                known = place.array in blocks["given"] and kind != "given"
                if not known and (kind in ("given", "scalar") or place.array in self._used):
                    blocks[kind][place.array] = StepBlock(place.array[1:], self._shape(place))
        atoms = [name for name, _ in reading.atoms.values()]
        fields = sorted(blocks["field"].items(), key=lambda each: atoms.index(each[0][1]))
        blocks["field"] = dict(fields)
        ordered = [each for kind in _VALUES for each in blocks[kind].items()]
        arrays = {a: Array(f"a{n}", block.shape) for n, (a, block) in enumerate(ordered)}
        arrays[_TIME] = Array("now")
        return {kind: tuple(blocks[kind].values()) for kind in _VALUES}, arrays

    def _shape(self, place: Place) -> tuple[str, ...]:
        letters = tuple(letter for letter, _ in place.units)
        apart = len(set(letters)) > 1 or place.array in self._wide
        return letters if apart else tuple(dict.fromkeys(letters))

    def _element(self, name: str, units: Sequence[Unit]) -> sp.Expr:
        """Return an element of an array."""
        if not units:
            return sp.Symbol(name, real=True)
        return sp.IndexedBase(name, real=True)[tuple(map(_index, units))]

    def _written(self, expression: sp.Expr) -> sp.Expr:
        """Return an expression with array elements in place of its symbols."""
        for now in self.reading.statement.symbols.of(LearningTime):
            expression = after_jumps(expression, now)
        places = {}
        for symbol in expression.free_symbols:
            place = self.units.place[symbol]
            array = self._arrays.get(place.array)
            units = place.units if array is None else place.units[: len(array.shape)]
            places[symbol] = self._element(array.name if array else place.array[0], units)
        return expression.xreplace(places)

    def _shared(self) -> tuple[list[tuple[Place, sp.Expr]], list[sp.Expr]]:
        """Return common subexpressions of formulas, and the formulas of changes and sums in terms
        of them.
        """
        formulas = [*(f for _, f in self.formulas), *(t.body for t in self.units.totals)]
        common = [n for n, each in enumerate(formulas) if self._of_one(each)]
        names = sp.numbered_symbols("shared", cls=sp.Dummy, real=True)
        shared, left = sp.cse([formulas[n] for n in common], symbols=names, order="none")
        named: dict[sp.Symbol, sp.Expr] = {}
        parts: list[tuple[Place, sp.Expr]] = []
        for n, (symbol, value) in enumerate(shared):
            value = value.xreplace(named)
            place = Place((f"shared{n}",), tuple(self.units.units(value)))
            if len(place.units) > 1:  # arrays over pairs do not fit on the stack
                named[symbol] = value
                continue
            named[symbol] = self.units.symbol(place)
            parts.append((place, value))
        for n, each in zip(common, left, strict=True):
            formulas[n] = each.xreplace(named)
        return parts, formulas

    def _of_one(self, expression: sp.Expr) -> bool:
        """Return whether an expression has at most one unit of each letter."""
        return all(label == "i" for _, label in self.units.units(expression))

    def _locals(self, shared: list[tuple[Place, sp.Expr]], sums: list[sp.Expr]) -> _Steps:
        """Return arrays of common subexpressions and sums, with their assignments."""
        assigned: _Steps = []
        for place, value in shared:
            array = Array(place.array[0], tuple(letter for letter, _ in place.units))
            target = self._element(array.name, place.units)
            assigned.append((array, Assignment(target, self._written(value))))
        for total, body in zip(self.units.totals, sums, strict=True):
            over, value = _index((total.over, "i")), self._written(body)
            for unit in total.apart:
                value = sp.Piecewise((value, sp.Ne(over, _index(unit))), (0, True))
            array = Array(total.name, tuple(letter for letter, _ in total.others))
            target = self._element(array.name, total.others)
            assigned.append((array, Assignment(target, sp.Sum(value, over))))
        return assigned

    def _outputs(self, formulas: list[sp.Expr]) -> _Steps:
        """Return arrays of changes, with their assignments."""
        assigned: _Steps = []
        for number, ((group, _), value) in enumerate(zip(self.formulas, formulas, strict=True)):
            shape = group.block.shape
            axes = labels_of(tuple((letter, n) for n, letter in enumerate(shape)))
            written = self._written(value)
            if len(set(shape)) < len(shape):
                # changes with twice the same unit are another group
                written = sp.Piecewise((written, sp.Ne(*map(_index, axes))), (0, True))
            array = Array(f"d{number}", shape or ("I",))
            target = self._element(array.name, axes or (("I", "i"),))
            assigned.append((array, Assignment(target, written)))
        return assigned

    def program(self) -> Program:
        """Return the program."""
        shared, formulas = self._shared()
        changes = len(self.formulas)
        steps, last = self._locals(shared, formulas[changes:]), self._outputs(formulas[:changes])
        inputs, outputs = tuple(self._arrays.values()), tuple(array for array, _ in last)
        body = *_ordered([step for _, step in steps]), *(step for _, step in last)
        local = tuple(array for array, _ in steps)
        return Program(
            name="changes",
            title="The changes of one step.",
            recipe={},
            equations=(),
            ranges=("I", *self.letters),
            small=("I", *self.letters),
            functions=(),
            procedures=(
                Procedure("right_hand_side", "The changes.", inputs, outputs, local, body),
            ),
            state=Vector("state", tuple(replace(a, name=f"c{a.name[1:]}") for a in outputs)),
            parameters=Vector("parameters", inputs),
            extension=GAUSSIAN,
        )


def _units(names: Sequence[Name]) -> tuple[Unit, ...]:
    return tuple(unit for _, unit in names if unit is not None)


def _index(unit: Unit) -> sp.Idx:
    letter, label = unit
    return sp.Idx(f"{label}_{letter}", sp.Symbol(letter, integer=True))


def _ordered(steps: Sequence[Assignment]) -> list[Assignment]:
    """Return assignments sorted so that each follows those it reads."""
    left, ordered = {step.name: step for step in steps}, []
    while left:
        for name, step in left.items():
            reads = {str(a.base) for a in step.value.atoms(sp.Indexed)}
            reads |= {str(symbol) for symbol in step.value.free_symbols}
            if not reads & (set(left) - {name}):
                ordered.append(left.pop(name))
                break
    return ordered


def _law(latent: Latent) -> tuple[tuple[float, float], ...]:
    """Return values and probabilities of a latent; empty for a Gaussian one."""
    return tuple((float(value), float(chance)) for value, chance in latent.values)


def _once_in_a_step(statement: Statement) -> set[FreshInput]:
    """Return inputs that a step takes once, whatever the number of its examples.

    If the statement has a batch these are the inputs outside of it, otherwise those of updates.
    """
    if statement.batch_ratio is not None:
        return {a for each in statement.inputs if each.batch_ratio is None for a in each.atoms}
    own: set[FreshInput] = set()
    others: set[FreshInput] = set()
    for line in statement.lines:
        for change in changes_of(line, statement.symbols).values():
            (own if isinstance(line, Update) else others).update(change.inputs)
    return own - others


def _changes(statement: Statement, apart: bool) -> tuple[list[tuple[Any, ...]], ...]:
    """Return forces (vector, input, F), drifts (vector, vector, G), pushes and scalars' changes.

    Pushes are like drifts but act on velocities; changes of scalars are (scalar, whether direct,
    g).

    Args:
        statement: The statement.
        apart: Whether descents act on velocities, as pushes and changes that are not direct;
            updates always act directly.
    """
    step = statement.step()
    forces = [
        (v.name, atom.name, force)
        for v, change in step.vectors.items()
        for atom, force in change.inputs.items()
        if force != 0
    ]
    if not apart:
        targets = [(str(u), False, each.scalar) for u, each in step.scalars.items()]
        return forces, _along_vectors(step), [], targets
    targets, drifts = [], []
    for direct in (False, True):
        lines = tuple(line for line in statement.lines if isinstance(line, Update) == direct)
        own = replace(statement, lines=lines).step()
        targets += [(str(u), direct, each.scalar) for u, each in own.scalars.items()]
        drifts.append(_along_vectors(own))
    pushes, direct_drifts = drifts
    return forces, direct_drifts, pushes, targets


def _along_vectors(step: StatedStep) -> list[tuple[Any, ...]]:
    return [
        (v.name, other.name, rate)
        for v, change in step.vectors.items()
        for other, rate in change.vectors.items()
        if rate != 0
    ]
