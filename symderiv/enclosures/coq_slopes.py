"""Values and slopes of operations over a box, as definitions and lemmas for Coq.

Slopes of f are any numbers d_j such that f(y) - f(z) is the sum of d_j (y_j - z_j). For sums,
products, quotients and roots they are formulas in values at y and at z; for other functions they
are the derivative somewhere between, by the mean value theorem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from flint import arb, fmpq

from symderiv.enclosures.coq_text import Ends, between, bounded, ends_of, formula, span
from symderiv.precision.balls.operations import Entry, Operations, Recorded, Recorder

_LEMMAS = {"atan": "angle_slope", "exp": "power_slope", "log": "logarithm_slope"}
_DERIVATIVES = {"atan": "/ (1 + c * c)", "exp": "exp c", "log": "/ c"}
_AND = " /\\ "
_ONE = (Fraction(1), Fraction(1))


def expanded(operations: Operations) -> Operations:
    """Return the operations with arcsines written as arctangents of x / sqrt(1 - x²)."""
    recorder = Recorder()
    made: list[Recorded] = []
    for name, *arguments in operations.entries:
        if name in ("asin", "acos"):
            x = made[arguments[0]]
            angle = (x / (1 - x * x).function("sqrt")).function("atan")
            made.append(angle if name == "asin" else recorder.pi / 2 - angle)
            continue
        parts = arguments if name in ("state", "number") else [made[k].place for k in arguments]
        made.append(recorder.at(recorder.operations.place((name, *parts))))
    return recorder.recording([made[place] for place in operations.outputs])


@dataclass(frozen=True)
class Slopes:
    """Bounds on the values and slopes of every operation, in the order of a list.

    Attributes:
        operations: The list.
        moving: Whether an operation depends on the state.
        values: Bounds over the box.
        at: Bounds at its middle.
        slopes: Bounds on slopes by the coordinates on which an operation depends.
    """

    operations: Operations
    moving: list[bool]
    values: list[Ends] = field(default_factory=list)
    at: list[Ends] = field(default_factory=list)
    slopes: list[dict[int, Ends]] = field(default_factory=list)

    @classmethod
    def over(cls, operations: Operations, middle: Sequence[Fraction], radius: Fraction) -> Slopes:
        """Return bounds over a box, at the present precision."""
        bounds = cls(operations, [not each for each in operations.constant()])
        exact = [arb(fmpq(x.numerator, x.denominator)) for x in middle]
        box = [x + arb(0, arb(fmpq(radius.numerator, radius.denominator))) for x in exact]
        for entry in operations.entries:
            bounds.slopes.append(bounds._slopes_of(entry))
            bounds.values.append(bounded(entry, box, bounds.values))
            bounds.at.append(bounded(entry, exact, bounds.at))
        return bounds

    def slope(self, place: int, column: int) -> arb:
        """Return the slope of an operation by a coordinate over the box."""
        ends = self.slopes[place].get(column)
        return arb(0) if ends is None else span(ends)

    def named(self, place: int, equation: str) -> str:
        """Return the tactic that names the slopes of an operation between y and z.

        It also names the equation that they fulfil and their bounds.
        """
        names = [f"s{place}_{j}" for j in self.slopes[place]]
        pattern = " & ".join([*names, equation, *(f"b{each}" for each in names)])
        return f"destruct (t{place}_slopes y z hy hz) as ({pattern})."

    def lines(self) -> list[str]:
        """Return the lines of definitions and lemmas for all operations."""
        lines: list[str] = []
        for place, entry in enumerate(self.operations.entries):
            lines += ["", *self._definition(place, entry)]
            if self.moving[place]:
                lines += self._slopes_lemma(place, entry)
        return lines

    def _slopes_of(self, entry: Entry) -> dict[int, Ends]:
        if entry[0] == "state":
            return {entry[1]: _ONE}
        factors = self._factors(entry)
        columns = sorted({j for part, _ in factors for j in self.slopes[part]})
        return {
            j: ends_of(sum((v * self.slope(k, j) for k, v in factors), arb(0))) for j in columns
        }

    def _factors(self, entry: Entry) -> list[tuple[int, arb]]:
        """Return the arguments that depend on the state, each with the factor of its difference."""
        name, *parts = entry
        if not parts or name == "number":
            return []
        p, q = span(self.values[parts[0]]), span(self.values[parts[-1]])
        factors = {
            "add": [arb(1), arb(1)],
            "sub": [arb(1), arb(-1)],
            "neg": [arb(-1)],
            "mul": [q, p],
        }
        if name == "div":
            factors["div"] = [1 / q, -(p / q / q)]
        elif name == "sqrt":
            factors["sqrt"] = [1 / (p.sqrt() + p.sqrt())]
        elif name in _DERIVATIVES:
            factors[name] = [{"atan": 1 / (1 + p * p), "exp": p.exp(), "log": 1 / p}[name]]
        pairs = zip(parts, factors[name], strict=True)
        return [(part, value) for part, value in pairs if self.moving[part]]

    def _texts(self, entry: Entry) -> list[tuple[int, str]]:
        """Return the factors of :meth:`_factors` as formulas."""
        name, *parts = entry
        (py, qy), (pz, qz) = ([self._term(k, at) for k in (parts[0], parts[-1])] for at in "yz")
        factors = {
            "add": ["1", "1"],
            "sub": ["1", "(- 1)"],
            "neg": ["(- 1)"],
            "mul": [qz, py],
            "div": [f"/ {qy}", f"(- ({pz} / {qz} / {qy}))"],
            "sqrt": [f"/ (sqrt {py} + sqrt {pz})"],
            **{key: [text] for key, text in _DERIVATIVES.items()},
        }
        pairs = zip(parts, factors[name], strict=True)
        return [(part, text) for part, text in pairs if self.moving[part]]

    def _term(self, place: int, at: str) -> str:
        return f"(t{place} {at})" if self.moving[place] else f"t{place}"

    def _bounds(self, place: int, at: str) -> str:
        if not self.moving[place]:
            return f"t{place}_bounds"
        return f"t{place}_at" if at == "middle" else f"(t{place}_bounds {at} h{at})"

    def _generalised(self, pairs: Sequence[tuple[int, str]]) -> str:
        """Return the tactic that keeps of values only their bounds."""
        known = " ".join(self._bounds(*pair) for pair in pairs)
        terms = " ".join(self._term(*pair) for pair in pairs)
        return f"generalize {known}; generalize {terms}; " if pairs else ""

    def _definition(self, place: int, entry: Entry) -> list[str]:
        parts = [] if entry[0] in ("state", "number") else list(dict.fromkeys(entry[1:]))
        own = f"y {entry[1]}%nat" if entry[0] == "state" else ""
        own = own or formula(entry, [self._term(k, "y") for k in entry[1:]] if parts else [])

        def proof(at: str) -> str:
            return f"unfold t{place}; {self._generalised([(k, at) for k in parts])}bounded."

        if not self.moving[place]:
            return [
                f"Definition t{place} : R := {own}.",
                f"Lemma t{place}_bounds : {between(self.values[place], f't{place}')}.",
                f"Proof. {proof('')} Qed.",
            ]
        over, at = proof("y"), proof("middle")
        if entry[0] == "state":
            over = f"generalize (hy {entry[1]}%nat ltac:(lia)). rewrite within. unfold t{place}. "
            over += "cbv beta iota delta [middle radius]. lra."
            at = f"unfold t{place}. cbv beta iota delta [middle]. bounded."
        return [
            f"Definition t{place} (y : nat -> R) : R := {own}.",
            f"Lemma t{place}_bounds : forall y, box y -> "
            f"{between(self.values[place], f't{place} y')}.",
            f"Proof. intros y hy. {over} Qed.",
            f"Lemma t{place}_at : {between(self.at[place], f't{place} middle')}.",
            f"Proof. {at} Qed.",
        ]

    def _slopes_lemma(self, place: int, entry: Entry) -> list[str]:
        ranges = self.slopes[place]
        equal = " + ".join(f"d{j} * (y {j}%nat - z {j}%nat)" for j in ranges)
        claims = [f"t{place} y - t{place} z = {equal}"]
        claims += [f"({between(ends, f'd{j}')})" for j, ends in ranges.items()]
        lines = [
            f"Lemma t{place}_slopes : forall y z, box y -> box z ->",
            f"  exists {' '.join(f'd{j}' for j in ranges)}, {_AND.join(claims)}.",
        ]
        if entry[0] == "state":
            proof = f"exists 1. unfold t{place}. split; [ring | lra]."
            return [*lines, f"Proof. intros y z hy hz. {proof} Qed."]
        factors = self._texts(entry)
        parts = list(dict.fromkeys(part for part, _ in factors))
        steps = ["intros y z hy hz.", *(self.named(k, f"e{k}") for k in parts)]
        facts, equation = self._difference(entry)
        for_slopes = [
            " + ".join(f"{text} * s{k}_{j}" for k, text in factors if j in self.slopes[k])
            for j in ranges
        ]
        steps += [*facts, f"exists {', '.join(f'({each})' for each in for_slopes)}."]
        apart = " + ".join(
            f"{text} * ({self._term(k, 'y')} - {self._term(k, 'z')})" for k, text in factors
        )
        rewritten = ", ".join(f"e{k}" for k in parts)
        equality = (
            f"unfold t{place}; transitivity ({apart}); [{equation} | rewrite {rewritten}; ring]"
        )
        pairs = [
            (k, at) for k in dict.fromkeys(entry[1:]) for at in ("yz" if self.moving[k] else "-")
        ]
        forgotten = " ".join(f"e{k}" for k in parts)
        bound = f"clear {forgotten}; {self._generalised(pairs)}clear hy hz; bounded"
        proof = bound
        for _ in range(len(ranges) - 1):
            proof = f"split; [{bound} | {proof}]"
        return [*lines, f"Proof.\n  {' '.join(steps)}\n  split; [{equality} | {proof}]. Qed."]

    def _difference(self, entry: Entry) -> tuple[list[str], str]:
        """Return preparatory tactics, and the tactic that proves the equation of an operation's
        slopes.

        The equation says that its difference is the sum of its arguments' differences times their
        factors.
        """
        name, *parts = entry
        py, pz = self._term(parts[0], "y"), self._term(parts[0], "z")
        if name == "sqrt":
            signs = [
                f"assert (p{at} : 0 < {self._term(parts[0], at)}) "
                f"by (generalize {self._bounds(parts[0], at)}; lra)."
                for at in "yz"
            ]
            return signs, f"exact (root_slope {py} {pz} py pz)"
        if name in _LEMMAS:
            positive = " ltac:(lra)" if name == "log" else ""
            low, high = (formula(("number", end), []) for end in self.values[parts[0]])
            known = f"{self._bounds(parts[0], 'y')} {self._bounds(parts[0], 'z')}"
            lemma = f"{_LEMMAS[name]} {low} {high}{positive} _ _ {known}"
            return [f"destruct ({lemma}) as (c & bc & ec)."], "exact ec"
        if name != "div":
            return [], "ring"
        ats = "yz" if self.moving[parts[1]] else "y"
        facts = [
            f"assert (n{at} : {self._term(parts[1], at)} <> 0) "
            f"by (generalize {self._bounds(parts[1], at)}; intros; lra)."
            for at in ats
        ]
        return facts, "field; auto" if len(ats) == 1 else "field; split; assumption"
