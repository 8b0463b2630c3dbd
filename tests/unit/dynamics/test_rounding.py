"""Starts that differ by a multiple of rounding: what they keep, and how much they differ."""

from dataclasses import replace

import numpy as np
import pytest
from support.studies import toml

from symderiv.integrate.flows.study_flow import Flow, shaken
from symderiv.integrate.rules.solving import flow_of
from symderiv.problem.flat_layout import split_flat
from symderiv.problem.initial import initial
from symderiv.problem.study import parse_study
from symderiv.storage.kernels import load_kernel


def study_of(activation="erf", draw="sampled", v=1.0, std=0.5, K=3, rate=0.4, **network):
    units = {"students": K, "teachers": 2, "student_weights": v, "teacher_weights": 1.0}
    return parse_study(
        toml(
            network={"activation": activation, **units, **network},
            data={"model": "spectrum", "dimension": 40, "eigenvalues": [2.0, 0.5]},
            training={"learning_rate": rate},
            initial={"student_std": std, "draw": draw, "teacher": "orthogonal", "seed": 2},
            time={"values": [0.0, 1.0]},
        )
    )


def flow_and_run(**keys):
    study = study_of(**keys)
    flow = Flow(study, load_kernel(study.student_activation), initial(study).state)
    return flow, flow.run(1e-10, 1000, None)


def parts(flow, flat):
    return split_flat(flat, flow.state.K, flow.state.M, flow.state.L)


@pytest.mark.parametrize("size", [1e-12, 1e-6])
def test_every_overlap_differs_by_about_the_size(size):
    flow, run = flow_and_run()
    moved = shaken(flow, run, size, 1)
    change = np.abs(moved.begin - flow.begin) / size
    assert np.all(change > 1e-3)
    assert np.max(change) < 20.0
    weights = slice(-8, -6)
    taught = np.abs(moved.parameters - flow.parameters)
    assert np.all(taught[weights] > 1e-3 * size)
    taught[weights] = 0.0
    assert not np.any(taught)
    assert not np.array_equal(shaken(flow, run, size, 2).begin, moved.begin)
    np.testing.assert_array_equal(shaken(flow, run, size, 1).begin, moved.begin)


@pytest.mark.parametrize("std", [0.5, 1e-9])
def test_overlaps_stay_overlaps_of_vectors_however_short(std):
    flow, run = flow_and_run(std=std)
    Q, r, _ = parts(flow, shaken(flow, run, 1e-6, 3).begin)
    t, rho = flow.state.teacher_overlap, flow.state.eigenvalue
    for k in range(2):
        covariance = np.block([[Q[k], r[k] / rho[k]], [r[k].T / rho[k], t[k] / rho[k] ** 2]])
        sizes = np.sqrt(np.diag(covariance))
        scaled = covariance / np.outer(sizes, sizes)
        assert np.linalg.eigvalsh(scaled)[0] > -1e-8
        np.testing.assert_allclose(Q[k], Q[k].T, rtol=1e-14, atol=1e-30)


def undisturbed(flow, run):
    """The run as it would be if rounding did not tell the students apart."""
    return replace(run, results=np.tile(flow.begin, (2, 1)), last_state=flow.begin)


@pytest.mark.parametrize("K", [2, 3])
def test_students_that_rounding_has_not_told_apart_are_moved_alike(K):
    flow, run = flow_and_run(draw="mean", K=K)
    Q, r, v = parts(flow, shaken(flow, undisturbed(flow, run), 1e-6, 1).begin)
    assert abs(Q[0, 0, 0] - flow.state.student_overlap[0, 0, 0]) > 1e-9
    for student in range(1, K):
        np.testing.assert_allclose(Q[:, 0, 0], Q[:, student, student], rtol=1e-14)
        np.testing.assert_allclose(r[:, 0], r[:, student], rtol=1e-13)
        assert v[0] == v[student]
    # a run in which it has, by one bit of the second one
    told_apart = replace(run, results=run.results.copy())
    second = (K + 1) * flow.state.L
    told_apart.results[-1, second] = np.nextafter(run.results[-1, second], np.inf)
    Q, _, _ = parts(flow, shaken(flow, told_apart, 1e-6, 1).begin)
    assert abs(Q[0, 1, 1] - Q[0, 0, 0]) > 1e-9


def test_students_of_other_weights_are_not_moved_alike():
    flow, run = flow_and_run(draw="mean", v=[1.0, 1.0, 0.9])
    Q, _, _ = parts(flow, shaken(flow, undisturbed(flow, run), 1e-6, 1).begin)
    assert Q[0, 0, 0] == pytest.approx(Q[0, 1, 1], rel=1e-14)
    assert abs(Q[0, 2, 2] - Q[0, 0, 0]) > 1e-9


@pytest.mark.turns(6)
def test_what_is_zero_all_along_stays_zero():
    study = study_of("x**2", "mean", v=0.5, std=0.3, rate=0.02)
    from symderiv.integrate.rules.solving import solver_module

    flow = Flow(study, solver_module(study), initial(study).state)
    run = flow.run(1e-10, 1000, None)
    # an even activation does not know the signs of its students
    assert not np.any(parts(flow, run.results[-1])[1])
    assert not np.any(parts(flow, shaken(flow, run, 1e-6, 1).begin)[1])


@pytest.mark.turns(6)
def test_what_a_rule_adds_is_moved_too():
    study = study_of("linear", train_biases=True, teacher_biases=0.4)
    flow = flow_of(study, initial(study))(initial(study).state)
    run = flow.run(1e-8, 1000, None)
    moved = shaken(flow, run, 1e-6, 1)
    name = flow.packing("state").slices["b"]
    change = np.abs(moved.begin - flow.begin)[name]
    assert np.all(change > 0.0)
    assert np.all(change < 1e-5)
