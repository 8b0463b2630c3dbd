"""The language in which a learning problem is stated."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from symderiv.foundation.errors import InputError, NotClosed, ShapeError
from symderiv.foundation.named_arguments import public_methods
from symderiv.statement.batches import BatchMean, of_one_example
from symderiv.statement.register import Latent, Mean, Symbols
from symderiv.statement.stated_problem import (
    Constraint,
    Descent,
    Inputs,
    StatedChange,
    Statement,
    Update,
)
from symderiv.statement.vector_expressions import (
    Batch,
    Episode,
    ExpressionArray,
    FreshInput,
    InputSequence,
    SlowVector,
    SlowVectors,
    VectorExpression,
    as_expression,
)

_MOST = 64  # limit per name: equations are written out for each member
_KINDS = ("sphere", "orthonormal")
_ORDERS = ("full", "small-learning-rate")


class Scalars(ExpressionArray):
    """An object array of the symbols of slow scalars that can be a key of a statement."""

    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)

    def __eq__(self, other: object) -> Any:
        return np.ndarray.__eq__(self, other)


@public_methods
class Language:
    """All declarations and statements of a learning problem, line by line.

    A few slow vectors of N components and slow scalars move with every fresh example, in
    directions and amounts that depend on it through finitely many fields w·ξ/√N. Every statement
    is checked as it is made.

    Args:
        order: ``"full"``, or ``"small-learning-rate"``: the equations of steps that are many and
            small, without their noise (what is quadratic in the changes of a step).
        most: Vectors, scalars or latents under one name; equations are written out for each, the
            steps of a simulation only once.
    """

    def __init__(self, order: str = "full", most: int = _MOST) -> None:
        self.most = most
        if order not in _ORDERS:
            raise InputError(_unknown(order, _ORDERS), argument="order")
        self.order = order
        self._symbols = Symbols()
        self._inputs: list[Inputs] = []
        self._vectors: list[SlowVector] = []
        self._lines: list[Descent | Update] = []
        self._constraints: list[Constraint] = []
        self._observables: dict[str, sp.Expr] = {}
        self._declared: list[dict[str, Any]] = []

    # declarations

    def inputs(
        self,
        name: str,
        model: Any = None,
        length: int | None = None,
        correlation: Any = None,
        episode: int | Episode | None = None,
        batch_ratio: Any = None,
    ) -> Any:
        """Declare a fresh Gaussian input vector of every step.

        Args:
            name: Its name.
            model: Its law, an input model such as ``sd.Isotropic()`` (the default) or
                ``sd.Spectrum([2, 0.5])``. Models of several inputs share their eigenspaces.
            length: L tokens ``x[0]`` … ``x[L-1]`` instead of one vector.
            correlation: The correlation of the tokens, shape (L, L), symmetric, unit diagonal,
                positive semidefinite; None for independent tokens.
            episode: T independent copies of the input per step; or the example of an episode that
                was declared, of which this is another input.
            batch_ratio: c: a step takes cN fresh copies, over which ``x.mean(…)`` runs, and is N
                times as large: vectors gain √N mean(F ξ) + G w, scalars g, and time counts steps.
                Inputs outside of the batch are drawn once per step and add F ξ.

        Returns:
            A vector; a sequence of tokens; or, with ``episode`` or ``batch_ratio``, an example over
            which ``sum``, ``mean`` and ``all``, or ``mean``, run.

        Raises:
            InputError: A name that is taken, a number out of range, an impossible correlation.
        """
        model = self._law_of(model)
        if length is not None and episode is not None:
            raise InputError(
                "inputs may have a length or an episode, but not both", argument="episode"
            )
        of = episode if isinstance(episode, Episode) else None
        number = len(of.copies) if of is not None else episode
        size = _count(length, "length") or _count(number, "episode")
        matrix = _correlation(correlation, length)
        ratio = self._ratio(batch_ratio, size)
        name = self._symbols.take(name, "inputs")
        atoms = self._atoms(name, size, episode is not None, ratio)
        self._declare(
            "inputs",
            name,
            model=model,
            length=length,
            episode=number if of is None else of.name,
            correlation=matrix,
            batch_ratio=ratio,
        )
        self._inputs.append(Inputs(name, model, atoms, matrix, episode is not None, ratio))
        if size is None:
            return atoms[0]
        if episode is None:
            return InputSequence(name, atoms)
        examples = Episode(self._symbols, name, atoms, of)
        self._symbols.known((examples,))
        return examples

    def _atoms(
        self, name: str, size: int | None, episode: bool, ratio: sp.Expr | None
    ) -> tuple[FreshInput, ...]:
        """Return the inputs of a step: one, or the tokens or copies."""
        atoms: tuple[FreshInput, ...]
        if size is None:
            one = FreshInput(self._symbols, name, 0, None, name)
            atoms = (one if ratio is None else Batch(self._symbols, name),)
        else:
            atoms = tuple(
                FreshInput(self._symbols, name, 0, i, f"{name}{i + 1}")
                if episode
                else FreshInput(self._symbols, name, i, None, f"{name}{i + 1}")
                for i in range(size)
            )
            for atom in atoms:
                self._symbols.take(atom.name, f"inputs of {name}")
        self._symbols.known(atoms)
        return atoms

    def _law_of(self, model: Any) -> Any:
        """Return the input model for a user's argument; here it stays as it is."""
        return model

    def vectors(self, name: str, number: int | None = None, fixed: bool = False) -> Any:
        """Declare slow vectors of N components whose squared norm is of order N.

        Args:
            name: Their name.
            number: K; one vector, not an array, if it is left out.
            fixed: They never move.

        Returns:
            One vector, or an array of K, for ``w @ x``, ``w.dot(B)``, ``s @ v``.
        """
        size = _count(number, "number", self.most)
        name = self._symbols.take(name, "vectors")
        members = tuple(
            SlowVector(self._symbols, name, i, bool(fixed))
            for i in (range(size) if size is not None else (None,))
        )
        if size is not None:
            for member in members:
                self._symbols.take(member.name, f"one of the vectors {name}")
        self._declare("vectors", name, number=size, fixed=bool(fixed))
        self._symbols.declared(members)
        self._vectors += members
        return members[0] if size is None else SlowVectors(members)

    def scalars(self, name: str, number: int | None = None) -> Any:
        """Declare slow scalars u = O(1): a SymPy symbol, or an array of K symbols."""
        size = _count(number, "number", self.most)
        name = self._symbols.take(name, "scalars")
        self._declare("scalars", name, number=size)
        names = [name] if size is None else [f"{name}{i + 1}" for i in range(size)]
        symbols = [sp.Symbol(each, real=True) for each in names]
        for symbol in symbols:
            if size is not None:
                self._symbols.take(symbol.name, f"one of the scalars {name}")
            self._symbols.scalars[symbol] = name
        if size is None:
            return symbols[0]
        return np.array(symbols, dtype=object).view(Scalars)

    def latents(self, name: str, law: Any = "gaussian", number: int | None = None) -> Any:
        """Declare fresh scalars of every step.

        Args:
            name: Their name.
            law: ``"gaussian"`` (mean 0, variance 1), ``"rademacher"`` (±1 with probability ½) or a
                dictionary of values and probabilities that sum to one.
            number: How many independent ones; one symbol if it is left out.

        Returns:
            A SymPy symbol, or an array of symbols.
        """
        size = _count(number, "number", self.most)
        read = _law(law)
        name = self._symbols.take(name, "latents")
        self._declare("latents", name, number=size, law=read)
        names = [name] if size is None else [f"{name}{i + 1}" for i in range(size)]
        if size is not None:
            for each in names:
                self._symbols.take(each, f"one of the latents {name}")
        symbols = [self._symbols.latent(Latent(each, read)) for each in names]
        return symbols[0] if size is None else np.array(symbols, dtype=object)

    def parameter(self, name: str, value: Any = None) -> sp.Symbol:
        """Declare a number that sweeps, sensitivities and protocols can vary.

        Args:
            name: Its name. Equations print ``learning_rate``, ``weight_decay``, ``label_noise`` and
                the other names of learning rules as η, κ, σ, …
            value: Its value if nothing else is said; None if it must be given.
        """
        default = sp.nan if value is None else as_expression(value, f"the value of {name}")
        if default.free_symbols:
            raise InputError(f"the value of {name} must be a number, not {default}")
        symbol = sp.Symbol(self._symbols.take(name, "a parameter"), real=True)
        self._declare("parameter", name, value=None if value is None else default)
        self._symbols.parameters[symbol] = default
        return symbol

    @property
    def alpha(self) -> sp.Symbol:
        """Time α, steps over N, for coefficients that change with it.

        ``sympy.Heaviside(P.alpha - 2)`` and ``sympy.Piecewise((1, P.alpha < 2), (0.1, True))`` are
        1 after, and 1 before, α = 2: steps of ``solve`` end where they jump.
        """
        return self._symbols.time()

    def average(self, expression: Any) -> sp.Symbol:
        """Return the average of an expression over a fresh example, at the state of the time.

        It is a number that moves with the state, for coefficients and learning rates: gradients do
        not go through it.

        Args:
            expression: The expression in fields, overlaps, scalars, latents and parameters; an
                example of an episode or a batch stands for any of them.
        """
        where = f"average {len(self._symbols.of(Mean)) + 1}"
        value = self._symbols.of_one(as_expression(expression, where))
        value = self._symbols.checked(value, where)
        known = len(self._symbols.of(Mean))
        symbol = self._symbols.average(value)
        if len(self._symbols.of(Mean)) > known:
            self._declare("average", symbol.name, value=value)
        return symbol

    # statements

    def descend(
        self, loss: Any, rates: Mapping[Any, Any], velocity: Mapping[Any, Any] | None = None
    ) -> None:
        """State that vectors move by −η times the gradient of a loss, scalars by −(η/N) times.

        Args:
            loss: An expression in fields, overlaps, scalars, latents and parameters.
            rates: For every family, vector or scalar that is trained, its learning rate.
            velocity: The variables that take the step in place of those of the gradient, e.g.
                ``{w: U}``; state with ``update`` how w follows U.

        Raises:
            InputError: A symbol that belongs to nothing, a target that cannot move, a loss without
                any of what it moves.
            NotClosed: The part of order N of the loss depends on what is trained, or it jumps.
        """
        self._descent("descend", loss, rates, 1, velocity)

    def ascend(
        self, loss: Any, rates: Mapping[Any, Any], velocity: Mapping[Any, Any] | None = None
    ) -> None:
        """State that vectors and scalars move along the gradient; arguments as ``descend``."""
        self._descent("ascend", loss, rates, -1, velocity)

    def update(self, changes: Mapping[Any, Any]) -> None:
        """State what a step adds: Δw = F ξ/√N + G B/N for ``w: F * x + G * B``, Δu = g/N.

        Args:
            changes: For every family, vector or scalar that moves, its change.
        """
        where = f"statement {len(self._lines) + 1} (update)"
        read: dict[SlowVector | sp.Symbol, VectorExpression | sp.Expr] = {}
        for target, change in self._targets(changes, where):
            if isinstance(target, SlowVector):
                if isinstance(change, sp.Expr | int) and change == 0:
                    continue
                if not isinstance(change, VectorExpression):
                    as_expression(change, f"{where}: the change of {target.name}")
                    raise InputError(
                        f"{where}: the change of the vector {target.name} must be a vector such as "
                        f"F * x + G * B, not {change}"
                    )
                for atom, factor in change.terms.items():
                    if isinstance(atom, Batch) and factor.replace(BatchMean, _nothing) != 0:
                        raise InputError(
                            f"{where}: {atom.name} is an example of a batch; write "
                            f"{atom.name}.mean(…) of the change"
                        )
                    if isinstance(atom, Episode):
                        raise InputError(
                            f"{where}: {atom.name} is an example of an episode; write "
                            f"{atom.name}.mean(…) or {atom.name}.sum(…) of the change"
                        )
                change = change.map(lambda f: self._stated(f, where))
                read[target] = change
            else:
                value = as_expression(change, f"{where}: the change of {target}")
                read[target] = self._stated(value, where)
        self._add(Update(read))

    def constrain(self, vectors: Any, kind: str, inputs: Any = None) -> None:
        """State that vectors are brought back to a condition after every step.

        Args:
            vectors: A family or a vector that moves.
            kind: ``"sphere"`` (every norm keeps its initial value) or ``"orthonormal"``
                (w_a·w_b = N δ_ab, by W ← (W Wᵀ/N)^(−1/2) W).
            inputs: For a sphere: inputs on which the variances of the fields keep their
                initial values, in place of the norms; the same for isotropic inputs.
        """
        if kind not in _KINDS:
            raise InputError(_unknown(kind, _KINDS), argument="kind")
        members = self._members(vectors, "constrain")
        for member in members:
            self._may_move(member, "constrain")
            if not isinstance(member, SlowVector):
                raise InputError(
                    f"constrain: {member} is a scalar; a {kind} constraint is one of vectors"
                )
        self._constraints.append(Constraint(members, kind, self._measure(kind, inputs)))

    def _measure(self, kind: str, inputs: Any) -> str:
        """Return the name of the inputs that a sphere is measured with; nothing for norms."""
        if inputs is None:
            return ""
        if kind != "sphere":
            raise InputError("is allowed for a sphere only", argument="inputs")
        name = getattr(inputs, "source", None) or getattr(inputs, "name", None)
        if name not in {each.name for each in self._inputs}:
            raise InputError(
                "constrain: expected inputs of this system, as P.inputs returns them",
                argument="inputs",
            )
        return str(name)

    def observe(self, **averages: Any) -> None:
        """State averages over a fresh example that results carry, by name."""
        for name, value in averages.items():
            where = f"observe({name}=…)"
            expression = self._symbols.of_one(as_expression(value, where))
            if expression.has(BatchMean):
                expression = of_one_example(expression, self._symbols.is_random, where)
            expression = self._symbols.checked(expression, where)
            if name in self._observables:
                raise InputError(f"{name} is observed already; choose another name")
            self._observables[name] = expression

    # what follows

    @property
    def declarations(self) -> tuple[Mapping[str, Any], ...]:
        """All declarations in order, with their arguments as they were understood."""
        return tuple(self._declared)

    def _declare(self, kind: str, name: str, **arguments: Any) -> None:
        self._declared.append({"kind": kind, "name": name, **arguments})

    @property
    def statement(self) -> Statement:
        """The statement as data that does not change any more."""
        return Statement(
            self._symbols,
            tuple(self._inputs),
            tuple(self._vectors),
            tuple(self._lines),
            tuple(self._constraints),
            dict(self._observables),
            self.order,
        )

    def __repr__(self) -> str:
        vectors = (v.family for v in self._vectors if not v.fixed)
        moving = list(dict.fromkeys([*vectors, *self._symbols.scalars.values()]))
        names, lines = ", ".join(moving) or "nothing", len(self._lines)
        move = f"move{'s' * (len(moving) < 2)} by {lines} statement{'s' * (lines != 1)}"
        return f"{type(self).__name__}: {names} {move}"

    def _descent(
        self,
        kind: str,
        loss: Any,
        rates: Mapping[Any, Any],
        sign: int,
        velocity: Mapping[Any, Any] | None,
    ) -> None:
        where = f"statement {len(self._lines) + 1} ({kind})"
        expression = self._stated(as_expression(loss, f"{where}: the loss"), where)
        moved = {} if velocity is None else self._velocities(velocity, where)
        read: dict[SlowVector | sp.Symbol, sp.Expr] = {}
        for target, rate in self._targets(rates, where):
            value = as_expression(rate, f"{where}: the learning rate")
            read[target] = self._symbols.checked(value, where)
        for target in moved:
            if target not in read:
                raise InputError(f"{where}: {target} has a velocity but no learning rate")
        if not any(self._symbols.in_terms_of(expression, target) for target in read):
            names = ", ".join(dict.fromkeys(getattr(each, "name", str(each)) for each in read))
            raise InputError(
                f"{where}: the loss does not depend on {names}, so nothing would move; "
                "write it in fields such as w @ x, overlaps and scalars of what is trained"
            )
        self._add(Descent(expression, read, sign, moved))

    def _velocities(self, given: Mapping[Any, Any], where: str) -> dict[Any, Any]:
        """Return each target of the gradient with its velocity, which the step changes instead."""
        pairs: dict[Any, Any] = {}
        for key, value in given.items():
            members, moved = self._members(key, where), self._members(value, where)
            if len(members) != len(moved):
                raise ShapeError(f"{where}: {len(moved)} velocities for {len(members)} targets")
            for member, each in zip(members, moved, strict=True):
                if isinstance(member, SlowVector) != isinstance(each, SlowVector):
                    raise InputError(f"{where}: the velocity of {member} cannot be {each}")
                self._may_move(each, where)
                pairs[member] = each
        if len(set(pairs.values())) < len(pairs):
            raise InputError(f"{where}: there is one velocity for two targets; give each its own")
        return pairs

    def _stated(self, expression: sp.Expr, where: str) -> sp.Expr:
        """Return a checked expression of a step in terms of one example."""
        if expression.has(BatchMean) or any(each.batch_ratio for each in self._inputs):
            expression = of_one_example(expression, self._symbols.is_random, where)
        return self._symbols.checked(expression, where)

    def _ratio(self, given: Any, size: int | None) -> sp.Expr | None:
        """Return the ratio c of a batch of cN examples, or None."""
        if given is None:
            return None
        if size is not None:
            raise InputError(
                "cannot be combined with a length or an episode; remove one", argument="batch_ratio"
            )
        ratio = self._symbols.checked(as_expression(given, "batch_ratio"), "batch_ratio")
        if not ratio.free_symbols <= set(self._symbols.parameters) or ratio.is_nonpositive:
            raise InputError("must be a positive number or a parameter", argument="batch_ratio")
        if any(each.batch_ratio not in (None, ratio) for each in self._inputs):
            raise InputError("must be the same for all inputs of a system", argument="batch_ratio")
        if self._lines:
            raise InputError("must be declared before the first statement", argument="batch_ratio")
        return ratio

    def _add(self, line: Descent | Update) -> None:
        from symderiv.statement.stated_problem import changes_of

        changes = changes_of(line, self._symbols)  # fails now rather than at the derivation
        if self.statement.batch_ratio is not None:
            self._check_once(changes.values())
        self._lines.append(line)

    def _check_once(self, changes: Iterable[StatedChange]) -> None:
        """Refuse inputs drawn once per step whose factor differs from example to example."""
        for change in changes:
            for atom, factor in change.inputs.items():
                random = any(map(self._symbols.is_random, factor.free_symbols))
                if random and not isinstance(atom, Batch):
                    raise InputError(
                        f"{atom.name} is drawn once per step of a batch and {factor} for every "
                        f"example of it; declare {atom.name} with batch_ratio too"
                    )

    def _targets(self, given: Mapping[Any, Any], where: str) -> list[tuple[Any, Any]]:
        """Return pairs of one vector or scalar and its change."""
        if not isinstance(given, Mapping) or not given:
            raise InputError(f"{where}: give a dictionary {{w: …}} of what changes and how")
        pairs: list[tuple[Any, Any]] = []
        for key, value in given.items():
            members = self._members(key, where)
            values = _spread(value, len(members), where)
            for member, each in zip(members, values, strict=True):
                self._may_move(member, where)
                pairs.append((member, each))
        return pairs

    def _members(self, key: Any, where: str) -> tuple[Any, ...]:
        if isinstance(key, SlowVectors):
            return tuple(key)
        if isinstance(key, np.ndarray):
            return tuple(key.ravel())
        if isinstance(key, SlowVector | sp.Symbol):
            return (key,)
        raise InputError(
            f"{where}: {key!r} cannot change; name vectors or scalars that were declared"
        )

    def _may_move(self, member: SlowVector | sp.Symbol, where: str) -> None:
        if isinstance(member, SlowVector):
            if member.symbols is not self._symbols:
                raise InputError(f"{where}: {member.name} belongs to another system")
            if member.fixed:
                raise InputError(
                    f"{where}: {member.name} was declared with fixed=True, so it cannot change"
                )
        elif member not in self._symbols.scalars:
            raise InputError(
                f"{where}: {member} is not a scalar of this system, so it cannot change"
            )


def _nothing(_: sp.Expr) -> sp.Expr:
    return sp.S.Zero


def _spread(value: Any, size: int, where: str) -> list[Any]:
    """Return a list with one value for each member."""
    if isinstance(value, SlowVectors):
        value = value.array
    if isinstance(value, np.ndarray | list | tuple) and np.asarray(value, dtype=object).ndim:
        entries = list(np.asarray(value, dtype=object).ravel())
        if len(entries) != size:
            raise ShapeError(f"{where}: {len(entries)} values for {size} targets; give one each")
        return entries
    return [value] * size


def _count(number: Any, argument: str, most: int = _MOST) -> int | None:
    if number is None:
        return None
    if isinstance(number, sp.Expr) and number.free_symbols:
        raise NotClosed(
            f"{number} vectors would need as many order parameters, and this number grows with N "
            "or is not known; give a whole number",
            average="(1/N) Σ_k E[F_k h_k] over a number of units that grows",
            statement=f"vectors(…, {number})",
        )
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise InputError(f"must be a whole number, not {number!r}", argument=argument)
    if not 1 <= number <= most:
        raise InputError(f"must be from 1 to {most}, not {number}", argument=argument)
    return int(number)


def _correlation(given: Any, length: int | None) -> sp.ImmutableMatrix | None:
    """Return the correlations of tokens as a checked matrix, or None."""
    if given is None:
        return None
    if length is None:
        raise InputError("needs a length", argument="correlation")
    rows = given.tolist() if hasattr(given, "tolist") else given
    if not _is_square(rows, length):
        raise ShapeError(
            f"must be {length} x {length} numbers, a row and a column for each token",
            argument="correlation",
        )
    matrix = sp.ImmutableMatrix([[as_expression(e, "correlation") for e in row] for row in rows])
    if matrix != matrix.T or any(matrix[i, i] != 1 for i in range(length)):
        raise InputError("must be symmetric with ones on the diagonal", argument="correlation")
    if not matrix.free_symbols and min(np.linalg.eigvalsh(np.array(matrix, float))) < -1e-12:
        raise InputError("is not positive semidefinite", argument="correlation")
    return matrix


def _is_square(rows: Any, size: int) -> bool:
    """Return whether lists are so many rows of so many entries."""
    return _is_list(rows, size) and all(_is_list(row, size) for row in rows)


def _is_list(given: Any, size: int) -> bool:
    return isinstance(given, list | tuple) and len(given) == size


def _law(law: Any) -> str | tuple[tuple[sp.Expr, Fraction], ...]:
    if isinstance(law, str) and law == "gaussian":
        return "gaussian"
    if isinstance(law, str) and law == "rademacher":
        return ((sp.Integer(-1), Fraction(1, 2)), (sp.Integer(1), Fraction(1, 2)))
    if not isinstance(law, Mapping) or not law:
        raise InputError('must be "gaussian", "rademacher" or {value: probability}', argument="law")
    pairs = []
    for value, probability in law.items():
        p = as_expression(probability, "law: a probability")
        if not p.is_Rational or not 0 <= p <= 1:
            raise InputError(
                f"{probability} is not a probability; give a number from 0 to 1", argument="law"
            )
        pairs.append((as_expression(value, "law: a value"), Fraction(int(p.p), int(p.q))))
    if sum(p for _, p in pairs) != 1:
        raise InputError("the probabilities must sum to 1 exactly (use fractions)", argument="law")
    return tuple(pairs)


def _unknown(word: Any, known: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(word), known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else f"; choose one of {', '.join(known)}"
    return f"{word!r} is unknown{hint}"
