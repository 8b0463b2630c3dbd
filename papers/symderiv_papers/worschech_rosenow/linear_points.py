"""Linear networks at which the claims of the linear part are tried.

The appendix works with averages over teachers and initial students: t_k = 1, so T^(l) = ν_l, and
r_k = 0 at the start. AVERAGED are such networks (with initial students that differ between
eigenspaces, where the print allows any Q_0); ANY have a teacher and a student of their own, so that
T^(1) ≠ 1, T^(l) ≠ ν_l and R_0 ≠ 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from symderiv_ledger.claims.claim import Point
from symderiv_ledger.rules.arithmetic import Indexed, Values

from symderiv_papers.references.linear_network import (
    Case,
    LinearNetwork,
    eigenvalues_of,
    eigenvectors_of,
    exponential,
)

__all__ = [
    "ANY",
    "AVERAGED",
    "DRAWN",
    "all_equal_starts",
    "drawn",
    "entries",
    "entries_from_zero",
    "entries_of_any",
    "first_order",
    "many_times",
    "mode_values",
    "modes",
    "partly_trained",
    "partly_trained_slower",
    "slower",
    "small_matrices",
    "vectors",
    "vectors_of_any",
]


def _case(spectrum: str, rate: str, time: str, variance: str = "1/4", **more: str) -> Case:
    """Return a case from texts; a spectrum is a list, or "law L β"."""
    law, rest = spectrum.startswith("law "), spectrum.removeprefix("law ")
    overlaps = {name: _fractions(text) for name, text in more.items()}
    return Case(
        _fractions(rest), Fraction(rate), Fraction(time), Fraction(variance), law, **overlaps
    )


def _fractions(text: str) -> tuple[Fraction, ...]:
    return tuple(Fraction(word) for word in text.split())


#: Averages over teachers and over initial students of one variance.
DRAWN = (
    _case("law 2 1", "7/10", "13/10"),
    _case("9/5 1 1/5", "19/10", "2/5", "2"),
    _case("2003/2000 2001/2000 1999/2000 1997/2000", "3/2", "3/4", "1/9"),
    _case("law 5 3/10", "1/20", "30", "1/100"),
    _case("law 6 2", "6/5", "1/5", "1"),
)
#: The same with initial students that are not alike in all eigenspaces.
AVERAGED = (
    DRAWN[0],
    replace(DRAWN[1], student=_fractions("2 1/3 5/7")),
    DRAWN[2],
    DRAWN[3],
    replace(DRAWN[4], student=_fractions("1 1/2 3 2/3 1/7 1/5")),
)
#: One teacher and one student.
ANY = (
    _case("3/2 2/5", "7/10", "13/10", teacher="3/2 2/3", student="1/2 2", cross="1/3 -2/5"),
    _case(
        "9/5 1 1/4", "5/4", "2/5", teacher="1/2 4/3 2", student="2 1/3 5/7", cross="-1/2 1/5 1/7"
    ),
    _case(
        "law 5 1/2",
        "1/20",
        "9",
        teacher="1 2 1/3 5/4 3/7",
        student="1/10 1/2 3 2/3 1/7",
        cross="1/5 0 1/2 -1/3 1/9",
    ),
)


def _networks(cases: Iterable[Case], numbers: Any) -> Iterator[tuple[str, LinearNetwork]]:
    for case in cases:
        yield str(case), LinearNetwork(case, numbers)


def _sizes(network: LinearNetwork) -> dict[str, Any]:
    return {
        "L": network.L,
        "N": 3 * network.L,
        "K": 1,
        "M": 1,
        "eta": network.eta,
        "alpha": network.alpha,
        "sigma_J": network.numbers.sqrt(network.variance),
    }


def vectors(numbers: Any, cases: Sequence[Case] = AVERAGED) -> Iterator[Point]:
    """Yield points whose moments are columns R, Q, T, u and whose matrices are the engine's."""
    for label, network in _networks(cases, numbers):
        yield Point(label, _vector_values(network))


def vectors_of_any(numbers: Any) -> Iterator[Point]:
    """Return the same for networks with a teacher and a student of their own."""
    return vectors(numbers, ANY)


def _vector_values(network: LinearNetwork) -> Values:
    n, L = network.numbers, network.L

    def column(values: Sequence[Any], first: int = 0) -> Any:
        return n.matrix(list(values[first : first + L]))

    def of_state(which: int, **options: Any) -> Any:
        return column(network.moments(network.at(**options)[which]))

    def slope(which: int) -> Any:
        return column(network.moments(network.flow(*network.at())[which]))

    def forced() -> Any:
        """Return where dQ = ηA_4 Q + η(2 - η)u leads from 0, by one larger exponential."""
        matrix = n.matrix(L + 1)
        u = network.moments(network.teacher)[1:]
        for i in range(L):
            for j in range(L):
                matrix[i, j] = network.eta * network.blocks.QQ[i, j] * network.alpha
            matrix[i, L] = network.eta * (2 - network.eta) * u[i] * network.alpha
        return exponential(matrix, n)[:L, L]

    zero = n.mpf(0)
    return Values(
        _sizes(network) | {"expm": partial(exponential, numbers=n)},
        {
            "A_1": lambda: network.blocks.RR,
            "A_3": lambda: network.blocks.QR,
            "A_4": lambda: network.blocks.QQ,
            "U": lambda: network.blocks.noise,
            "e_2": lambda: n.matrix([int(i == 1) for i in range(L)]),
            "T": lambda: column(network.moments(network.teacher)),
            "u": lambda: column(network.moments(network.teacher), 1),
            "Q_0": lambda: column(network.moments(network.student)),
            "R_0": lambda: column(network.moments(network.cross)),
            "Q": lambda: of_state(0),
            "R": lambda: of_state(1),
            "dQ": lambda: slope(0),
            "dR": lambda: slope(1),
            "forced": forced,
            "Q_first_order": lambda: of_state(0, full=False),
            "zero": lambda: zero,
        },
    )


def entries(numbers: Any, cases: Sequence[Case] = AVERAGED) -> Iterator[Point]:
    """Yield points with R[l] = R^(l) and so on, entries of matrices, and the eigenbasis of A_1."""
    for label, network in _networks(cases, numbers):
        yield Point(label, _entry_values(network))


def entries_of_any(numbers: Any) -> Iterator[Point]:
    """Return the same for networks with a teacher and a student of their own."""
    return entries(numbers, ANY)


def entries_from_zero(numbers: Any) -> Iterator[Point]:
    """Return the same with R_0 = 0."""
    return entries(numbers, [replace(case, cross=None) for case in ANY])


def drawn(numbers: Any, times: Sequence[Fraction] = (Fraction(1),)) -> Iterator[Point]:
    """Averaged networks with initial students of one variance, at multiples of their times."""
    cases = [replace(case, time=case.time * factor) for case in DRAWN for factor in times]
    return entries(numbers, cases)


def first_order(numbers: Any) -> Iterator[Point]:
    """Yield the same without the terms of order η² in the flow."""
    for label, network in _networks(DRAWN, numbers):
        yield Point(label, _entry_values(network, full=False))


def slower(numbers: Any) -> Iterator[Point]:
    """Series with η → 0 at fixed ηα."""
    for case in DRAWN:
        for power in (2, 3, 4):
            rate = Fraction(1, 10**power)
            slow = replace(case, rate=rate, time=case.rate * case.time / rate)
            network = LinearNetwork(slow, numbers)
            values = _entry_values(network)
            yield Point(str(slow), values, float(rate), str(replace(case, rate=Fraction(0))))


def partly_trained(numbers: Any) -> Iterator[Point]:
    """Yield points without the terms of order η², the first 1, 2, … eigenspaces trained."""
    for case in DRAWN:
        for trained in range(1, LinearNetwork(case, numbers).L + 1):
            yield Point(f"{case}, N_l = {trained}", _partly_trained(case, trained, numbers, False))


def partly_trained_slower(numbers: Any) -> Iterator[Point]:
    """Series with η → 0 at fixed ηα and a part of the eigenspaces trained."""
    for case in DRAWN:
        size = LinearNetwork(case, numbers).L
        for trained in sorted({1, size - 1}):
            for power in (2, 3, 4):
                rate = Fraction(1, 10**power)
                slow = replace(case, rate=rate, time=case.rate * case.time / rate)
                label = f"{slow}, N_l = {trained}"
                values = _partly_trained(slow, trained, numbers, True)
                yield Point(label, values, float(rate), f"{case}, N_l = {trained}")


def _partly_trained(case: Case, trained: int, numbers: Any, full: bool) -> Values:
    network = LinearNetwork(case, numbers)
    network.trained = trained
    return Values(
        _sizes(network) | {"N_l": trained, "lam": Indexed(network.eigenvalue, (1, network.L))},
        {"eps_g": lambda: network.error(*network.at(full))},
    )


def modes(numbers: Any) -> Iterator[Point]:
    """Yield points with the certified decay rates of the error, and functions of a matrix.

    ``eigenvalue(A, k)`` in ascending order, ``eigenvectors(A)`` with first entries 1, ``entry``.
    """
    for label, network in _networks(DRAWN, numbers):
        yield Point(label, mode_values(network))


def mode_values(network: LinearNetwork) -> Values:
    """Return the names of :func:`modes` for one network."""
    n, L = network.numbers, network.L
    known: dict[tuple[Any, ...], tuple[list[Any], Any]] = {}

    def eigenpairs(matrix: Any) -> tuple[list[Any], Any]:
        key = tuple(matrix[i, j] for i in range(L) for j in range(L))
        if key not in known:
            known[key] = (eigenvalues_of(matrix, n), eigenvectors_of(matrix, n))
        return known[key]

    return Values(
        _sizes(network)
        | {
            "eigenvalue": lambda matrix, k: eigenpairs(matrix)[0][k - 1],
            "eigenvectors": lambda matrix: eigenpairs(matrix)[1],
            "entry": lambda matrix, i, j: matrix[i - 1, j - 1],
        },
        {
            "eps_g": lambda: network.error(*network.at()),
            "rate": lambda: Indexed(network.certified_rates(), (1, L)),
            "A_1": lambda: network.blocks.RR,
            "U": lambda: network.blocks.noise,
            "T": lambda: Indexed(network.moments(network.teacher)[: L + 1], (0, L)),
        },
    )


def _entry_values(network: LinearNetwork, full: bool = True) -> Values:
    n, L = network.numbers, network.L
    square = ((1, L), (1, L))

    def moments(values: list[Any]) -> Indexed:
        return Indexed(network.moments(values)[: L + 1], (0, L))

    def slopes(which: int) -> Indexed:
        return moments(network.flow(*network.at(full), full)[which])

    def eigenvectors() -> Any:
        return eigenvectors_of(network.blocks.RR, n)

    def own_vectors() -> Indexed:
        """Row k: the k-th eigenvector of A_1, its first entry not 1."""
        v = eigenvectors()
        return Indexed([[v[i, k] * (k + 2) / 3 for i in range(L)] for k in range(L)], *square)

    def deviation_of_cross() -> Indexed:
        """R_i(α) - R_i(∞)."""
        now, last = network.moments(network.at(full)[1]), at_the_end()
        return Indexed([now[i] - last[i + 1,] for i in range(L)], (1, L))

    def at_the_end() -> Indexed:
        """R_i when the slowest direction has decayed below the last digit."""
        late = 2 * n.dps * n.log(10) / (network.eta * min(network.eigenvalue))
        return Indexed(network.moments(network.at(full, late)[1])[:L], (1, L))

    def diagonal() -> Indexed:
        """Return the inverse of A_1 in its eigenbasis."""
        v = eigenvectors()
        return Indexed(n.inverse(v) * n.inverse(network.blocks.RR) * v, *square)

    return Values(
        _sizes(network),
        {
            "eps_g": lambda: network.error(*network.at(full)),
            "c": lambda: Indexed(network.closure, (0, L)),
            "T": lambda: moments(network.teacher),
            "nu": lambda: moments([n.one] * L),
            "Q": lambda: moments(network.at(full)[0]),
            "R": lambda: moments(network.at(full)[1]),
            "dQ": lambda: slopes(0),
            "dR": lambda: slopes(1),
            "u": lambda: Indexed(network.moments(network.teacher)[1 : L + 1], (1, L)),
            "A_1": lambda: Indexed(network.blocks.RR, *square),
            "U": lambda: Indexed(network.blocks.noise, *square),
            "inverse_A_1": lambda: Indexed(n.inverse(network.blocks.RR), *square),
            "inverse_A_4": lambda: Indexed(n.inverse(network.blocks.QQ), *square),
            # in descending order, as the paper numbers them
            "lam": lambda: Indexed(network.eigenvalue, (1, L)),
            "lam_A_1": lambda: Indexed(eigenvalues_of(network.blocks.RR, n), (1, L)),
            "v": own_vectors,
            "V": lambda: Indexed(eigenvectors(), *square),
            "inverse_V": lambda: Indexed(n.inverse(eigenvectors()), *square),
            "Lambda_2": diagonal,
            "R_end": at_the_end,
            "R_now": lambda: Indexed(network.moments(network.at(full)[1])[:L], (1, L)),
            "Q_now": lambda: Indexed(network.moments(network.at(full)[0])[:L], (1, L)),
            "F": deviation_of_cross,
            "x": lambda: n.mpf(3) / 7,
            "det_A_1": lambda: n.det(network.blocks.RR - n.mpf(3) / 7 * n.eye(L)),
        },
    )


def many_times(numbers: Any) -> Iterator[Point]:
    """Drawn networks from early to late times."""
    return drawn(numbers, (Fraction(1, 100), Fraction(1), Fraction(4), Fraction(20)))


def small_matrices(numbers: Any) -> Iterator[Point]:
    """A_4 and A_1 with η → 0; differences are compared with 1, as entries may vanish."""
    for power in (2, 3, 4):
        case = replace(DRAWN[1], rate=Fraction(1, 10**power))
        network = LinearNetwork(case, numbers)
        values = {"A_4": network.blocks.QQ, "A_1": network.blocks.RR, "scale": numbers.one}
        yield Point(str(case), values, 10.0**-power)


def all_equal_starts(numbers: Any) -> Iterator[Point]:
    """Return vectors of the drawn networks."""
    return vectors(numbers, DRAWN)
