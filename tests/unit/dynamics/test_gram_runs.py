"""The simulator without vectors: positivity, starts, when it is taken."""

from dataclasses import replace

import numpy as np
import pytest
from support.laws import apart
from support.studies import toml
from unit.dynamics.test_sgd_runs import TEXT

from symderiv.experiment.studies.simulating import recorded_chain, simulate
from symderiv.foundation.errors import InputError
from symderiv.problem import initial as initial_state
from symderiv.problem.initial import drawn_state, initial
from symderiv.problem.study import parse_study

# every form of a step is compiled once: a part of them a day
pytestmark = pytest.mark.turns(6)

STUDY = TEXT.format(method="gram")


def lowest_scaled_eigenvalue(rows):
    gram = rows @ np.swapaxes(rows, 1, 2)
    scale = np.sqrt(np.einsum("kii->ki", gram))
    scale[scale == 0] = 1
    return np.linalg.eigvalsh(gram / scale[:, :, None] / scale[:, None, :]).min()


def late(activation="erf", students=2):
    weights = {"student_weights": 1.0, "teacher_weights": 1.0}
    return toml(
        network={"activation": activation, "students": students, "teachers": 2, **weights},
        data={"model": "spectrum", "eigenvalues": [1.6, 0.4], "dimension": 24},
        training={"learning_rate": 0.5},
        initial={"student_std": 0.2, "seed": 3},
        time={"end": 1.0},
        simulation={"method": "gram"},
    )


@pytest.mark.parametrize(("activation", "students"), [("erf", 2), ("relu", 3), ("linear", 3)])
def test_gram_matrices_stay_positive_over_half_a_million_examples(activation, students):
    # without noise the students end on the teachers: the Gram matrices lose their rank
    study = parse_study(late(activation, students))
    chain, _ = recorded_chain(study, initial(study), 20_000)
    teachers = chain.vectors[students:].copy()
    lowest = []
    for _ in range(25):
        assert chain.reach(chain.made + chain.block)
        rows = chain.vectors.reshape(students + 2, 2, -1).swapaxes(0, 1)
        assert not np.any(rows[:, :, students + 2 :])
        lowest.append(lowest_scaled_eigenvalue(rows))
    np.testing.assert_array_equal(chain.vectors[students:], teachers)
    assert min(lowest) > -1e-14
    if activation == "erf":
        assert max(lowest[-5:]) < 1e-14  # the rank is gone; nothing else is


def test_students_that_are_zero_and_students_that_are_teachers_are_good_starts(tmp_path):
    text = late()
    zero = simulate(parse_study(text.replace("student_std = 0.2", "student_std = 0.0")), runs=1)
    assert zero.succeeded
    assert zero.Q[0, -1, 0, 0] > 0.05
    state = initial(parse_study(text)).state
    rho = state.eigenvalue[:, None, None]
    seen = {
        "student_overlap": state.teacher_overlap / rho**2,
        "cross_overlap": state.teacher_overlap / rho,
    }
    replace(state, **seen).save(tmp_path / "learnt.npz")
    given = text.replace("student_std = 0.2", 'state = "learnt.npz"')
    perfect = simulate(parse_study(given, base=tmp_path), runs=1)
    assert np.max(np.abs(perfect.generalization_error)) < 1e-13
    np.testing.assert_allclose(perfect.Q[0, -1], state.T, rtol=1e-6)


def test_automatic_choice_takes_the_cheaper_way_that_is_open(monkeypatch):
    auto = STUDY.replace('method = "gram"', "")
    few = auto.replace("[1.7, 0.3, 2.4, 0.0]", "[1.7, 0.3, 2.4, 0.1, 1, 0.5, 0.8, 0.2]")
    few = parse_study(few.replace("weights = [0.5, 0.275, 0.1, 0.125]", ""))
    assert simulate(few, runs=1).method == "vectors"
    # four coordinates each: without the vectors, no frame of five fits
    few = parse_study(few.text.replace("= 40", "= 32"))
    assert simulate(few, runs=1).method == "vectors"
    monkeypatch.setattr(initial_state, "_MOST_NUMBERS", 0)
    initial_state._last.clear()
    assert simulate(few, runs=1).method == "gram"
    # five coordinates each are enough for one
    five = parse_study(few.text.replace("= 32", "= 40"))
    assert initial(five).vectors is None
    assert simulate(five, runs=1).method == "vectors"
    large = parse_study(auto.replace("dimension = 40", "dimension = 4000"))
    assert simulate(large, runs=1).method == "gram"
    asked = parse_study(STUDY.replace('"gram"', '"vectors"').replace("= 40", "= 4000"))
    assert simulate(asked, runs=1).method == "vectors"


def test_a_teacher_that_is_no_vector_is_refused(tmp_path):
    text = late()
    state = initial(parse_study(text)).state
    curved = replace(state, teacher_covariance=1.1 * state.teacher_covariance)
    curved.save(tmp_path / "curved.npz")
    given = text.replace("student_std = 0.2", 'state = "curved.npz"')
    with pytest.raises(InputError, match=r"^initial\.state: teacher_covariance is larger"):
        simulate(parse_study(given, base=tmp_path))


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_a_teacher_is_linear_relative_to_its_size(scale):
    state = initial(parse_study(late())).state
    for more, linear in ((1e-8, True), (1e-6, False)):
        scaled = replace(
            state,
            cross_overlap=np.sqrt(scale) * state.cross_overlap,
            teacher_overlap=scale * state.teacher_overlap,
            teacher_covariance=scale * (1 + more) * state.teacher_covariance,
        )
        if linear:
            initial_state.require_linear_teacher(scaled)
        else:
            with pytest.raises(InputError, match="teacher_covariance is larger"):
                initial_state.require_linear_teacher(scaled)


def test_a_billion_dimensions_start_without_vectors():
    text = late().replace("= 24", "= 1000000000")
    study = parse_study(text.replace("seed = 3", 'seed = 3\nteacher = "orthogonal"'))
    start = initial(study)
    assert start.vectors is None
    np.testing.assert_allclose(start.state.T, np.eye(2), atol=1e-4)
    result = simulate(parse_study(text.replace("end = 1.0", "values = [0, 1e-5]")), runs=1)
    assert result.examples.tolist() == [0, 10_000]
    np.testing.assert_allclose(result.Q[0, 1], 0.04 * np.eye(2), atol=2e-5)


@pytest.mark.parametrize("teacher", ["random", "orthogonal"])
def test_drawn_overlaps_have_the_law_of_those_of_drawn_vectors(teacher):
    # 1500 draws each way, 63 numbers, means and variances: beyond 4.9 standard errors with a
    # probability of 126 * 1e-6 = 1e-4 (and 5e-4 or so for the skew of the variances)
    text = STUDY.replace("student_std = 0.5", f'student_std = 0.5\nteacher = "{teacher}"')

    def numbers(state):
        off = np.tril_indices(3)
        return np.concatenate(
            [
                state.student_overlap[:, off[0], off[1]].ravel(),
                state.cross_overlap[:3].ravel(),
                state.teacher_overlap[:3].reshape(3, -1)[:, [0, 1, 3]].ravel(),
                state.T[np.tril_indices(2)],
            ]
        )

    studies = [parse_study(text.replace("seed = 8", f"seed = {s}")) for s in range(3000)]
    vectors = np.array([numbers(initial(s).state) for s in studies[:1500]])
    drawn = np.array([numbers(drawn_state(s, s.data_model)) for s in studies[1500:]])
    if teacher == "orthogonal":
        np.testing.assert_allclose(
            np.einsum("k,kab->ab", [0.5, 0.275, 0.1, 0.125], _plain(studies[-1])),
            np.eye(2),
            atol=1e-12,
        )
    assert apart(vectors, drawn) < 4.9


def _plain(study):
    """B B per coordinate, from a drawn state with eigenvalues that are all positive."""
    from symderiv.inputs import spectrum

    data = spectrum([1.7, 0.3, 2.4, 0.1], [0.5, 0.275, 0.1, 0.125], 40)
    state = drawn_state(study, data)
    return state.teacher_overlap / state.eigenvalue[:, None, None] ** 2
