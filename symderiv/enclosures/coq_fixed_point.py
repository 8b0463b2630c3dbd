"""A fixed point as a Coq file: a box of rational numbers holds exactly one zero of the rates.

Krawczyk's operator, with a matrix C of rationals near the inverse of the Jacobian, maps y to
y - C f(y). Every operation of f is a definition with two lemmas: bounds of its value over the box,
and slopes between any two points of the box, by which values differ. From these follows that the
map contracts the box into itself; that it then has exactly one point at rest is proved in the file,
too (``contraction.v``). Nothing is taken on trust but Coq, its axioms of the reals and the formulas
that are written out.

R. Krawczyk, Computing 4, 187 (1969); G. Melquiond, IJCAR 2008, for the bounds of each operation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from flint import arb, arb_mat

from symderiv.enclosures.coq_slopes import Slopes, expanded
from symderiv.enclosures.coq_text import BITS, decimal, ends_of, fraction_text, span
from symderiv.foundation.errors import ToleranceError
from symderiv.precision.balls.operations import Operations
from symderiv.precision.balls.working import working_bits

_MIDDLE, _INVERSE = 30, 12
#: The half-widths 10**-n of the box that are tried.
_RADII = (12, 16, 20)
_HALF = Fraction(1, 2)
_AND = " /\\ "


@dataclass(frozen=True)
class _Box:
    """A box around a fixed point, in rational numbers, with what Krawczyk's operator needs.

    Attributes:
        middle: The middle of every coordinate.
        radius: The half-width of every coordinate.
        inverse: An approximate inverse of the Jacobian, row by row.
        slopes: Values and slopes of all operations over the box and at its middle.
    """

    middle: list[Fraction]
    radius: Fraction
    inverse: list[list[Fraction]]
    slopes: Slopes


def coq_fixed_point(rates: Operations, names: Sequence[str], point: Sequence[arb]) -> str:
    """Return a file with the theorem that a box around a point holds exactly one fixed point.

    Args:
        rates: The rates of the coordinates.
        names: Names of the coordinates.
        point: A proved fixed point, with more digits than the box has.

    Raises:
        NotYetError: There is an operation that coq-interval does not bound, such as erf.
        ToleranceError: No box is mapped into itself.
    """
    operations = expanded(rates)
    with working_bits(2 * BITS):
        for digits in _RADII:
            box = _boxed(operations, point, Fraction(1, 10**digits))
            if box is not None:
                return _text(box, operations, names)
    raise ToleranceError("the fixed point could not be enclosed in a box of 12 to 20 digits")


def _boxed(operations: Operations, point: Sequence[arb], radius: Fraction) -> _Box | None:
    """Return a box that Krawczyk's operator contracts by two into its own half, or None."""
    middle = [decimal(x, _MIDDLE) for x in point]
    slopes = Slopes.over(operations, middle, radius)
    size = len(middle)
    jacobian = [[slopes.slope(k, j) for j in range(size)] for k in operations.outputs]
    try:
        near = arb_mat([[x.mid() for x in row] for row in jacobian]).inv()
    except ZeroDivisionError:
        return None
    inverse = [[decimal(near[a, b], _INVERSE) for b in range(size)] for a in range(size)]
    box = _Box(middle, radius, inverse, slopes)
    shrunk = all(sum(_remainders(box, operations, a)) < _HALF for a in range(size))
    away = [span(slopes.at[k]) for k in operations.outputs]
    moved = [
        sum((span((c, c)) * f for c, f in zip(row, away, strict=True)), arb(0)) for row in inverse
    ]
    still = all(abs(x) < span((radius / 2, radius / 2)) for x in moved)
    return box if shrunk and still else None


def _remainders(box: _Box, operations: Operations, row: int) -> list[Fraction]:
    """Return bounds on the sizes of the entries of one row of 1 - C J over the box."""
    bounds = []
    for column in range(len(box.middle)):
        entry = arb(int(row == column))
        for c, k in zip(box.inverse[row], operations.outputs, strict=True):
            entry -= span((c, c)) * box.slopes.slope(k, column)
        bounds.append(max(map(abs, ends_of(entry))))
    return bounds


def _text(box: _Box, operations: Operations, names: Sequence[str]) -> str:
    size = len(box.middle)
    listed = "\n".join(f"   y {n} is {name}" for n, name in enumerate(names))
    lines = [
        f"(* Exactly one fixed point is in a box; its coordinates are\n{listed} *)",
        Path(__file__).with_name("contraction.v").read_text(encoding="utf-8"),
        f"Ltac bounded := intros; interval with (i_prec {BITS}).",
        f"Ltac each := match goal with H : (?i < {size})%nat |- _ =>",
        f"  {_cases(size)} end.",
        "",
        _function("middle", box.middle),
        _function("radius", [box.radius] * size),
        f"Definition box := inside {size} middle radius.",
        "",
        f"Lemma radius_positive : forall i, (i < {size})%nat -> 0 <= radius i.",
        "Proof. intros i h. each; cbv beta iota delta [radius]; lra. Qed.",
        "Lemma middle_inside : box middle.",
        "Proof.",
        "  intros i h. replace (middle i - middle i) with 0 by ring.",
        "  rewrite Rabs_R0. exact (radius_positive i h).",
        "Qed.",
        *box.slopes.lines(),
        *_corrected(box, operations),
        *(_moves(box, operations, row) for row in range(size)),
        _closer(box, operations),
        _into(size),
        _theorem(operations, size),
    ]
    return "\n".join(lines) + "\n"


def _cases(size: int) -> str:
    """Return a tactic that replaces the number of a coordinate by each possible value."""
    pattern = "[|" * size + "i'" + "]" * size
    goals = " | ".join([""] * size + ["exfalso; lia"])
    return f"destruct i as {pattern}; [{goals}]"


def _function(name: str, values: Sequence[Fraction]) -> str:
    cases = " | ".join(f"{n}%nat => {fraction_text(x)}" for n, x in enumerate(values))
    return f"Definition {name} (i : nat) : R := match i with {cases} | _ => 0 end."


def _row(box: _Box, operations: Operations, row: int, of: str) -> str:
    """Return a row of C f as text; ``of`` is the format of values at a point or of differences."""
    terms = [
        f"{fraction_text(c)} * {of.format(k)}"
        for c, k in zip(box.inverse[row], operations.outputs, strict=True)
    ]
    return " + ".join(terms)


def _corrected(box: _Box, operations: Operations) -> list[str]:
    cases = " | ".join(
        f"{n}%nat => y {n}%nat - ({_row(box, operations, n, '(t{} y)')})"
        for n in range(len(box.middle))
    )
    return [
        "",
        "Definition corrected (y : nat -> R) (i : nat) : R :=",
        f"  match i with {cases} | _ => 0 end.",
    ]


def _moves(box: _Box, operations: Operations, row: int) -> str:
    """Return the lemma that the middle moves by at most half of the radius."""
    outputs = list(dict.fromkeys(operations.outputs))
    sums = _row(box, operations, row, "(t{} middle)")
    bounds = " ".join(f"t{k}_at" for k in outputs)
    values = " ".join(f"(t{k} middle)" for k in outputs)
    return (
        f"Lemma moves_{row} : Rabs (corrected middle {row}%nat - middle {row}%nat) <= "
        f"1 / 2 * radius {row}%nat.\n"
        f"Proof.\n"
        f"  replace (corrected middle {row}%nat - middle {row}%nat) with (- ({sums}))\n"
        f"    by (cbv beta iota delta [corrected]; ring).\n"
        f"  cbv beta iota delta [radius]. generalize {bounds}. generalize {values}. bounded.\n"
        f"Qed."
    )


def _closer(box: _Box, operations: Operations) -> str:
    size = len(box.middle)
    outputs = list(dict.fromkeys(operations.outputs))
    lines = [
        "Lemma closer : forall y z D, box y -> box z ->",
        f"  (forall i, (i < {size})%nat -> Rabs (y i - z i) <= D * radius i) ->",
        f"  forall i, (i < {size})%nat ->",
        "  Rabs (corrected y i - corrected z i) <= 1 / 2 * D * radius i.",
        "Proof.",
        "  intros y z D hy hz h i hi.",
        *(f"  pose proof (h {n}%nat ltac:(lia)) as h{n}." for n in range(size)),
        f"  cbv beta iota delta [radius] in {', '.join(f'h{n}' for n in range(size))}.",
        "  assert (positive : 0 <= D).",
        "  { generalize (Rle_trans _ _ _ (Rabs_pos _) h0). lra. }",
    ]
    known: dict[int, Mapping[int, str]] = {}
    for k in outputs:
        known[k] = {j: f"s{k}_{j}" for j in box.slopes.slopes[k]}
        lines.append(f"  {box.slopes.named(k, f'e{k}')}")
    lines.append("  each; cbv beta iota delta [radius].")
    for row in range(size):
        lines += [
            "  - " + line if n == 0 else "    " + line
            for n, line in enumerate(_case(box, operations, row, known))
        ]
    return "\n".join([*lines, "Qed."])


def _case(
    box: _Box, operations: Operations, row: int, known: Mapping[int, Mapping[int, str]]
) -> list[str]:
    """Return the proof that the operator halves distances in one coordinate."""
    size = len(box.middle)
    entries = []
    for column in range(size):
        terms = [
            f"{fraction_text(c)} * {known[k][column]}"
            for c, k in zip(box.inverse[row], operations.outputs, strict=True)
            if column in known[k]
        ]
        entries.append(f"({int(row == column)} - ({' + '.join(terms) or '0'}))")
    bounds = _remainders(box, operations, row)
    apart = [f"(y {n}%nat - z {n}%nat)" for n in range(size)]
    whole = " + ".join(f"{e} * {w}" for e, w in zip(entries, apart, strict=True))
    rewritten = ", ".join(f"e{k}" for k in dict.fromkeys(operations.outputs))
    total = "(product_within _ _ _ _ b0 h0)"
    for n in range(1, size):
        total = f"(sum_within _ _ _ _ {total} (product_within _ _ _ _ b{n} h{n}))"
    return [
        *(
            f"assert (b{n} : Rabs {e} <= {fraction_text(bound)}) by bounded."
            for n, (e, bound) in enumerate(zip(entries, bounds, strict=True))
        ),
        f"assert (s : corrected y {row}%nat - corrected z {row}%nat = {whole}).",
        "{ cbv beta iota delta [corrected].",
        f"  transitivity ({apart[row]} - ({_row(box, operations, row, '(t{0} y - t{0} z)')}));",
        f"  [ring | rewrite {rewritten}; ring]. }}",
        f"rewrite s. eapply Rle_trans; [exact {total} | lra].",
    ]


def _into(size: int) -> str:
    lines = [
        "Lemma into : forall y, box y -> box (corrected y).",
        "Proof.",
        "  intros y h i hi.",
        f"  assert (w : forall j, (j < {size})%nat -> Rabs (y j - middle j) <= 1 * radius j).",
        "  { intros j hj. rewrite Rmult_1_l. exact (h j hj). }",
        "  pose proof (closer y middle 1 h middle_inside w i hi) as a.",
        "  assert (b : Rabs (corrected middle i - middle i) <= 1 / 2 * radius i).",
        f"  {{ each; [{' | '.join(f'exact moves_{n}' for n in range(size))}]. }}",
        "  replace (corrected y i - middle i) with",
        "    ((corrected y i - corrected middle i) + (corrected middle i - middle i)) by ring.",
        "  eapply Rle_trans; [exact (sum_within _ _ _ _ a b) | lra].",
        "Qed.",
    ]
    return "\n".join(lines)


def _theorem(operations: Operations, size: int) -> str:
    outputs = operations.outputs
    rates = [f"rate_{n}" for n in range(size)]
    definitions = [
        f"Definition {rate} (y : nat -> R) : R := t{k} y."
        for rate, k in zip(rates, outputs, strict=True)
    ]

    def vanish(y: str) -> str:
        return _AND.join(f"{rate} {y} = 0" for rate in rates)

    seen = "\n".join(
        f"    pose proof (s {n}%nat ltac:(lia)) as s{n}. cbv beta iota delta [corrected] in s{n}."
        for n in range(size)
    )
    names = ", ".join(rates)
    closed = "_"
    for n in reversed(range(size)):
        closed = f"(conj v{n} {closed})"
    return "\n".join(
        [
            *definitions,
            "",
            "Theorem fixed_point : exists y,",
            f"  inside {size} middle radius y /\\ {vanish('y')} /\\",
            f"  forall z, inside {size} middle radius z -> {vanish('z')} ->",
            f"  forall i, (i < {size})%nat -> z i = y i.",
            "Proof.",
            f"  destruct (contraction {size} middle radius corrected (1 / 2) ltac:(lra) ltac:(lra)",
            "    radius_positive into closer) as (y & h & s & only).",
            f"  exists y. unfold {names}.",
            f"  assert (zero : {_AND.join(f't{k} y = 0' for k in outputs)}).",
            "  {",
            seen,
            "    clear - " + " ".join(f"s{n}" for n in range(size)) + ".",
            "    repeat split; lra. }",
            f"  destruct zero as ({' & '.join(f'v{n}' for n in range(size))}).",
            f"  refine (conj h {closed}).",
            f"  intros z hz ({' & '.join(f'w{n}' for n in range(size))}).",
            "  apply only; [exact hz |]. intros i hi.",
            "  each; cbv beta iota delta [corrected]; lra.",
            "Qed.",
        ]
    )
