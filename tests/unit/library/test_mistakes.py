"""Mistakes of a new user in Python, each with the mend that its one line has to name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symderiv as sd

S: Any = sd  # calls that no type checker would let through


def problem(**more: Any) -> Any:
    return S.Problem("erf", **{"students": 2, "teachers": 2, **more})


def solved(**asked: Any) -> Any:
    P = S.System()
    x, w, B = P.inputs("x"), P.vectors("w"), P.vectors("B", fixed=True)
    P.descend((w @ x - B @ x) ** 2 / 2, {w: 0.5})
    return P.solve(1, initial={"w.w": 1, "w.B": 0, "B.B": 1}, **asked)


def at_rest(kind: str, **asked: Any) -> Any:
    return problem().equilibrium(alpha=[1.0], kind=kind, **asked)


def started(**start: Any) -> Any:
    return problem(inputs=sd.Isotropic(20)).solve(end=1, initial=start, progress=False)


MISTAKES: list[tuple[str, Callable[[], Any], str]] = [
    ("another library's name of the rate", lambda: problem(lr=0.1), "learning_rate"),
    ("a slip in the rate", lambda: problem(learning_rat=0.1), "learning_rate"),
    ("the letter of the units", lambda: problem(K=3), "students"),
    ("hidden units", lambda: problem(hidden_units=3), "students"),
    ("batch size", lambda: problem(batch_size=10), "batch"),
    ("another library's name of the seed", lambda: problem(random_state=1), "seed"),
    ("an activation that is none", lambda: S.Problem("errf", students=2, teachers=2), "erf"),
    ("an activation of NumPy", lambda: S.Problem(np.tanh, students=2, teachers=2), "'tanh'"),
    ("lists without keys", lambda: problem().sweep(over=[0.1, 0.2]), "over={key: […]}"),
    ("a slip in a list", lambda: problem().ensemble(over={"learning_rat": [1.0]}), "learning_rate"),
    ("a grid of a number", lambda: problem().grid(learning_rate=0.1), "learning_rate=[…]"),
    ("units by place", lambda: S.Problem("erf", 2, 2), "students="),
    ("no teachers", lambda: S.Problem("erf", students=2), "teachers="),
    ("no activation", lambda: S.Problem(students=2, teachers=2), "activation="),
    ("a negative rate", lambda: problem(learning_rate=-1.0), "greater than or equal to 0"),
    ("a rate that is a text", lambda: problem(learning_rate="fast"), "a number"),
    ("half a unit", lambda: problem(students=2.5), "whole number"),
    ("no unit", lambda: problem(students=0), "greater than or equal to 1"),
    ("another order", lambda: problem(order="small"), "small-learning-rate"),
    ("another target", lambda: problem(target="labels"), "sign"),
    ("a flip that is no probability", lambda: problem(label_flip=1.5), "less than or equal to 1"),
    ("a loss that is none", lambda: problem(loss="mse"), "squared"),
    ("a loss with a hyphen", lambda: problem(loss="log-cosh"), "losses with a name: squared"),
    ("a loss without s", lambda: problem(loss="t**2"), "s, the student's output"),
    ("weights of another number", lambda: problem(student_weights=[1, 1, 1]), "expected 2"),
    ("weights of another letter", lambda: problem(student_weights="1/sqrt(N)"), "N"),
    ("dimension beside the inputs", lambda: problem(dimension=100), "sd.Isotropic(dimension="),
    ("exponent beside the inputs", lambda: problem(exponent=1.0), "sd.PowerLaw(exponent="),
    ("eigenvalues beside the inputs", lambda: problem(eigenvalues=[1, 2]), "sd.Spectrum("),
    ("inputs as a name", lambda: problem(inputs="isotropic"), "sd.Isotropic("),
    ("samples as inputs", lambda: problem(inputs=np.ones((5, 3))), "sd.Covariance(samples=array)"),
    ("eigenvalues as inputs", lambda: problem(inputs=[2.0, 1.0]), "sd.Spectrum(eigenvalues)"),
    ("no covariance", lambda: problem(inputs=[[1.0, 0.5], [0.2, 1.0]]), "is not symmetric"),
    ("inputs of words", lambda: problem(inputs=[["a"]]), "sd.Isotropic("),
    ("an end in the problem", lambda: problem(end=10), "time={"),
    ("momentum of one", lambda: problem(momentum=1.0), "less than 1"),
    ("two momenta", lambda: problem(momentum=0.5, momentum_rate=1.0), "remove one"),
    ("averaging alone", lambda: problem(averaging_rate=1.0), "consistency_weight"),
    ("a schedule of a list", lambda: problem(schedule={"time": [0]}), "times"),
    (
        "a schedule that becomes negative",
        lambda: problem(schedule="1 - alpha").solve(alpha=[0, 1, 2]),
        "schedule: is negative at alpha = 1.01562, where its value is -0.015625",
    ),
    (
        "a simulated schedule that is negative",
        lambda: problem(schedule="-alpha").simulate(end=0.01),
        "schedule: is negative",
    ),
    (
        "a task with a teacher",
        lambda: problem(tasks=[{"teacher": [0], "until": 1}, {"teachers": [1]}]),
        "tasks[0].teacher: unknown key; did you mean teachers?",
    ),
    (
        "an end that is no condition",
        lambda: problem().solve(end=1, until="R[1,1] > "),
        "until: 'R[1,1] > '",
    ),
    (
        "an end at an event of another name",
        lambda: problem().solve(end=1, events=["R[9,9] > 0"], until="R[1,1] > 3"),
        "events: ",
    ),
    (
        "derivatives of a rate that changes",
        lambda: problem(schedule="1/(1 + alpha)").jacobian(),
        "schedule: makes the rates depend on more than the state; leave it out",
    ),
    ("dim", lambda: S.Isotropic(dim=100), "dimension"),
    ("half a dimension", lambda: S.Isotropic(10.5), "whole number"),
    ("a power law without exponent", lambda: S.PowerLaw(8), "exponent="),
    ("an exponent by place", lambda: S.PowerLaw(8, 1.0), "exponent="),
    ("beta", lambda: S.PowerLaw(8, beta=1.0), "exponent"),
    (
        "L does not divide N",
        lambda: problem(inputs=sd.PowerLaw(8, exponent=1.0, dimension=100)),
        "inputs.distinct_eigenvalues: 8 does not divide",
    ),
    ("negative variance", lambda: problem(inputs=sd.Spectrum([1.0, -0.5])), "inputs.eigenvalues: "),
    (
        "weights do not sum to 1",
        lambda: problem(inputs=sd.Spectrum([1.0, 0.5], weights=[0.5, 0.4])),
        "must be 1",
    ),
    ("a covariance with a hole", lambda: problem(inputs=S.Covariance([[1, np.nan], [0, 1]])), "[0"),
    ("a file that is not there", lambda: problem(inputs=sd.Covariance("no.npz")), "no.npz"),
    ("no end, nothing learnt", lambda: problem(learning_rate=0.0).solve(), "give time.end"),
    ("an end by place", lambda: problem().solve(50), "end="),
    ("epochs", lambda: problem().solve(epochs=50), "end"),
    ("another solver's tolerance", lambda: problem().solve(end=1, rtol=1e-6), "relative_tolerance"),
    ("another solver's times", lambda: problem().solve(t_eval=[1.0]), "alpha"),
    ("times backwards", lambda: problem().solve(alpha=[2.0, 1.0]), "ascending"),
    ("a tolerance of one", lambda: problem().solve(end=1, relative_tolerance=1.0), "0.1"),
    ("a start of a list", lambda: problem().solve(end=1, initial=[1.0]), "dictionary of Q and R"),
    ("a start of another shape", lambda: started(Q=np.eye(3), R=np.eye(2)), "expected (2, 2)"),
    ("a start of another letter", lambda: started(q=np.eye(2), R=np.eye(2)), "Q"),
    ("students without teachers", lambda: started(J=np.ones((2, 20))), "J and B"),
    (
        "weights of other inputs",
        lambda: started(J=np.ones((2, 30)), B=np.ones((2, 30))),
        "expected (2, 20)",
    ),
    ("a slip in replace", lambda: problem().replace(learning_rte=1.0), "learning_rate"),
    ("a slip in a sweep", lambda: problem().grid(sed=[1, 2]), "seed"),
    (
        "a number for a list",
        lambda: problem().ensemble(end=1, learning_rate=0.1),
        "learning_rate=[…]",
    ),
    ("a map over one key", lambda: problem().map("status", over={"seed": (0, 1)}), "two keys"),
    (
        "a quantity that is none",
        lambda: problem(time={"end": 1.0}).map(
            "plateau_len", over={"learning_rate": (0.1, 1.0), "student_std": (0.1, 1.0)}
        ),
        "plateau_length",
    ),
    ("rates without R", lambda: problem().rates(Q=np.eye(2)), "R"),
    ("a slip in a covariance", lambda: S.mean("erf(x)*y", covarience=[[1]]), "covariance"),
    ("a mean of nothing", lambda: S.mean(), "expression="),
    ("a function that is none", lambda: S.mean("errf(x)*y", [[1, 0], [0, 1]]), "erf"),
    ("a covariance outside the cone", lambda: S.mean("x*y", [[1, 2], [2, 1]]), "covariance"),
    ("a file that is not there to open", lambda: S.open("nowhere.nc"), "nowhere.nc"),
    ("units by another name", lambda: S.plateau(unit=2), "units"),
    ("a plateau without a teacher", lambda: S.plateau(units=2), "T1, D1, T2 and D2"),
    ("a state by other names", lambda: S.State(Q=1, R=1), "student_overlap"),
    ("another language", lambda: problem().export("fortran"), "python"),
    (
        "a near miss in an event",
        lambda: problem().solve(end=1e9, events=["generalisation_error < 0.1"]),
        "did you mean generalization_error?",
    ),
    ("eta to follow", lambda: problem().fixed_points(follow={"eta": (0, 1)}), "learning_rate"),
    (
        "one key to follow twice",
        lambda: problem().fixed_points(
            follow={"learning_rate": (0, 5), "training.learning_rate": (0, 4)}
        ),
        "followed twice",
    ),
    ("a rate that is no number", lambda: problem(learning_rate=np.nan), "got nan"),
    ("an end that is no number", lambda: problem().solve(end=np.nan), "end: should be a finite"),
    ("a grid to infinity", lambda: problem().grid(learning_rate=[0.1, np.inf]), "got inf"),
    ("an eigenvalue that is no number", lambda: S.Spectrum([1.0, np.nan]), "eigenvalues[1]"),
    ("an exponent of text", lambda: S.PowerLaw(4, exponent="x"), "exponent: "),
    ("no eigenvalues", lambda: S.PowerLaw(0, exponent=1), "distinct_eigenvalues: "),
    ("a variance without end", lambda: S.Spectrum([1.0, np.inf]), "eigenvalues[1]: "),
    (
        "two numbers of latents",
        lambda: S.HiddenManifold("relu", latent_ratio=0.5, dimension=4),
        "latent_ratio: ",
    ),
    ("no probabilities", lambda: S.GaussianMixture(eigenvalues=[[1.0]]), "probabilities: "),
    ("rows of two lengths", lambda: S.Covariance([[1.0, 2.0], [3.0]]), "rows of different"),
    ("a tolerance of nothing", lambda: solved(relative_tolerance=0), "relative_"),
    (
        "a tolerance that is no number",
        lambda: solved(relative_tolerance=np.nan),
        "must be a number, not nan",
    ),
    ("a prior of a fit", lambda: at_rest("erm", prior="rademacher"), "belongs to bayes-optimal"),
    ("a ridge of no fit", lambda: at_rest("annealed", ridge=0.2), "belongs to erm, not to ann"),
    ("teachers of a fit", lambda: at_rest("erm", T=np.eye(2)), "belongs to annealed, not to erm"),
    (
        "an output of no labels",
        lambda: at_rest("annealed", output="z"),
        "output: belongs to bayes-optimal and erm, not to annealed",
    ),
    ("no kind of equilibrium", lambda: at_rest("best"), "one of annealed, bayes-optimal, erm"),
    ("a paper that is not there", lambda: S.verify("saad-sola"), "saad-solla-1995"),
]


@pytest.mark.parametrize(
    ("mistake", "mend"), [each[1:] for each in MISTAKES], ids=[each[0] for each in MISTAKES]
)
def test_a_mistake_is_answered_by_one_line_that_names_the_mend(
    mistake: Callable[[], Any], mend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sd.InputError) as caught:
        mistake()
    message = str(caught.value)
    assert mend in message
    assert "\n" not in message
    assert len(message) < 300
    assert message.startswith(f"{caught.value.argument}: ") or not caught.value.argument
