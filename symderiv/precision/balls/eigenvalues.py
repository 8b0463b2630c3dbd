"""Eigenvalues of matrices of balls, and how many of them are unstable.

Balls that overlap are one group: only their union is known to hold as many eigenvalues as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import acb, acb_mat, arb, arb_mat


def index_of(eigenvalues: Sequence[acb]) -> int | None:
    """Return the number of unstable directions; None where the sign of a rate is not proved."""
    parts = [each.real for each in eigenvalues]
    if not all(part > 0 or part < 0 for part in parts):
        return None
    return sum(bool(part > 0) for part in parts)


def enclosed_eigenvalues(matrix: arb_mat) -> list[acb]:
    """Return balls that hold the eigenvalues with their multiplicities, largest real part first.

    Eigenvalues that are not separated have the same ball. One that is proved to be real has the
    imaginary part 0.
    """
    try:
        balls: list[acb] = acb_mat(matrix).eig(multiple=True)
    except (ValueError, ArithmeticError):
        balls = _discs(matrix)
    groups = _groups(balls)
    eigenvalues: list[acb] = []
    for group, count in groups:
        real = count == 1 and _is_real(group, [other for other, _ in groups])
        eigenvalues += [acb(group.real) if real else group] * count
    return sorted(eigenvalues, key=lambda each: -float(each.real.mid()))


def doubles_of(eigenvalues: Sequence[acb]) -> tuple[list[list[float]], list[list[float]]]:
    """Return real and imaginary parts of each eigenvalue in doubles, and bounds on their errors."""
    parts = [(each.real, each.imag) for each in eigenvalues]
    numbers = [[float(part.mid()) for part in pair] for pair in parts]
    errors = [
        [_away(*each) for each in zip(*pairs, strict=True)]
        for pairs in zip(numbers, parts, strict=True)
    ]
    return numbers, errors


def _away(number: float, ball: arb) -> float:
    distance = abs(ball - number).upper()
    return 0.0 if distance == 0 else float(np.nextafter(float(distance), np.inf))


def _groups(balls: Sequence[acb]) -> list[tuple[acb, int]]:
    """Return the unions of balls that overlap, each with their number."""
    groups: list[tuple[acb, int]] = []
    for ball in balls:
        group, count = ball, 1
        while touched := [each for each in groups if each[0].overlaps(group)]:
            groups = [each for each in groups if each not in touched]
            for other, number in touched:
                group, count = group.union(other), count + number
        groups.append((group, count))
    return groups


def _is_real(ball: acb, others: Sequence[acb]) -> bool:
    """Return whether the only eigenvalue in a ball must be its own conjugate.

    The conjugate is an eigenvalue too, as the matrix is real, and could be in no other ball.
    """
    mirrored = acb(ball.real, -ball.imag)
    return all(other is ball or not other.overlaps(mirrored) for other in others)


def _discs(matrix: arb_mat) -> list[acb]:
    """Return Gershgorin's discs of a matrix in the basis of its approximate eigenvectors.

    A group of overlapping discs holds as many eigenvalues as it has discs.
    """
    size = matrix.nrows()
    middle = np.array([float(x.mid()) for x in matrix.entries()]).reshape(size, size)
    vectors = np.linalg.eig(middle)[1].astype(complex)
    basis = acb_mat(size, size, [acb(x.real, x.imag) for x in vectors.ravel()])
    try:
        similar = basis.solve(acb_mat(matrix) * basis)
    except ZeroDivisionError:
        return [acb("nan")] * size
    discs = []
    for n in range(size):
        radius = sum((abs(similar[n, m]) for m in range(size) if m != n), arb(0)).upper()
        discs.append(similar[n, n] + acb(arb(0, radius), arb(0, radius)))
    return discs
