"""Results show, draw, keep and give back themselves."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import symderiv as sd
from symderiv.foundation.documents.text_writer import MOST_CHARACTERS, MOST_LINES
from symderiv.foundation.showing import json_text


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    law = sd.PowerLaw(4, exponent=1, dimension=64)
    problem = sd.Problem("erf", students=2, teachers=2, learning_rate=0.2, inputs=law)
    folder = tmp_path_factory.mktemp("module")
    return {
        "problem": problem,
        "equations": problem.equations,
        "rates": problem.rates(state=problem.solve(end=1).initial),
        "run": problem.solve(end=20),
        "sgd": problem.simulate(runs=3, end=2),
        "plateau": problem.plateau(digits=20),
        "late": problem.late(alpha=[1, 10]),
        "linear": sd.linear(distinct_eigenvalues=8, exponent=1, learning_rate=0.5, alpha=[0, 9]),
        "module": problem.generate("erf_solver", output=folder),
        "derivation": problem.derive(),
    }


NAMES = (
    *("problem", "equations", "rates", "run", "sgd", "plateau", "late", "linear", "module"),
    "derivation",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_says_what_matters_in_a_few_lines(name: str, results: dict[str, Any]) -> None:
    result = results[name]
    text = repr(result)
    assert 20 < len(text) <= MOST_CHARACTERS
    assert len(text.splitlines()) <= MOST_LINES
    page = result._repr_html_()
    assert page.startswith("<")
    assert page.count("<table") == page.count("</table")
    assert isinstance(json.loads(json_text(result.to_dict())), dict)
    assert result.to_text().endswith("\n")


@pytest.mark.parametrize("name", NAMES)
def test_a_result_can_be_pickled(name: str, results: dict[str, Any]) -> None:
    again = pickle.loads(pickle.dumps(results[name]))
    assert json_text(again.to_dict()) == json_text(results[name].to_dict())
    assert repr(again) == repr(results[name])


@pytest.mark.parametrize("name", ["run", "sgd", "plateau", "late", "linear"])
def test_axes_in_axes_out(name: str, results: dict[str, Any]) -> None:
    axes = Figure().subplots()
    result = pickle.loads(pickle.dumps(results[name]))
    assert result.plot(ax=axes) is axes
    assert axes.lines
    assert axes.get_xlabel()


def test_curves_and_points_share_axes(results: dict[str, Any]) -> None:
    axes = Figure().subplots()
    results["run"].plot(axes, results["sgd"])
    line, points = axes.lines[0], axes.containers[0]
    np.testing.assert_array_equal(line.get_ydata(), results["run"].generalization_error[1:])
    shown = np.asarray(points.lines[0].get_ydata())
    assert np.all(np.isin(shown, results["sgd"].mean("generalization_error")))
    assert points.has_yerr
    with pytest.raises(sd.InputError, match=r"^others: int"):
        results["run"].plot(3)


def test_files_are_read_back_as_what_they_are(results: dict[str, Any], tmp_path: Path) -> None:
    run = results["run"]
    run.final.save(tmp_path / "state.npz")
    state = sd.open(tmp_path / "state.npz")
    assert isinstance(state, sd.State)
    # a run goes on from a state, from its file, or from where another one ended
    problem = results["problem"]
    goes_on = [problem.solve(end=5, initial=s).Q for s in (state, tmp_path / "state.npz")]
    np.testing.assert_array_equal(goes_on[0], goes_on[1])
    np.testing.assert_allclose(goes_on[0][0], run.Q[-1], rtol=1e-12)
    problem.to_toml(tmp_path / "p.toml")
    assert sd.open(tmp_path / "p.toml") == problem
    with pytest.raises(sd.InputError, match="must end in"):
        sd.open(tmp_path / "p.txt")


def test_equations_have_one_line_each_and_leave_out_what_is_zero(results: dict[str, Any]) -> None:
    text = results["equations"].to_latex()
    assert text.startswith("\\begin{align}")
    assert text.count(r"\frac{d Q_{k,ij}}{d \alpha}") == 1
    assert r"\sigma" not in text
    assert r"\kappa" not in text
    law = results["problem"]
    noisy = law.replace(label_noise=0.1, weight_decay=0.1, train_second_layer=True)
    text = noisy.equations.to_latex()
    assert r"\sigma" in text
    assert r"\kappa" in text
    assert r"\frac{d v_{i}}{d \alpha}" in text
    small = law.replace(order="small-learning-rate").equations.to_text()
    assert "Γ" not in small
    assert "I₄" not in small
    plain = law.replace(inputs=sd.Isotropic(100)).equations.to_text()
    assert "ρ" not in plain
    assert "dQᵢⱼ/dα" in plain


def test_progress_is_told_and_an_interrupt_keeps_what_there_is() -> None:
    told: list[tuple[str, float]] = []
    problem = sd.Problem(
        "erf",
        students=2,
        teachers=2,
        learning_rate=0.1,
        inputs=sd.PowerLaw(16, exponent=1, dimension=256),
    )
    problem.solve(end=50, progress=lambda task, fraction: told.append((task, fraction)))
    assert told[-1] == ("solving", pytest.approx(1.0))

    def interrupt(task: str, fraction: float) -> None:
        raise KeyboardInterrupt

    run = problem.solve(end=1e5, progress=interrupt)
    assert run.cause == "interrupted"
    assert run.alpha.size == run.Q.shape[0] < 200
    assert "interrupted" in repr(run)


def test_questions_of_alike_units_are_refused_by_argument(results: dict[str, Any]) -> None:
    problem = results["problem"]
    for changes, argument in (
        ({"students": 3}, "students"),
        ({"teacher_activation": "relu"}, "teacher_activation"),
        ({"student_weights": 1.0}, "student_weights"),
        ({"label_noise": 0.1}, "label_noise"),
        ({"train_second_layer": True}, "train_second_layer"),
    ):
        for question in ("plateau", "late"):
            if (question, argument) == ("late", "label_noise"):
                continue  # which has a steady state
            with pytest.raises(sd.InputError) as caught:
                getattr(problem.replace(**changes), question)()
            assert caught.value.argument == argument
