"""State files and initial states: definitions, round trips, refusals that name the array."""

import pickle
from importlib import import_module

import numpy as np
import pytest
from support.studies import toml

from symderiv.foundation.errors import InputError
from symderiv.problem.initial import initial, orthogonal_rows, vectors_with_overlaps
from symderiv.problem.state import ARRAYS, State, load_state
from symderiv.problem.study import parse_study

STUDY = toml(
    network={"activation": "erf", "students": 3, "teachers": 2},
    data={
        "model": "spectrum",
        "eigenvalues": [2.0, 0.5, 0.0],
        "weights": [0.25, 0.5, 0.25],
        "dimension": 400,
    },
    training={"learning_rate": 0.1},
    initial={"student_std": 0.3, "seed": 5},
    time={"end": 10.0},
)


def arrays() -> dict[str, np.ndarray]:
    state = initial(parse_study(STUDY)).state
    return {name: getattr(state, name).copy() for name in ARRAYS}


def test_sampled_overlaps_are_those_of_the_vectors_returned_with_them():
    start = initial(parse_study(STUDY))
    state, vectors = start.state, start.vectors
    assert vectors is not None
    N = 400
    rho = np.repeat([2.0, 0.5, 0.0], [100, 200, 100])
    np.testing.assert_array_equal(vectors.variance, rho)
    J, B = vectors.student, vectors.teacher
    # the definitions, coordinate by coordinate: phi_n = sqrt N E[xi y_n] = rho B_n
    phi = rho * B
    for k, here in enumerate((slice(0, 100), slice(100, 300), slice(300, 400))):
        size = here.stop - here.start
        np.testing.assert_allclose(
            state.student_overlap[k], J[:, here] @ J[:, here].T / size, rtol=1e-13
        )
        np.testing.assert_allclose(
            state.cross_overlap[k], J[:, here] @ phi[:, here].T / size, rtol=1e-12, atol=1e-15
        )
        np.testing.assert_allclose(
            state.teacher_overlap[k], phi[:, here] @ phi[:, here].T / size, rtol=1e-12
        )
    # and the fields' covariance: E[x x], E[x y], E[y y]
    np.testing.assert_allclose(state.Q, (J * rho) @ J.T / N, rtol=1e-13)
    np.testing.assert_allclose(state.R, (J * rho) @ B.T / N, rtol=1e-12)
    np.testing.assert_allclose(state.T, (B * rho) @ B.T / N, rtol=1e-13)


def test_seeds_are_reproducible_and_teacher_and_student_have_their_own_streams():
    first = initial(parse_study(STUDY)).vectors
    again = initial(parse_study(STUDY)).vectors
    more = initial(parse_study(STUDY.replace("students = 3", "students = 5"))).vectors
    other = initial(parse_study(STUDY.replace("seed = 5", "seed = 6"))).vectors
    np.testing.assert_array_equal(first.student, again.student)
    np.testing.assert_array_equal(first.teacher, more.teacher)
    assert np.max(np.abs(first.teacher - other.teacher)) > 0.1


def test_orthogonal_teachers_are_exactly_orthogonal_with_squared_norm_n():
    study = parse_study(STUDY.replace("seed = 5", 'teacher = "orthogonal"'))
    teacher = initial(study).vectors.teacher
    np.testing.assert_allclose(teacher @ teacher.T, 400 * np.eye(2), atol=1e-11)
    rows = np.random.default_rng(1).standard_normal((3, 3))
    square = orthogonal_rows(rows)
    np.testing.assert_allclose(square @ square.T, 3 * np.eye(3), atol=1e-14)


def test_only_starts_that_are_small_are_kept_for_the_next_time(monkeypatch):
    initial_module = import_module("symderiv.problem.initial")
    study = parse_study(STUDY.replace("seed = 5", "seed = 77"))
    monkeypatch.setattr(initial_module, "_KEPT_BYTES", 8 * 5 * 400 - 1)
    assert initial(study) is not initial(study)
    monkeypatch.setattr(initial_module, "_KEPT_BYTES", 8 * 5 * 400)
    assert initial(study) is initial(study)


@pytest.mark.parametrize(("eigenvalues", "points"), [(1, 500), (60, 2)])
def test_room_is_asked_for_states_and_for_what_is_kept_of_all_times(
    monkeypatch, eigenvalues, points
):
    initial_module, asked = import_module("symderiv.problem.initial"), []
    monkeypatch.setattr(initial_module, "check_memory", lambda size, *_, **__: asked.append(size))
    text = STUDY.replace("students = 3", "students = 30").replace("teachers = 2", "teachers = 1")
    spectrum = "eigenvalues = [2.0, 0.5, 0.0]\nweights = [0.25, 0.5, 0.25]\ndimension = 400"
    rho = f"eigenvalues = {np.linspace(1, 2, eigenvalues).tolist()}\ndimension = 6000"
    text = text.replace(spectrum, rho).replace("end = 10.0", f"end = 10.0\npoints = {points}")
    study = parse_study(text.replace("seed = 5", 'draw = "mean"'))
    state = initial(study).state
    one = state.student_overlap.nbytes + state.cross_overlap.nbytes + state.teacher_overlap.nbytes
    kept = 8 * points * 30 * (30 + 1)
    assert max(2 * one, kept) < asked[0] < 10 * (one + kept)


def _pair(t: list[float], T: float) -> State:
    """One student and one teacher, the eigenvalues 2 and 1/2 of weights 1/5 and 4/5."""
    column = np.array(t)[:, None, None]
    return State(
        np.array([2.0, 0.5]),
        np.array([0.2, 0.8]),
        np.ones((2, 1, 1)),
        np.zeros((2, 1, 1)),
        column,
        np.array([[T]]),
        np.ones(1),
        np.ones(1),
    )


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_teachers_vary_at_least_as_much_as_their_overlaps_imply(scale):
    # 0.2 * 10 / 2 + 0.8 * 0.25 / 0.5 = 1.4
    least = 1.4 * scale
    overlaps = [10.0 * scale, 0.25 * scale]
    accepted = _pair(overlaps, least * (1 - 5e-8))
    np.testing.assert_allclose(accepted.T, least)
    with pytest.raises(InputError, match=r"^teacher_covariance: is smaller"):
        _pair(overlaps, least * (1 - 2e-7))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_symmetry_is_asked_for_relative_to_the_largest_entry(scale):
    state = arrays()
    state["teacher_covariance"] *= 1e10 * scale
    state["student_overlap"] *= scale
    state["cross_overlap"] *= 0.0
    largest = np.max(state["student_overlap"])
    state["student_overlap"][1, 0, 1] += 0.5e-7 * largest
    State(**state)
    state["student_overlap"][1, 0, 1] += 1e-7 * largest
    with pytest.raises(InputError, match=r"^student_overlap: is not symmetric"):
        State(**state)


def test_a_study_may_start_from_a_state_file_without_data(tmp_path):
    state = initial(parse_study(STUDY)).state
    state.save(tmp_path / "s.npz")
    head, _, tail = STUDY.partition("[data]")
    tail = tail[tail.index("[training]") :].replace("student_std = 0.3", 'state = "s.npz"')
    start = initial(parse_study(head + tail, base=tmp_path))
    np.testing.assert_array_equal(start.state.student_overlap, state.student_overlap)
    assert start.vectors is None
    assert start.warnings == ()
    weights = head.replace("students = 3", "students = 3\nstudent_weights = 9")
    (warning,) = initial(parse_study(weights + tail, base=tmp_path)).warnings
    assert "network.student_weights" in warning
    with pytest.raises(InputError, match=r"^network.students: is 2, but the state file has 3"):
        initial(parse_study(head.replace("students = 3", "students = 2") + tail, base=tmp_path))
    with_data = STUDY.replace("student_std = 0.3", 'state = "s.npz"')
    initial(parse_study(with_data, base=tmp_path))
    with pytest.raises(
        InputError, match=r"^data: has another spectrum than the state file initial.state"
    ):
        initial(parse_study(with_data.replace("2.0, 0.5", "2.0, 0.4"), base=tmp_path))


def test_vectors_made_for_a_state_have_its_overlaps():
    start = initial(parse_study(STUDY))
    state = start.state
    vectors = vectors_with_overlaps(state, start.data, 1)
    phi = vectors.variance * vectors.teacher
    for k, (a, b) in enumerate(zip(vectors.first[:-1], vectors.first[1:], strict=True)):
        for rows, columns, name in (
            (vectors.student, vectors.student, "student_overlap"),
            (vectors.student, phi, "cross_overlap"),
            (phi, phi, "teacher_overlap"),
        ):
            overlap = rows[:, a:b] @ columns[:, a:b].T / (b - a)
            np.testing.assert_allclose(overlap, getattr(state, name)[k], atol=1e-13)
    with pytest.raises(InputError, match=r"^data.dimension: is missing"):
        vectors_with_overlaps(state, None, 1)


def _with(**changes: np.ndarray) -> dict[str, np.ndarray]:
    return {**arrays(), **changes}


def _negative(name: str) -> dict[str, np.ndarray]:
    array = arrays()[name]
    array[..., 0, 0] *= -1.0
    return _with(**{name: array})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: _with(eigenvalue=np.array([2.0, -0.5, 0.0])), "eigenvalue: variances"),
        (lambda: _with(eigenvalue=np.array([2.0, np.nan, 0.0])), "eigenvalue: .*finite"),
        (lambda: _with(eigenvalue=np.array([[2.0, 0.5, 0.0]])), "eigenvalue: has shape"),
        (lambda: _with(weight=np.array([0.3, 0.5, 0.3])), "weight: .*sum is 1.1"),
        (lambda: _with(weight=np.array([0.5, 0.5])), "weight: has shape"),
        (lambda: _with(student_weights=np.ones(2)), "student_overlap: has shape"),
        (lambda: _with(student_weights=np.ones(3, dtype=complex)), "student_weights: holds"),
        (lambda: _with(student_weights=np.array(["a", "b", "c"])), "student_weights: holds"),
        (lambda: _with(teacher_weights=np.array([1.0, np.inf])), "teacher_weights: .*finite"),
        (lambda: _negative("student_overlap"), "student_overlap: the overlaps at eigenvalue 1"),
        (lambda: _negative("teacher_overlap"), "teacher_overlap"),
        (lambda: _with(cross_overlap=10 * arrays()["cross_overlap"] + 1), "cross_overlap"),
        (
            lambda: _with(student_overlap=arrays()["student_overlap"] + np.triu(np.ones((3, 3)))),
            "student_overlap: is not symmetric",
        ),
        (lambda: _with(teacher_covariance=0.1 * np.eye(2)), "teacher_covariance: is smaller"),
    ],
)
def test_impossible_states_are_refused_by_the_name_of_the_array(make, named, tmp_path):
    np.savez(tmp_path / "bad.npz", **make())
    with pytest.raises(InputError, match=f"^initial.state: bad.npz: .*{named}") as caught:
        load_state(tmp_path / "bad.npz")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(arrays()))
@pytest.mark.parametrize("change", ["one axis more", "one axis less", "empty"])
def test_every_array_needs_its_axes(name, change):
    array = arrays()[name]
    wrong = {"one axis more": array[None], "one axis less": array[0], "empty": array[:0]}[change]
    with pytest.raises(InputError, match=rf"^{name}: has shape .*, expected \d axes"):
        State(**_with(**{name: wrong}))


def test_a_student_with_tiny_weights_next_to_a_large_teacher_is_checked_as_strictly():
    bad = arrays()
    bad["student_overlap"] = bad["student_overlap"] * 1e-12
    with pytest.raises(InputError, match="cross_overlap"):
        State(**bad)


def test_a_missing_array_is_named(tmp_path):
    some = arrays()
    del some["weight"]
    np.savez(tmp_path / "s.npz", **some)
    with pytest.raises(InputError, match='the array "weight" is missing'):
        load_state(tmp_path / "s.npz")


def test_files_that_are_no_state_are_refused_and_never_unpickled(tmp_path):
    path = tmp_path / "s.npz"
    with pytest.raises(InputError, match="No such file"):
        load_state(path)
    for content in (b"", b"text", b"PK\x03\x04broken"):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"^initial.state: s.npz"):
            load_state(path)
    path.write_bytes(pickle.dumps({"weight": 1}))
    with pytest.raises(InputError, match=r"^initial.state: s.npz"):
        load_state(path)
    with path.open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(InputError, match=r"is not an \.npz archive"):
        load_state(path)
    np.savez(path, **_with(weight=np.array([object()] * 3, dtype=object)))
    with pytest.raises(InputError, match="weight: does not hold plain numbers"):
        load_state(path)
