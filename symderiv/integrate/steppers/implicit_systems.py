"""Linear systems of all modes, eliminated and solved at once; one for each eigenvalue of a method.

Matrices are complex, kept as real and imaginary parts, with the index of the mode last. There are
no pivots: a matrix for which that fails gives a change of the state that is no good, and the step
is made shorter.
"""

from __future__ import annotations

from symderiv.compiled_code.compiled import hidden_part


@hidden_part
def eliminate_all(work, system, real, imaginary):  # type: ignore[no-untyped-def]
    """Eliminate the matrices of a system for mu, with the border and without."""
    S, B, L = work.border.shape
    G = work.alone.size
    matrix_r, matrix_i = work.real[system], work.imaginary[system]
    for a in range(S):
        for b in range(S):
            for k in range(L):
                matrix_r[a, b, k] = -work.blocks[a, b, k]
                matrix_i[a, b, k] = 0.0
        for k in range(L):
            matrix_r[a, a, k] += real
            matrix_i[a, a, k] = imaginary
    _eliminate(matrix_r, matrix_i)
    small_r, small_i = work.small_real[system], work.small_imaginary[system]
    first_r, first_i = work.first_real, work.first_imaginary
    for c in range(B):
        for a in range(S):
            for k in range(L):
                first_r[a, k], first_i[a, k] = work.border[a, c, k], 0.0
        _substitute(matrix_r, matrix_i, first_r, first_i)
        for a in range(G):
            small_r[a, c, 0], small_i[a, c, 0] = -work.corner[a, c], 0.0
        for a in range(B - G):
            sum_r, sum_i = _summed(work, a)
            small_r[G + a, c, 0], small_i[G + a, c, 0] = -sum_r, -sum_i
        small_r[c, c, 0] += real if c < G else 1.0
        small_i[c, c, 0] += imaginary if c < G else 0.0
    _eliminate(small_r, small_i)


@hidden_part
def solve_all(work, system):  # type: ignore[no-untyped-def]
    """Solve a system for what stands in ``change_real`` and ``change_imaginary``, in its place."""
    S, B, L = work.border.shape
    G = work.alone.size
    change_r, change_i = work.change_real[system], work.change_imaginary[system]
    modes_r, modes_i = work.first_real, work.first_imaginary
    matrix_r, matrix_i = work.real[system], work.imaginary[system]
    _take_rows(work, change_r, change_i)
    _substitute(matrix_r, matrix_i, modes_r, modes_i)
    sums_r, sums_i = work.sums_real, work.sums_imaginary
    for a in range(G):
        place = int(work.alone[a])
        sums_r[a, 0], sums_i[a, 0] = change_r[place], change_i[place]
    for a in range(B - G):
        sums_r[G + a, 0], sums_i[G + a, 0] = _summed(work, a)
    _substitute(work.small_real[system], work.small_imaginary[system], sums_r, sums_i)
    _take_rows(work, change_r, change_i)
    for c in range(B):
        real, imaginary = sums_r[c, 0], sums_i[c, 0]
        if real == 0.0 and imaginary == 0.0:
            continue
        for a in range(S):
            for k in range(L):
                modes_r[a, k] += work.border[a, c, k] * real
                modes_i[a, k] += work.border[a, c, k] * imaginary
    _substitute(matrix_r, matrix_i, modes_r, modes_i)
    for a in range(S):
        begin = int(work.rows[a])
        for k in range(L):
            change_r[begin + k], change_i[begin + k] = modes_r[a, k], modes_i[a, k]
    for a in range(G):
        place = int(work.alone[a])
        change_r[place], change_i[place] = sums_r[a, 0], sums_i[a, 0]


@hidden_part
def _take_rows(work, change_r, change_i):  # type: ignore[no-untyped-def]
    """Fill ``first_real`` and ``first_imaginary`` with the modes of a vector."""
    S, L = work.first_real.shape
    for a in range(S):
        begin = int(work.rows[a])
        for k in range(L):
            work.first_real[a, k] = change_r[begin + k]
            work.first_imaginary[a, k] = change_i[begin + k]


@hidden_part
def _summed(work, number):  # type: ignore[no-untyped-def]
    """Return a sum over modes in ``first_real`` and ``first_imaginary``."""
    real, imaginary, row = 0.0, 0.0, int(work.summed[number])
    for k in range(work.weights.shape[1]):
        real += work.weights[number, k] * work.first_real[row, k]
        imaginary += work.weights[number, k] * work.first_imaginary[row, k]
    return real, imaginary


@hidden_part
def _eliminate(real, imaginary):  # type: ignore[no-untyped-def]
    """Write a matrix as a product of triangles, in its place, with inverses on the diagonal."""
    count, _, L = real.shape
    for p in range(count):
        for k in range(L):
            r, i = real[p, p, k], imaginary[p, p, k]
            inverse = 1.0 / (r * r + i * i)
            real[p, p, k], imaginary[p, p, k] = r * inverse, -i * inverse
        for a in range(p + 1, count):
            if _is_zero(real[a, p], imaginary[a, p]):
                continue
            for k in range(L):
                r, i = real[a, p, k], imaginary[a, p, k]
                u, w = real[p, p, k], imaginary[p, p, k]
                real[a, p, k], imaginary[a, p, k] = r * u - i * w, r * w + i * u
            for b in range(p + 1, count):
                if not _is_zero(real[p, b], imaginary[p, b]):
                    _subtract(real[a, p], imaginary[a, p], (real[p, b], imaginary[p, b]),
                              real[a, b], imaginary[a, b])  # fmt: skip


@hidden_part
def _substitute(real, imaginary, x, y):  # type: ignore[no-untyped-def]
    """Solve for x + i y, (count, L), with an eliminated matrix."""
    count, _, L = real.shape
    for a in range(count):
        for b in range(a):
            if not _is_zero(real[a, b], imaginary[a, b]):
                _subtract(real[a, b], imaginary[a, b], (x[b], y[b]), x[a], y[a])
    for step in range(count):
        a = count - 1 - step
        for b in range(a + 1, count):
            if not _is_zero(real[a, b], imaginary[a, b]):
                _subtract(real[a, b], imaginary[a, b], (x[b], y[b]), x[a], y[a])
        for k in range(L):
            r, i = x[a, k], y[a, k]
            u, w = real[a, a, k], imaginary[a, a, k]
            x[a, k], y[a, k] = r * u - i * w, r * w + i * u


@hidden_part
def _is_zero(real, imaginary):  # type: ignore[no-untyped-def]
    """Tell whether a vector is zero: most entries of a block are zero in all modes or in none."""
    for k in range(real.size):  # noqa: SIM110 - compiled code has no all()
        if real[k] != 0.0 or imaginary[k] != 0.0:
            return False
    return True


@hidden_part
def _subtract(real, imaginary, other, x, y):  # type: ignore[no-untyped-def]
    """x + i y -= (real + i imaginary) times another vector."""
    u, w = other
    for k in range(real.size):
        x[k] -= real[k] * u[k] - imaginary[k] * w[k]
        y[k] -= real[k] * w[k] + imaginary[k] * u[k]
