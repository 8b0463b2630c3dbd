"""Learning rules on vectors: the update of each to the letter, in plain loops; ways to end."""

import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import erf
from support.laws import apart

import symderiv as sd
from symderiv.foundation.errors import InputError, NotYetError
from symderiv.problem.initial import RUNS, initial, stream
from symderiv.problem.timetable import task_weights

# every form of a step is compiled once: a part of them a day
pytestmark = pytest.mark.turns(6)

N, K, M = 12, 3, 2
EXAMPLES = 30
LATENT = sd.HiddenManifold("sign", dimension=N, latent_dimension=6)
COMMON = {
    "students": K,
    "teachers": M,
    "student_weights": [0.5, -0.8, 1.1],
    "teacher_weights": [0.9, -0.7],
    "inputs": sd.Spectrum([1.6, 0.4], dimension=N),
    "learning_rate": 0.7,
    "student_std": 0.6,
    "seed": 4,
}
SLOPES = {
    "squared": lambda s, t: s - t,
    "logistic": lambda s, t: -t / (1 + math.exp(s * t)),
    "exponential": lambda s, t: -t * math.exp(-s * t),
    "hinge": lambda s, t: -t if s * t < 1 else 0.0,
    "huber": lambda s, t: min(max(s - t, -1.0), 1.0),
    "(s-t)**4/4 + s": lambda s, t: (s - t) ** 3 + 1,
}
CASES = {
    "plain": {
        "inputs": sd.Spectrum([1.7, 0.3, 0.0], weights=[0.5, 0.25, 0.25], dimension=N),
        "train_second_layer": True,
        "second_layer_learning_rate": 0.6,
        "weight_decay": 0.3,
        "second_layer_weight_decay": 0.2,
        "label_noise": 0.4,
    },
    "logistic loss of signs": {"loss": "logistic", "target": "sign"},
    "exponential": {"loss": "exponential", "target": "sign"},
    "hinge": {"loss": "hinge", "target": "sign", "label_flip": 0.3},
    "huber": {"loss": "huber", "teacher_weights": 3.0},
    "quartic": {"loss": "(s-t)**4/4 + s"},
    "flips and noise": {"label_flip": 0.4, "label_noise": 0.5},
    "dropout, second layer": {"keep": 0.6, "train_second_layer": True, "weight_decay": 0.4},
    "input noise": {"input_noise": 0.8},
    "batches": {"batch": 5, "train_second_layer": True, "second_layer_weight_decay": 0.3},
    "large batches": {"batch_ratio": 0.5, "train_biases": True, "train_second_layer": True},
    "momentum": {"momentum": 0.6, "keep": 0.7, "train_second_layer": True, "weight_decay": 0.2},
    "slow momentum": {"momentum_rate": 2.0, "label_noise": 0.3},
    "sphere": {"normalise": "sphere"},
    "table of rates": {"schedule": {"times": [0, 0.5], "rates": [1.0, 0.3]}},
    "power law": {"schedule": {"power": 0.7, "after": 1.5}, "train_second_layer": True},
    "formula": {"schedule": "1/(1+alpha)**2"},
    "biases": {
        "student_biases": [0.3, -0.2, 0.1],
        "teacher_biases": [0.5, -0.4],
        "train_biases": True,
        "bias_learning_rate": 1.3,
    },
    "tasks": {
        "teachers": 3,
        "teacher_weights": [0.9, -0.7, 1.2],
        "train_second_layer": True,
        "second_layer_weight_decay": 0.5,
        "keep": 0.8,
        "label_flip": 0.2,
        "tasks": [
            {"until": 0.7, "teachers": [0]},
            {"until": 1.2, "teachers": [1, 2]},
            {"mixture": {"0": 0.4, "1": 0.6}},
        ],
    },
    "gradients in the loss, momentum": {
        "sobolev_weight": 0.6,
        "momentum": 0.6,
        "label_noise": 0.3,
        "keep": 0.8,
        "train_second_layer": True,
        "teacher_biases": [0.5, -0.4],
    },
    "gradients in the loss, slow momentum": {
        "sobolev_weight": 0.6,
        "momentum_rate": 2.0,
        "train_biases": True,
        "weight_decay": 0.3,
    },
    "gradients in the loss of large batches": {"sobolev_weight": 0.4, "batch_ratio": 0.5},
    "noise of the update": {"update_noise": 0.7, "weight_decay": 0.3, "batch": 3},
    "noise of velocities": {"update_noise": 0.7, "momentum_rate": 2.0, "train_biases": True},
    "curriculum": {
        "tasks": [
            {"until": 1.2, "teachers": [0], "data": sd.Spectrum([0.5, 2.5])},
            {"teachers": [1]},
        ],
    },
    "tasks with a shared head": {
        "train_second_layer": True,
        "input_noise": 0.3,
        "tasks": [
            {"until": 1.0, "teachers": [0], "head": "shared"},
            {"teachers": [1], "head": "shared"},
        ],
    },
}


def problem_of(case: str) -> sd.Problem:
    return sd.Problem("erf", **{**COMMON, **CASES[case]}, simulation={"runs": 2})


def rate_factor(schedule, alpha: float) -> float:
    if schedule is None:
        return 1.0
    if isinstance(schedule, str):
        return 1 / (1 + alpha) ** 2
    if "times" in schedule:
        return schedule["rates"][0 if alpha < schedule["times"][1] else 1]
    return 1.0 if alpha < schedule["after"] else (alpha / schedule["after"]) ** -schedule["power"]


def by_the_letter(problem: sd.Problem, run: int) -> SimpleNamespace:
    """Weights after the last example: one example after the other, from the manual's words."""
    study = problem._study
    told, seed = study.training, study.initial.seed
    random = [stream(seed, RUNS, run, *((p,) if p else ())) for p in range(7)]
    drawn = 1 + (told.input_noise > 0) + K * (told.update_noise > 0)
    vectors = initial(study).vectors
    J, B, rho = vectors.student.copy(), vectors.teacher, vectors.variance
    c, v_teacher, b = study.teacher_biases, study.teacher_weights, study.student_biases.copy()
    parts, many = study.task, 2 if study.task else 1
    shared = bool(parts) and parts[0].head == "shared"
    heads = [study.student_weights.copy() for _ in range(1 if shared else many)]
    eta, eta_v = told.learning_rate, study.second_layer_learning_rate
    eta_b = eta if told.bias_learning_rate is None else told.bias_learning_rate
    size = told.batch or (round(told.batch_ratio * N) if told.batch_ratio else 1)
    whole = N if told.batch_ratio else 1 / N if told.momentum_rate else 1
    beta = 1 - told.momentum_rate / N if told.momentum_rate else told.momentum
    lengths = [Ji @ (rho * Ji) for Ji in J]
    curriculum = bool(parts) and parts[0].data is not None
    VJ, Vb, Vv = np.zeros_like(J), np.zeros(K), [np.zeros(K) for _ in heads]
    for first in range(0, EXAMPLES, size):
        dJ, db, dv = np.zeros_like(J), np.zeros(K), [np.zeros(K) for _ in heads]
        alpha, decay, added = first / N, [0.0 for _ in heads], None
        for example in range(first, first + size):
            own = rho
            if curriculum and example < round(parts[0].until * N):
                own = np.repeat(parts[0].data.eigenvalues, N // 2)
            z = random[0].standard_normal((drawn, N))
            xi = np.sqrt(own) * z[0]
            if told.update_noise and added is None:
                added = z[-K:]
            taught, head = range(study.M), 0
            if parts:
                u = random[6].random() if many > 1 else 0.0
                now = 0 if example < round(parts[0].until * N) else 1
                if len(parts) == 3 and example >= round(parts[1].until * N):
                    now = 0 if u < parts[2].mixture["0"] else 1
                taught, head = parts[now].teachers, 0 if shared else now
            t = sum(v_teacher[n] * erf((B[n] @ xi / N**0.5 + c[n]) / 2**0.5) for n in taught)
            t = math.copysign(1, t) if told.target == "sign" else t
            if told.label_flip:
                t *= -1 if random[3].random() < told.label_flip else 1
            if told.label_noise:
                t += told.label_noise * random[1].standard_normal()
            seen, mask = xi, np.ones(K)
            if told.input_noise:
                seen = xi + told.input_noise * z[1]
            if told.keep < 1:
                mask = random[3].random(K) >= 1 - told.keep
            x = J @ seen / N**0.5 + b
            g, slope = erf(x / 2**0.5), (2 / math.pi) ** 0.5 * np.exp(-(x**2) / 2)
            pull = SLOPES[told.loss](np.sum(mask * heads[head] * g), t)
            # √N times the difference of the gradients of s and t by the input
            steep = (2 / math.pi) ** 0.5 * np.exp(-((B @ xi / N**0.5 + c) ** 2) / 2)
            gap = (mask * heads[head] * slope) @ J - (v_teacher * steep) @ B
            along = told.sobolev_weight * J @ gap / N
            F = mask * heads[head] * slope * (pull - x * along)
            dJ -= eta / N**0.5 * np.outer(F, seen) / size
            dJ -= eta / N * told.sobolev_weight * np.outer(mask * heads[head] * slope, gap) / size
            db -= eta_b / N * F / size * study.network.train_biases
            dv[head] -= eta_v / N * mask * (g * pull + slope * along) / size
            decay[head] += study.second_layer_weight_decay / N / size
        factor = rate_factor(told.schedule, alpha)
        if told.update_noise:
            dJ += told.update_noise / N**0.5 * added
        VJ, Vb = beta * VJ + whole * factor * dJ, beta * Vb + whole * factor * db
        J, b = (1 - told.weight_decay / N) * J + VJ, b + Vb
        for head in range(len(heads)):
            Vv[head] = beta * Vv[head] + whole * factor * dv[head]
            heads[head] = (1 - decay[head]) * heads[head] + Vv[head]
        if told.normalise == "sphere":
            for i in range(K):
                J[i] *= math.sqrt(lengths[i] / (J[i] @ (rho * J[i])))
    U = N * VJ
    overlaps = {"Q": (J, J), "R": (J, B), "P": (U, J), "W": (U, U), "C": (U, B)}
    found = {name: a * rho @ other.T / N for name, (a, other) in overlaps.items()}
    return SimpleNamespace(**found, v=heads, b=b)


@pytest.mark.parametrize("case", CASES)
def test_runs_follow_the_rule_to_the_letter(case):
    problem = problem_of(case)
    result = problem.simulate(alpha=[0, EXAMPLES / N])
    for run in range(2):
        expected = by_the_letter(problem, run)
        for name in ("Q", "R", *(set(result.further) & {"P", "W", "C", "b"})):
            found = getattr(result, name)[run, -1]
            np.testing.assert_allclose(found, getattr(expected, name), rtol=1e-9, atol=1e-11)
            assert np.max(np.abs(found - getattr(result, name)[run, 0])) > 1e-3
        found = result.heads[run, -1] if "heads" in result.further else [result.v[run, -1]]
        np.testing.assert_allclose(found, expected.v, rtol=1e-9)
        np.testing.assert_array_equal(result.v[run, -1], found[0])


@pytest.mark.parametrize(
    "change",
    [
        {"momentum_rate": 2.0, "label_flip": 0.2, "loss": "huber", "input_noise": 0.5},
        {"batch": 3, "update_noise": 0.8, "keep": 0.7, "tasks": CASES["curriculum"]["tasks"]},
    ],
)
def test_runs_without_vectors_have_the_law_of_those_with(change):
    """Means and variances of all that is reported over many runs, at a small dimension."""
    more = {**COMMON, "inputs": sd.Spectrum([1.6, 0.4], dimension=24), **change}
    runs, alpha = 96, [1.0]
    whole, gram = (
        sd.Problem("linear", **more, simulation={"method": method}).simulate(runs=runs, alpha=alpha)
        for method in ("vectors", "gram")
    )
    assert (whole.method, gram.method) == ("vectors", "gram")
    for name in ("Q", "R", "generalization_error", *whole.further):
        one, other = (np.asarray(getattr(each, name)) for each in (whole, gram))
        assert apart(one, other) < 4.5, name


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"batch_ratio": 6.0, "simulation": {"method": "gram"}}, "method"),
        ({"batch": 65, "simulation": {"method": "gram"}}, "method"),
        ({"normalise": "sphere", "student_std": 0.0}, "normalise"),
        ({"keep": 0.5, "inputs": LATENT}, "model"),
    ],
)
def test_what_is_not_simulated_together_is_refused_by_name(change, argument):
    with pytest.raises((InputError, NotYetError)) as refusal:
        sd.Problem("erf", **{**COMMON, **change}).simulate(runs=1, end=0.1)
    assert refusal.value.argument.endswith(argument)


def test_results_of_rules_are_kept_with_their_axes(tmp_path):
    result = problem_of("tasks").simulate(alpha=[0, 2.5], output=tmp_path / "s.nc")
    kept = sd.open(result.output).to_xarray()
    assert kept["task_error_run"].dims == ("run", "alpha", "task")
    np.testing.assert_allclose(kept["heads"], result.mean("heads"))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(result)).heads, result.heads)


def test_tasks_are_taught_by_the_teachers_of_a_state_file(tmp_path):
    # whose output weights are not those that the study would have by default
    problem = problem_of("tasks with a shared head").replace(input_noise=0.0)
    file = tmp_path / "s.npz"
    initial(problem._study).state.save(file)
    arguments = {**COMMON, **CASES["tasks with a shared head"]}
    for name in ("student_weights", "teacher_weights", "student_std", "seed", "input_noise"):
        arguments.pop(name)
    again = sd.Problem("erf", **arguments, state=file)
    np.testing.assert_allclose(
        again.simulate(runs=1, alpha=[0]).task_error,
        problem.simulate(runs=1, alpha=[0]).task_error,
        rtol=1e-12,
    )
    tables = [
        task_weights(each._study, 1, initial(each._study).state.teacher_weights)
        for each in (problem, again)
    ]
    np.testing.assert_array_equal(tables[0], [0.0, -0.7])
    np.testing.assert_array_equal(*tables)


@pytest.mark.parametrize("weight", [0.0, 0.8])
def test_a_normalised_step_is_the_plain_one_over_its_root_mean_square(weight: float):
    problem = sd.Problem(
        "erf",
        **{**COMMON, "label_noise": 0.4, "keep": 0.8, "sobolev_weight": weight},
        simulation={"runs": 2},
    )
    first, plain = (
        each.simulate(alpha=[0, 1 / N]).R
        for each in (problem.replace(normalise="gradient"), problem)
    )
    step, divided = plain[:, 1] - plain[:, 0], first[:, 1] - first[:, 0]
    ratio = np.sum(np.abs(step)) / np.sum(np.abs(divided))
    np.testing.assert_allclose(step, ratio * divided, rtol=1e-9, atol=1e-14)
    # the mean over many examples of an input space of this size, drawn here
    random, vectors = np.random.default_rng(3), initial(problem._study).vectors
    v, w = problem._study.student_weights, problem._study.teacher_weights
    xi = np.sqrt(vectors.variance) * random.standard_normal((100_000, N))
    x, y = xi @ vectors.student.T / N**0.5, xi @ vectors.teacher.T / N**0.5
    mask = random.random((100_000, K)) < 0.8
    t = erf(y / 2**0.5) @ w + 0.4 * random.standard_normal(100_000)
    pull = np.sum(mask * v * erf(x / 2**0.5), axis=1) - t
    steep, taught = ((2 / math.pi) ** 0.5 * np.exp(-(each**2) / 2) for each in (x, y))
    gap = (mask * v * steep) @ vectors.student - (w * taught) @ vectors.teacher
    along = weight * gap @ vectors.student.T / N
    force = mask * v * steep * (pull[:, None] - x * along)
    square = np.mean(np.sum(force**2, axis=1)) * np.mean(vectors.variance)
    assert ratio == pytest.approx(math.sqrt(square), rel=0.02)


def test_a_key_of_a_rule_can_be_taken_back_and_another_given():
    problem = problem_of("large batches")
    assert problem.replace(batch_ratio=None, batch=4).batch == 4
    with pytest.raises(InputError) as refusal:
        problem.replace(batch=4)
    assert refusal.value.argument in ("batch", "batch_ratio")
