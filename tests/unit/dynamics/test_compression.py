"""Many eigenvalues by few nodes: exact where it should be, honest where it is not."""

from dataclasses import replace

import h5netcdf
import numpy as np
import pytest
from support.studies import toml

from symderiv.integrate.flows.compression import compress, settle
from symderiv.integrate.flows.integrate import Trajectory
from symderiv.integrate.flows.trajectory import write_run
from symderiv.integrate.rules.solving import solve
from symderiv.problem.initial import initial
from symderiv.problem.state import State
from symderiv.problem.study import parse_study


def text_of(compression="auto", L=512, eta=0.05, end=40.0, rtol=1e-11):
    """One coordinate per eigenvalue: overlaps as rough as they can be, T far from the identity."""
    return toml(
        network={
            "activation": "erf",
            "students": 2,
            "teachers": 3,
            "teacher_weights": [0.7, -0.4, 0.5],
        },
        data={
            "model": "power-law",
            "dimension": L,
            "distinct_eigenvalues": L,
            "exponent": 0.25,
        },
        training={"learning_rate": eta, "label_noise": 0.1, "weight_decay": 1e-4},
        initial={"student_std": 0.5, "seed": 3},
        time={"end": end, "points": 9, "relative_tolerance": rtol, "compression": compression},
    )


def study_of(*words, **numbers):
    return parse_study(text_of(*words, **numbers))


def sums(state: State, function) -> np.ndarray:
    """Sums over the modes of weight times function times each kind of overlap."""
    weight = state.weight * function(state.eigenvalue)
    return np.concatenate(
        [
            np.tensordot(weight, overlaps, axes=1).ravel()
            for overlaps in (state.student_overlap, state.cross_overlap, state.teacher_overlap)
        ]
    )


@pytest.fixture(scope="module")
def rough() -> State:
    return initial(study_of()).state


@pytest.fixture(scope="module")
def whole() -> Trajectory:
    return solve(study_of("off"), check="never")


def test_equal_overlaps_keep_sums_of_twice_the_degree(rough):
    ones = replace(
        rough,
        student_overlap=np.tile(np.eye(2), (rough.L, 1, 1)),
        cross_overlap=np.zeros_like(rough.cross_overlap),
    )
    reduced = compress(ones, 4)
    for degree in range(8):
        weight = reduced.weight * reduced.eigenvalue**degree
        assert weight.sum() == pytest.approx(ones.weight @ ones.eigenvalue**degree, rel=1e-12)
    np.testing.assert_allclose(
        reduced.student_overlap, np.tile(np.eye(2), (reduced.L, 1, 1)), atol=1e-12
    )
    assert np.all(reduced.weight > 0)
    assert reduced.weight.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("width", [1e-3, 1e-9, 1e-12])
def test_nodes_of_narrow_clusters_keep_the_sums(width):
    """Four clusters, more nodes than clusters: the polynomials beyond are as short as the width."""
    rng = np.random.default_rng(2)
    eigenvalue = np.array([2.0, 1.7, 1.3, 1.001])[:, None] + width * rng.random((4, 10))
    eigenvalue = np.sort(eigenvalue.ravel())[::-1]
    weight, overlaps = rng.uniform(0.5, 1.5, 40) / 40, rng.standard_normal((40, 1, 1))
    state = State(
        eigenvalue,
        weight / weight.sum(),
        overlaps**2,
        overlaps,
        np.ones((40, 1, 1)),
        np.full((1, 1), 9.0),
        np.ones(1),
        np.ones(1),
    )
    for nodes in (6, 12):
        found = compress(state, nodes)
        for degree in range(nodes):
            np.testing.assert_allclose(
                sums(found, lambda x, n=degree: (x / 2) ** n),
                sums(state, lambda x, n=degree: (x / 2) ** n),
                rtol=1e-12,
                atol=1e-13,
            )


def test_order_does_not_matter_and_an_eigenvalue_of_zero_is_kept(rough):
    rng = np.random.default_rng(0)
    dead = np.zeros((1, 2, 2)) + np.eye(2)
    grown = State(
        np.append(rough.eigenvalue, 0.0),
        np.append(0.5 * rough.weight, 0.5),
        np.concatenate([rough.student_overlap, dead]),
        np.concatenate([rough.cross_overlap, np.zeros((1, 2, 3))]),
        np.concatenate([rough.teacher_overlap, np.zeros((1, 3, 3))]),
        rough.T,
        rough.student_weights,
        rough.teacher_weights,
    )
    order = rng.permutation(grown.L)
    of_modes = ("eigenvalue", "weight", "student_overlap", "cross_overlap", "teacher_overlap")
    shuffled = replace(grown, **{name: getattr(grown, name)[order] for name in of_modes})
    first, second = compress(grown, 4), compress(shuffled, 4)
    assert first.eigenvalue[-1] == 0.0
    assert first.weight[-1] == 0.5
    np.testing.assert_allclose(second.eigenvalue, first.eigenvalue, rtol=1e-12)
    np.testing.assert_allclose(second.Q, first.Q, rtol=1e-12)


@pytest.mark.turns(6)
def test_rough_overlaps_give_the_error_of_all_eigenvalues(whole):
    found = solve(study_of(), check="never")
    assert found.compression.eigenvalues == 512
    assert found.compression.nodes == found.initial.L < 200
    assert str(found.compression) == f"512 eigenvalues to {found.initial.L}"
    # what the tolerance of both integrations allows is in the comparison
    change = np.abs(found.generalization_error / whole.generalization_error - 1)
    assert np.max(change) < 1e-9
    np.testing.assert_allclose(found.Q, whole.Q, rtol=1e-9)
    np.testing.assert_allclose(found.R, whole.R, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_the_estimate_is_honest(rough, whole, tolerance):
    study = study_of("off")

    def integrate(state):
        run = solve(study, start=replace(initial(study), state=state), check="never")
        return run, run.generalization_error

    _, (_, error), compression = settle(rough, "on", tolerance, integrate)
    true = np.max(np.abs(error / whole.generalization_error - 1))
    assert 1e-13 < true <= 10 * compression.error
    assert true <= tolerance


@pytest.mark.parametrize(
    ("changes", "tolerance", "doublings", "stated"),
    [
        # each change is a fifth of the one before, and so is expected of the next
        ([0.1, 0.02, 0.004, 0.0008], 0.03, 2, 0.02),
        ([0.1, 0.02, 0.004, 0.0008], 0.0039, 3, 0.004),
        # the first change is all that is known: it has to be small by itself
        ([0.1, 0.02], 0.11, 1, 0.1),
        ([0.1, 0.01], 0.09, 2, 0.01),
        # doubling goes on while it more than halves the change, and ends where it does not
        ([0.1, 0.049, 0.024, 0.0135, 0.001], 1e-9, 4, 0.0135),
        ([0.1, 0.051, 0.02], 1e-9, 2, 0.051),
        # a change that grows counts as it is
        ([0.1, 0.3], 0.05, 2, 0.3),
    ],
)
def test_nodes_are_doubled_until_the_expected_error_is_small(
    rough, changes, tolerance, doublings, stated
):
    """Runs with made-up errors: which one is taken, and what is said of it."""
    runs = []
    # backwards from 1, so that every relative change is as given, of the later error
    errors = [1.0]
    for change in reversed(changes):
        errors.insert(0, errors[0] * (1 + change))
    trajectory = solve(study_of("off", L=8, end=0.1, rtol=1e-3), check="never")

    def integrate(state):
        runs.append(state)
        return trajectory, np.array([errors[len(runs) - 1]])

    state, run, compression = settle(rough, "on", tolerance, integrate)
    assert len(runs) == doublings + 1
    assert state is runs[-1]
    assert run[1] == errors[doublings]
    assert compression.nodes_per_block == 4 * 2**doublings
    assert compression.nodes == state.L
    assert compression.error == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize(
    ("mode", "L", "compressed"),
    [("auto", 128, False), ("on", 128, True), ("on", 8, False), ("off", 512, False)],
)
def test_what_is_compressed(mode, L, compressed):
    found = solve(study_of(mode, L=L, end=0.1, rtol=1e-6), check="never")
    assert (found.compression is not None) == compressed
    assert (found.initial.L < L) == compressed


def test_an_interrupt_during_the_first_runs_keeps_what_there_is():
    def progress(alpha, steps):
        raise KeyboardInterrupt

    found = solve(study_of("on"), progress=progress)
    assert found.cause == "interrupted"
    assert np.isnan(found.compression.error)


def test_the_file_says_what_was_compressed(tmp_path):
    for mode, expected in (("on", "128 eigenvalues to"), ("off", "none")):
        found = solve(study_of(mode, L=128, end=0.1, rtol=1e-6), check="never")
        path = write_run(tmp_path / "run.nc", found)
        with h5netcdf.File(path) as file:
            assert file.attrs["compression"].startswith(expected)
            assert file.dimensions["mode"].size == found.initial.L
            if mode == "on":
                assert file.attrs["compression_error"] == found.compression.error
                assert file.attrs["compression_eigenvalues"] == 128
