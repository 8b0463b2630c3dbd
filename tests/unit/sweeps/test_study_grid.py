"""Keys and values of sweeps, and the studies that are made of them."""

import pickle

import numpy as np
import pytest

from symderiv.foundation.errors import InputError
from symderiv.problem.study import Study
from symderiv.sweeps.run_grid import layout_of
from symderiv.sweeps.study_grid import QUICK, Grid
from symderiv.sweeps.swept_keys import Axis, axis_names, parse_over

OVER = {
    "training.learning_rate": [1, 0.25],
    "data.exponent": [1.0, 0.5],
    "training.second_layer_learning_rate": [0.1, 0.2],
    "training.order": ["small-learning-rate", "full"],
    "training.weight_decay": [0.0, 0.3],
    "training.second_layer_weight_decay": [0, 0.25],
    "network.students": [2, 3],
    "training.label_noise": [0.5, 0.0],
    "initial.student_std": [0.3, 2],
    "initial.seed": [7, 2**70],
}


def test_quick_studies_are_those_that_are_checked_as_a_whole(study: Study) -> None:
    """Every quick key, beside keys that are not: fields, what was given, and all that is kept."""
    assert set(QUICK) <= set(OVER)
    grid = Grid(study, OVER)
    chosen = np.random.default_rng(1).choice(len(grid), 40, replace=False)
    for index in map(int, chosen):
        slow = study.changed(grid.settings(index))
        quick = grid.study_at(index)
        assert quick == slow
        assert quick.text == slow.text
        assert quick.base == slow.base
        for table in ("network", "data", "training", "initial", "time"):
            assert (
                getattr(quick, table).model_fields_set == getattr(slow, table).model_fields_set
            ), table
        assert quick.rule_keys == slow.rule_keys
        for name in ("alpha", "student_weights", "teacher_weights", "simulation_alpha"):
            np.testing.assert_array_equal(getattr(quick, name), getattr(slow, name))
        assert quick.second_layer_learning_rate == slow.second_layer_learning_rate
        assert quick.second_layer_weight_decay == slow.second_layer_weight_decay
        assert quick.data_model is not None
        assert slow.data_model is not None
        np.testing.assert_array_equal(
            quick.data_model.average().eigenvalue, slow.data_model.average().eigenvalue
        )


def test_no_check_relates_a_quick_key_to_another_one(study: Study) -> None:
    """Extreme values of all of them at once make a study."""
    extreme = {
        "training.learning_rate": 1e300,
        "training.second_layer_learning_rate": 0.0,
        "training.order": "small-learning-rate",
        "training.weight_decay": 1e300,
        "training.second_layer_weight_decay": 1e300,
        "training.label_noise": 1e300,
        "initial.student_std": 0.0,
        "initial.seed": 2**128 - 1,
    }
    assert set(extreme) == set(QUICK)
    for base in (study, study.changed({"network.train_second_layer": True, "training.batch": 3})):
        changed = base.changed(extreme)
        assert changed.rule_keys == base.rule_keys


def test_equal_studies_have_equal_hashes_whatever_is_swept(study: Study) -> None:
    grid = Grid(study, {"data.exponent": [0.5, 1.0], "training.learning_rate": [0.25, 0.5]})
    found = grid.hashes(range(4))
    assert len(set(found)) == 4
    other = Grid(study, {"training.learning_rate": [0.5, 0.75]})
    assert other.hashes([0])[0] == found[3]
    slow = Grid(study.changed({"data.exponent": 0.5}), {"initial.seed": [0], "time.end": [10.0]})
    assert slow.hashes([0])[0] not in found[[0, 2, 3]]
    assert slow.hashes([0])[0] == found[1]


def test_a_part_of_a_grid_travels_and_has_the_same_studies(study: Study) -> None:
    over = {"data.exponent": [0.5, 1.0, 2.0], "initial.seed": list(range(10))}
    grid = Grid(study, over)
    part = pickle.loads(pickle.dumps(grid.part((slice(1, 3), slice(4, 6)))))
    assert [one.text for one in part.studies(range(4))] == [
        one.text for one in grid.studies([14, 15, 24, 25])
    ]
    assert list(part.hashes(range(4))) == list(grid.hashes([14, 15, 24, 25]))


@pytest.mark.parametrize(
    ("over", "argument"),
    [
        ({"training.learning_rate": [0.1, -1.0]}, "training.learning_rate"),
        ({"training.learning_rate": [0.1, "x"]}, "training.learning_rate"),
        ({"initial.seed": [0.5]}, "initial.seed"),
        ({"data.distinct_eigenvalues": [4, 5]}, "data.distinct_eigenvalues"),
        ({"data.nope": [1]}, "data.nope"),
        ({"data": [1]}, "data"),
        ({"initial.seed": []}, "initial.seed"),
        ({"initial.seed": [1, 1]}, "initial.seed"),
        ({"initial.seed": "0:99999:100000", "training.label_noise": "0:1:100000"}, "over"),
        ({}, "over"),
    ],
)
def test_what_is_no_sweep_is_refused_by_its_key(
    study: Study, over: dict[str, list[object]], argument: str
) -> None:
    with pytest.raises(InputError) as caught:
        Grid(study, over)
    assert argument in (caught.value.argument or "") or argument in str(caught.value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=1,2.5", [1, 2.5]),
        ("a.b=erf, relu", ["erf", "relu"]),
        ('a.b="x,y",[1,2]', ["x,y", [1, 2]]),
        ("a.b=0:4:5", [0, 1, 2, 3, 4]),
        ("a.b=4:0:3", [4, 2, 0]),
        ("a.b=0:1:3", [0.0, 0.5, 1.0]),
        ("a.b=log:0.1:10:3", [0.1, 1.0, 10.0]),
    ],
)
def test_keys_and_values_as_they_are_typed(text: str, values: list[object]) -> None:
    key, found = parse_over(text)
    assert key == "a.b"
    assert found == pytest.approx(values) if isinstance(values[0], float) else found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize("text", ["a.b", "a.b=", "=1", "a.b=1:2", "a.b=0:1:1", "a.b=log:0:1:3"])
def test_what_is_no_list_of_values_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_over(text)


def test_dimensions_have_short_names_where_these_say_it_all() -> None:
    keys = ["training.learning_rate", "initial.teacher", "time.end", "simulation.end"]
    assert axis_names(keys) == ["learning_rate", "initial.teacher", "time.end", "simulation.end"]
    assert Axis("a.b", "b", ("x", [1, 2])).coordinate().tolist() == ["x", "[1, 2]"]
    assert Axis("a.b", "b", (1, 2.5)).coordinate().tolist() == [1.0, 2.5]


def test_boxes_cover_the_grid_once(study: Study) -> None:
    grid = Grid(study, {"initial.seed": list(range(7)), "training.learning_rate": "0.1:2:40"})
    layout = layout_of(grid)
    found = np.concatenate([box.indices for box in layout.boxes()])
    assert sorted(found) == list(range(280))
    assert max(len(box) for box in layout.boxes()) == 40
    assert layout.box == (1, 40)
