"""Means of forces in one pass, against the derivatives of forces integrated as they stand.

A and B are means of second derivatives of the loss, with delta functions where slopes or labels
jump; here these are integrated on grids of NumPy, with the delta functions written out.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import erf, ndtr

from symderiv.numerics.quadratures import all_forces, force_mean, lattice_mean

EDGES = np.linspace(-8.5, 8.5, 23)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
Z = (((EDGES[1:] + EDGES[:-1]) / 2)[:, None] + np.diff(EDGES)[0] / 2 * NODES).ravel()
W = np.tile(WEIGHTS * np.diff(EDGES)[0] / 2, 22) * np.exp(-(Z**2) / 2) / math.sqrt(2 * math.pi)
INVERSE_ROOT = math.sqrt(2 / math.pi)

ERF = (
    lambda x: erf(x / math.sqrt(2)),
    lambda x: INVERSE_ROOT * np.exp(-x * x / 2),
    lambda x: -x * INVERSE_ROOT * np.exp(-x * x / 2),
)
LINEAR = (lambda x: x, lambda x: 1.0 + 0 * x, lambda x: 0 * x)


def logistic(order, s, t):
    """ℓ, ℓ_s, ℓ_ss, ℓ_st of log(1 + exp(-s t))."""
    p = 1 / (1 + np.exp(s * t))
    return {
        "": np.logaddexp(0, -s * t),
        "s": -t * p,
        "ss": t * t * p * (1 - p),
        "st": -p + s * t * p * (1 - p),
    }[order]


@pytest.fixture
def module(monkeypatch):
    """The functions as they stand in a module, for some loss, activations and target."""

    def made(student=ERF, teacher=ERF, kinks=(), **flags):
        numbers = {
            "FORCE_STEPS": np.array([0.35, 0.82, 7.3]),
            "FORCE_PANELS": np.array([1.3, 1.3, 7.3, 0.03, 1e-13, 0.7, 0.0, 48.0]),
            "FORCE_LATTICE": np.array([1021, 306, 1.25, 0.7, 6.5, 1.5, 0.6, 1021, 306, 0.0]),
            "STUDENT_KINKS": np.zeros(0),
            "TEACHER_KINKS": np.zeros(0),
            "LOSS_KINKS": len(kinks),
            "loss_value": lambda s, t: float(logistic("", s, t)),
            "loss_slope": lambda s, t: float(logistic("s", s, t)),
            "loss_kink": lambda number, s, t: kinks[int(number)](s, t),
            "student_activation": lambda x: float(student[0](x)),
            "student_activation_derivative": lambda x: float(student[1](x)),
            "teacher_activation": lambda x: float(teacher[0](x)),
        }
        names = ("KINKED", "EVEN", "SIGN_TARGET", "STUDENT_LINEAR", "TEACHER_LINEAR")
        numbers |= dict.fromkeys((*names, "TEACHER_KEEPS_SIGN"), 0)
        for name, value in {**numbers, **flags}.items():
            for text in (force_mean, lattice_mean, all_forces):
                monkeypatch.setattr(text, name, value, raising=False)

    return made


def computed(C, v, w, noise=0.0, flip=0.0, biases=None, keep=1.0, scale=1.0, turn=0.0):
    """A, B, dv, Γ, error and mean loss; with biases the mean forces behind them."""
    K = len(v)
    C, v, w = np.array(C, float), np.array(v, float), np.array(w, float)
    moved = np.zeros(len(C)) if biases is None else np.array(biases)
    A, B = np.empty((K, K)), np.empty((K, len(w)))
    dv, Gamma, db = np.empty(K), np.empty((K, K)), np.empty(K)
    fields = C[:K, :K].copy(), C[:K, K:].copy(), C[K:, K:].copy()
    overlaps, numbers = (*fields, v, w, moved[:K], moved[K:]), (noise, flip, turn)
    # the loss is not computed in the same pass
    unused = tuple(map(np.empty_like, (A, B, dv, Gamma, db)))
    loss = all_forces._all_forces(overlaps, numbers, keep, 1.0, unused, True)[1]
    rates = A, B, dv, Gamma, db
    error = all_forces._all_forces(overlaps, numbers, keep, scale, rates, False)[0]
    return A, B, dv, Gamma, error, loss, *(() if biases is None else (db,))


def covariance(seed, size, scale=1.0):
    rows = np.random.default_rng(seed).normal(size=(size, size + 1))
    return scale * rows @ rows.T / (size + 1)


def expected(
    C,
    v,
    w,
    noise=0.0,
    flip=0.0,
    student=ERF,
    teacher=ERF,
    points=Z,
    weights=W,
    biases=None,
    keep=1.0,
    scale=1.0,
):
    """The same by second derivatives, on a product grid of independent variables."""
    weighted, w = np.array(v), np.array(w)
    K, size = len(v), len(C) + (noise > 0)
    L = np.zeros((size, size))
    L[: len(C), : len(C)] = np.linalg.cholesky(C)
    if noise:
        L[-1, -1] = noise
    grids = np.meshgrid(*[points] * size, indexing="ij")
    weight = math.prod(np.meshgrid(*[weights] * size, indexing="ij"))
    fields = [sum(L[i, k] * grids[k] for k in range(i + 1)) for i in range(size)]
    if biases is not None:
        fields = [each + b for each, b in zip(fields, [*biases, 0.0], strict=False)]
    x, y = fields[:K], fields[K : len(C)]
    g, dg, ddg = ([f(each) for each in x] for f in student)
    h, dh = ([f(each) for each in y] for f in teacher[:2])
    u = sum(a * b for a, b in zip(w, h, strict=True))

    def mean(values):
        return float((weight * values).sum())

    A, B = np.zeros((K, K)), np.zeros((K, len(w)))
    dv, Gamma, db, loss = np.zeros(K), np.zeros((K, K)), np.zeros(K), 0.0
    choices = [((1 - flip), 1.0), (flip, -1.0)]
    for (flipped, sign), kept in itertools.product(choices, itertools.product((0, 1), repeat=K)):
        share = flipped * math.prod(keep if each else 1 - keep for each in kept)
        if share == 0.0:
            continue
        v = np.array(kept) * weighted
        s = sum(a * b for a, b in zip(v, g, strict=True)) + 0 * u
        t = sign * u + (fields[-1] if noise else 0.0)
        slope, ss, st = (logistic(order, s, t) for order in ("s", "ss", "st"))
        loss += share * mean(logistic("", s, t))
        for i in range(K):
            dv[i] += share * kept[i] * mean(g[i] * slope)
            db[i] += share * v[i] * mean(dg[i] * slope)
            A[i, i] += share * v[i] * mean(ddg[i] * slope)
            for j in range(K):
                A[i, j] += share * v[i] * v[j] * mean(dg[i] * dg[j] * ss)
                Gamma[i, j] += share * v[i] * v[j] * mean(dg[i] * dg[j] * slope**2)
            for n in range(len(w)):
                B[i, n] += share * v[i] * w[n] * sign * mean(dg[i] * dh[n] * st)
    s = scale * sum(a * b for a, b in zip(weighted, g, strict=True))
    return A, B, dv, Gamma, mean((s - u) ** 2) / 2, loss, *(() if biases is None else (db,))


def agree(found, known, tolerance):
    for value, other in zip(found, known, strict=True):
        np.testing.assert_allclose(value, other, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("K", "M", "noise", "options"),
    [
        (1, 1, 0.0, {"biases": [0.6, -0.4]}),
        (1, 1, 0.0, {"biases": [-1.1, 0.7], "keep": 0.7, "scale": 0.9, "flip": 0.2}),
        (2, 1, 0.0, {"keep": 0.6, "scale": 0.8}),
        (2, 1, 0.0, {"biases": [0.6, -0.9, 0.3], "keep": 0.6}),
        (1, 1, 0.4, {"biases": [0.5, 0.8], "keep": 0.8}),
    ],
)
def test_biases_and_units_that_are_kept(module, K, M, noise, options):
    module(EVEN=int("biases" not in options), FORCE_STEPS=np.array([0.6, 0.8, 6.4]))
    C, v, w = covariance(3, K + M, 0.6), np.array([0.9, -0.6])[:K], np.array([0.8, 0.5])[:M]
    points, weights = np.polynomial.hermite_e.hermegauss(48)
    weights = weights / math.sqrt(2 * math.pi)
    known = expected(C, v, w, noise, points=points, weights=weights, **options)
    agree(computed(C, v, w, noise, **options), known, 1e-6)


@pytest.mark.parametrize("student", [ERF, LINEAR])
@pytest.mark.parametrize("correlation", [0.5, -0.95, 0.0])
def test_labels_of_a_teacher_with_a_bias(module, student, correlation):
    """The label is the sign of y + c; over the teacher's side of its jump outside, x inside."""
    linear = int(student is LINEAR)
    module(student, LINEAR, SIGN_TARGET=1, TEACHER_LINEAR=1, STUDENT_LINEAR=linear)
    Q, T, v, b, c, keep = 0.7, 1.3, 0.9, 0.4, -0.6, 0.7
    R = correlation * math.sqrt(Q * T)
    width = math.sqrt(Q - R * R / T)
    nodes = (Z + 8.5) / 2  # from 0 to 8.5
    weights = np.tile(WEIGHTS * np.diff(EDGES)[0] / 2, 22) / 2
    totals = np.zeros(7)
    for side in (1.0, -1.0):
        y = -c + side * nodes * math.sqrt(T)
        density = weights * np.exp(-y * y / (2 * T)) / math.sqrt(2 * math.pi)
        x = R / T * y[:, None] + width * Z
        for share, kept in ((keep, 1.0), (1 - keep, 0.0)):
            s = kept * v * student[0](x + b)
            f = logistic("s", s, side)
            force = kept * v * student[1](x + b) * f
            parts = (force * x, force * y[:, None], kept * student[0](x + b) * f, force**2, force)
            totals[:5] += share * np.array([density @ (part @ W) for part in parts])
            totals[6] += share * (density @ (logistic("", s, side) @ W))
        totals[5] += density @ ((0.8 * v * student[0](x + b) - side) ** 2 @ W) / 2
    found = computed([[Q, R], [R, T]], [v], [1.0], biases=[b, c], keep=keep, scale=0.8)
    A, B, dv, Gamma, error, loss, db = (np.asarray(each).item() for each in found)
    along = A * Q + B * R, A * R + B * T
    np.testing.assert_allclose([*along, dv, Gamma, db, error, loss], totals, atol=3e-9)


@pytest.mark.days(2)
@pytest.mark.parametrize("weight", [0.8, -0.8])
def test_labels_of_one_teacher_whose_output_has_one_sign(module, weight):
    # the label is a number then, whatever the teacher's field
    module(teacher=(lambda x: x * x, None, None), SIGN_TARGET=1)
    C, v, t = covariance(4, 3), np.array([0.7, -0.4]), math.copysign(1.0, weight)
    A, B, dv, Gamma, error, _ = computed(C, v, [weight])
    fields = np.linalg.cholesky(C[:2, :2]) @ np.array(np.meshgrid(Z, Z)).reshape(2, -1)
    density = np.outer(W, W).ravel()
    g, slope, curvature = (each(fields) for each in ERF)
    s = v @ g
    force = logistic("s", s, t)
    a = v[:, None] * slope
    known = np.einsum("p,ip,jp->ij", density * logistic("ss", s, t), a, a)
    known += np.diag(v * (curvature @ (density * force)))
    np.testing.assert_allclose(A, known, rtol=0, atol=5e-5)
    np.testing.assert_allclose(B, 0.0, atol=5e-5)
    np.testing.assert_allclose(dv, g @ (density * force), rtol=0, atol=5e-5)
    squares = np.einsum("p,ip,jp->ij", density * force**2, a, a)
    np.testing.assert_allclose(Gamma, squares, rtol=0, atol=5e-5)
    assert error == pytest.approx(0.5 * density @ (s - t) ** 2, rel=1e-4)


def test_no_unit_is_kept(module):
    """A student of linear units that puts out nothing still has a loss."""
    module(LINEAR, LINEAR, SIGN_TARGET=1, TEACHER_LINEAR=1, STUDENT_LINEAR=1, EVEN=1)
    loss = computed([[0.7, 0.2], [0.2, 1.3]], [0.9], [1.0], keep=1e-12)[5]
    np.testing.assert_allclose(loss, math.log(2), rtol=1e-9)


def hinge(order, s, t):
    return np.maximum(0.0, 1 - s * t) if order == "" else np.where(s * t < 1, -t, 0.0)


@pytest.mark.turns(6)
@pytest.mark.parametrize(
    ("loss", "K", "M", "noise", "sign"),
    [
        (logistic, 1, 2, 0.0, 1),
        (hinge, 2, 1, 0.0, 1),
        (logistic, 3, 2, 0.0, 0),
        (logistic, 2, 2, 0.8, 0),
    ],
)
def test_many_fields_go_along_a_lattice(module, loss, K, M, noise, sign):
    """Against scrambled Sobol points and forces as they stand; A and B by E[F zᵀ] = (A B) C."""
    flip, keep, scale = 0.35, 0.8 if K == 1 else 1.0, 0.9
    kinks = (lambda s, t: 1 - s * t,) if loss is hinge else ()
    module(
        SIGN_TARGET=sign,
        TEACHER_KEEPS_SIGN=sign,
        KINKED=int(loss is hinge),
        kinks=kinks,
        loss_value=lambda s, t: float(loss("", s, t)),
        loss_slope=lambda s, t: float(loss("s", s, t)),
        FORCE_LATTICE=np.array([251, 71, 1.25, 0.7, 6.0, 1.5, 0.6, 251, 71, 0.0]),
    )
    C = covariance(5, K + M, 0.5) + 0.4
    v, w = np.array([1.7, 0.6, -0.5])[:K], np.array([0.9, 0.7])[:M]
    biases = np.linspace(-0.3, 0.4, K + M)
    samples = []
    for seed in range(6):
        drawn = stats.qmc.Sobol(K + M + 1, rng=seed).random_base2(14)
        normal = stats.norm.ppf(np.clip(drawn, 1e-12, 1 - 1e-12))
        z = normal[:, :-1] @ np.linalg.cholesky(C).T
        x = z + biases
        u = ERF[0](x[:, K:]) @ w
        u = np.sign(u) if sign else u
        total = 0.0
        for (flipped, side), kept in itertools.product(
            ((1 - flip, 1.0), (flip, -1.0)), itertools.product((0, 1), repeat=K)
        ):
            share = flipped * math.prod(keep if each else 1 - keep for each in kept)
            own = np.array(kept) * v
            s, t = ERF[0](x[:, :K]) @ own, side * u + noise * normal[:, -1]
            f = loss("s", s, t)
            F = own * ERF[1](x[:, :K]) * f[:, None]
            parts = (
                (F.T @ z).ravel() / len(z),
                (np.array(kept) * ERF[0](x[:, :K]) * f[:, None]).mean(0),
                (F.T @ F).ravel() / len(z),
                F.mean(0),
                [loss("", s, t).mean()],
            )
            total = total + share * np.concatenate(parts)
        judged = [((scale * ERF[0](x[:, :K]) @ v - u) ** 2).mean() / 2]
        samples.append(np.concatenate([total, judged]))
    mean, error = np.mean(samples, axis=0), np.std(samples, axis=0, ddof=1) / math.sqrt(6)
    options = {"biases": biases, "flip": flip, "keep": keep, "scale": scale}
    A, B, dv, Gamma, off, loss_mean, db = computed(C, v, w, noise, **options)
    moments = np.hstack([A, B]) @ C
    found = [*moments.ravel(), *dv, *Gamma.ravel(), *db, loss_mean, off]
    # of the small lattice, which is made for few other fields
    allowed = {1: 2e-5, 2: 8e-4, 4: 6e-3}[K + M - 1 + (noise > 0)]
    np.testing.assert_array_less(np.abs(found - mean), 6 * error + allowed)


def huber(order, s, t):
    return (
        np.where(abs(s - t) < 1, (s - t) ** 2 / 2, abs(s - t) - 0.5)
        if not order
        else (np.clip(s - t, -1, 1))
    )


def log_cosh(order, s, t):
    return np.tanh(s - t) if order else np.logaddexp(s - t, t - s) - math.log(2)


ONE_FIELD = {
    "labels of two equal teachers": (logistic, (), 1, 2, 1, 1.0),
    "the same with larger fields": (logistic, (), 1, 2, 1, 4.0),
    "labels and kinks": (hinge, (lambda s, t: 1 - s * t,), 1, 2, 1, 2.0),
    "kinks": (huber, (lambda s, t: s - t - 1, lambda s, t: t - s - 1), 2, 1, 0, 2.0),
    "no kink, larger fields": (log_cosh, (), 2, 1, 0, 4.0),
}


def of_one_field(monkeypatch, module, case, lattice, turn):
    """What comes out, and what is true, where all fields are the same."""
    loss, kinks, K, M, sign, T = case
    module(
        SIGN_TARGET=sign,
        TEACHER_KEEPS_SIGN=sign,
        EVEN=1,
        KINKED=int(bool(kinks)),
        kinks=kinks,
        loss_value=lambda s, t: float(loss("", s, t)),
        loss_slope=lambda s, t: float(loss("s", s, t)),
        FORCE_STEPS=np.array([0.35, 0.82, 7.3]),
        FORCE_LATTICE=np.array(lattice),
    )
    monkeypatch.setattr(all_forces, "_MOST_SMOOTH", 0)
    v, w = np.array([1.1, 0.8])[:K], np.full(M, 0.9)
    A, B, dv, Gamma, error, loss_mean = computed(np.full((K + M, K + M), T), v, w, turn=turn)
    found = [*(np.hstack([A, B]).sum(1) * T), *dv, *Gamma.ravel(), error, loss_mean]
    # other variables change nothing; the weights of so few points do not add up to one
    u, points = np.zeros(K + M - 1), int(lattice[0])
    weights = [lattice_mean._lattice_point(j, points, 17, turn, u) for j in range(points)]
    found = np.array(found) / np.mean(weights)

    def values(z):
        g, slope = ERF[0](math.sqrt(T) * z), ERF[1](math.sqrt(T) * z)
        s, t = v.sum() * g, w.sum() * g
        t = np.sign(t) if sign else t
        f = loss("s", s, t)
        forces = v * slope * f
        parts = (forces * math.sqrt(T) * z, np.full(K, g * f), np.outer(forces, forces).ravel())
        return np.concatenate([*parts, [(s - t) ** 2 / 2, loss("", s, t)]])

    # panels between places where a kink or a label may be
    scan = np.linspace(-8.5, 8.5, 1000)
    jumps = [0.0]
    for kink in kinks:

        def gap(z, kink=kink):
            g = float(ERF[0](math.sqrt(T) * z))
            t = w.sum() * g
            return kink(v.sum() * g, math.copysign(1.0, t) if sign else t)

        jumps += [
            optimize.brentq(gap, low, high, xtol=1e-14)
            for low, high in itertools.pairwise(scan)
            if gap(low) * gap(high) < 0.0
        ]
    edges = np.unique(np.concatenate([np.linspace(-8.5, 8.5, 69), jumps]))
    total = 0.0
    for low, high in itertools.pairwise(edges):
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            z = (low + high) / 2 + (high - low) / 2 * node
            density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            total = total + (high - low) / 2 * weight * density * values(z)
    return found, total


@pytest.mark.parametrize("case", ONE_FIELD)
@pytest.mark.parametrize("turn", [0.0, 0.3183])
def test_lines_of_a_lattice_keep_their_digits(monkeypatch, module, case, turn):
    """All fields are one: its labels change at zero exactly, where symmetric lines have a point."""
    steep = float(case == "no kink, larger fields")
    lattice = [61, 17, 1.25, 0.7, 7.5, 1.5, 0.6, 61, 17, steep]
    found, known = of_one_field(monkeypatch, module, ONE_FIELD[case], lattice, turn)
    np.testing.assert_allclose(found, known, rtol=0, atol=5e-7)


def test_other_lattices_show_errors_along_lines(monkeypatch, module):
    lattice = [61, 17, 1.25, 0.7, 7.5, 1.5, 0.6, 61, 17, 0.0]
    case = ONE_FIELD["no kink, larger fields"]
    monkeypatch.setattr(lattice_mean, "_fine_steps", lambda network, slope: (1.3, 1.5))
    found, known = of_one_field(monkeypatch, module, case, lattice, 0.0)
    other, _ = of_one_field(monkeypatch, module, case, lattice, 0.3183)
    error = np.abs(found - known).max()
    assert error > 1e-4
    assert np.abs(other - found).max() > 0.3 * error


@pytest.mark.parametrize("away", [1e-6, 1e-10, 0.0])
def test_rates_keep_their_digits_where_the_student_is_almost_the_teacher(module, away):
    module(SIGN_TARGET=1, TEACHER_KEEPS_SIGN=1, EVEN=1)
    Q, T = 0.7, 1.3
    R = (1 - away) * math.sqrt(Q * T)
    A, B, *_ = computed([[Q, R], [R, T]], [0.9], [1.0])
    # E[F x] and E[F y] with the label sign(x), on one half of the axis
    half, weights = (Z + 8.5) / 2, np.tile(WEIGHTS * np.diff(EDGES)[0] / 2, 22) / 2
    density = 2 * weights * np.exp(-(half**2) / 2) / math.sqrt(2 * math.pi)
    x = math.sqrt(Q) * half
    force = 0.9 * ERF[1](x) * logistic("s", 0.9 * ERF[0](x), 1.0)
    known = density @ (force * x)
    # what differs is of the order of the angle between the fields, squared
    found = np.array([(A * Q + B * R).item(), (A * R + B * T).item()])
    np.testing.assert_allclose(found, [known, known * math.sqrt(T / Q)], atol=away + 1e-10)


def test_delta_functions_of_a_loss_with_a_kink(module):
    """Hinge and linear units: B = v w E[-θ + s t δ(1 - s t)], A = v² E[t² δ(1 - s t)]."""
    module(
        LINEAR,
        LINEAR,
        kinks=(lambda s, t: 1 - s * t,),
        KINKED=1,
        EVEN=1,
        STUDENT_LINEAR=1,
        TEACHER_LINEAR=1,
        loss_value=lambda s, t: max(0.0, 1 - s * t),
        loss_slope=lambda s, t: -t if s * t < 1 else 0.0,
    )
    Q, R, T, v, w = 0.8, 0.5, 1.2, 1.1, 0.9
    A, B, *_ = computed([[Q, R], [R, T]], [v], [w])
    # over u = log|x|, on which roots y = 1/(v w x) and densities are smooth
    u = np.linspace(-40, 4, 4001)
    x = np.exp(u)
    y = 1 / (v * w * x)
    D = Q * T - R * R

    def density(x, y):
        square = (T * x * x - 2 * R * x * y + Q * y * y) / D
        return np.exp(-square / 2) / (2 * math.pi * math.sqrt(D))

    on = 2 * density(x, y) / (v * w * x)  # δ(1 - s t) as a density in x, both signs of x
    step = u[1] - u[0]
    below = 1 - 2 * step * np.sum(x * given_above(x, y, Q, R, T))
    np.testing.assert_allclose(A.item(), v * v * step * np.sum(x * on * (w * y) ** 2), atol=1e-6)
    np.testing.assert_allclose(B.item(), v * w * (step * np.sum(x * on) - below), atol=1e-6)


def given_above(x, y, Q, R, T):
    """The density at x times the probability of a larger y."""
    width = math.sqrt(T - R * R / Q)
    return np.exp(-x * x / (2 * Q)) / math.sqrt(2 * math.pi * Q) * ndtr((R / Q * x - y) / width)
