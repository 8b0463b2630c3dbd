"""STUDY.toml: defaults, refusals with the key's name, sweeps, the canonical text."""

import numpy as np
import pytest
from support.commands import python
from support.studies import toml

from symderiv.foundation.errors import InputError
from symderiv.problem.study import expand_sweep, load_study, parse_study

BASE = toml(
    network={"activation": "erf", "students": 3, "teachers": 2},
    data={"model": "power-law", "dimension": 1024, "distinct_eigenvalues": 4, "exponent": 1.0},
    training={"learning_rate": 0.1},
    time={"end": 4000.0},
)


def changed(*pairs: tuple[str, str]) -> str:
    text = BASE
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


def test_defaults_are_those_of_the_documentation():
    study = parse_study(BASE)
    assert (study.K, study.M) == (3, 2)
    np.testing.assert_allclose(study.student_weights, np.full(3, 2**-0.5), rtol=1e-15)
    np.testing.assert_allclose(study.teacher_weights, np.full(2, 2**-0.5), rtol=1e-15)
    assert study.teacher_activation == "erf"
    assert study.training.order == "full"
    assert study.second_layer_learning_rate == 0.0
    assert study.initial.draw == "sampled"
    assert study.initial.teacher == "random"
    assert study.simulation.runs == 4
    assert study.time.relative_tolerance == 1e-9
    assert study.time.absolute_tolerance == 1e-14
    assert study.alpha.size == 200
    assert study.alpha[0] == 0.0
    assert study.alpha[-1] == 4000.0
    assert study.simulation_alpha is study.alpha


def test_the_time_grid_can_be_linear_or_given():
    linear = parse_study(changed(("end = 4000.0", 'end = 10\npoints = 5\nspacing = "linear"')))
    np.testing.assert_allclose(linear.alpha, [0, 2.5, 5, 7.5, 10])
    given = parse_study(changed(("end = 4000.0", "values = [0, 5, 20.5]")))
    assert given.alpha.tolist() == [0.0, 5.0, 20.5]
    one = parse_study(changed(("end = 4000.0", "end = 10\npoints = 1")))
    assert one.alpha.tolist() == [10.0]


def test_the_simulation_reports_at_the_times_of_the_study_up_to_its_own_end():
    text = changed(("end = 4000.0", "values = [0, 5, 20]"))
    assert parse_study(text + "[simulation]\nend = 7\n").simulation_alpha.tolist() == [0, 5, 7]
    assert parse_study(text + "[simulation]\nend = 5\n").simulation_alpha.tolist() == [0, 5]
    assert parse_study(text + "[simulation]\nend = 30\n").simulation_alpha.tolist() == [
        *(0, 5, 20, 30),
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        *(("0.5", [0.5, 0.5, 0.5]), ("2", [2.0, 2.0, 2.0]), ("[1, 2.5, -3]", [1.0, 2.5, -3.0])),
        *(('"M/K"', [2 / 3] * 3), ('"sqrt(M)/K"', [2**0.5 / 3] * 3)),
    ],
)
def test_output_weights_are_a_number_a_list_or_an_expression(given, expected):
    study = parse_study(changed(("teachers = 2", f"teachers = 2\nstudent_weights = {given}")))
    np.testing.assert_allclose(study.student_weights, expected, rtol=1e-15)


def test_the_second_layer_learns_at_the_rate_of_the_first_unless_told_otherwise():
    trained = ("teachers = 2", "teachers = 2\ntrain_second_layer = true")
    assert parse_study(changed(trained)).second_layer_learning_rate == 0.1
    own = ("learning_rate = 0.1", "learning_rate = 0.1\nsecond_layer_learning_rate = 0.7")
    assert parse_study(changed(trained, own)).second_layer_learning_rate == 0.7
    decay = ("learning_rate = 0.1", "learning_rate = 0.1\nsecond_layer_weight_decay = 0.2")
    assert parse_study(changed(trained, decay)).second_layer_weight_decay == 0.2
    # a fixed second layer neither learns nor decays
    assert parse_study(changed(own)).second_layer_learning_rate == 0.0
    assert parse_study(changed(decay)).second_layer_weight_decay == 0.0


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("students = 3", "studnts = 3", "network.studnts: unknown key; did you mean students"),
        ("students = 3", "students = 3.0", "network.students: .*got 3.0"),
        ("students = 3", "students = true", "network.students"),
        ("students = 3", "students = 0", "network.students"),
        ("students = 3", "students = 100000", "network.students"),
        ("students = 3", "", "network.students: is missing"),
        (
            "students = 3",
            "students = 3\nstudent_weights = [1, 2]",
            "network.student_weights: has 2",
        ),
        ("students = 3", 'students = 3\nstudent_weights = [1, 2, "a"]', "network.student_weights"),
        ("students = 3", 'students = 3\nstudent_weights = "1/L"', "network.student_weights"),
        ("students = 3", 'students = 3\nstudent_weights = "1/0"', "network.student_weights"),
        ("students = 3", "students = 3\nstudent_weights = nan", "network.student_weights"),
        ("students = 3", "students = 3\nstudent_weights = true", "network.student_weights"),
        ('"erf"', '"erff"', "network.activation"),
        ('"erf"', '"__import__(1)"', "network.activation"),
        ('"erf"', '"erf"\nteacher_activation = "y"', "network.teacher_activation"),
        ("= 0.1", "= nan", "training.learning_rate: .*finite"),
        ("= 0.1", "= -0.1", "training.learning_rate: .*got -0.1"),
        ("= 0.1", '= "0.1"', "training.learning_rate"),
        ("= 0.1", "= 1979-05-27", "training.learning_rate"),
        ("= 0.1", f"= 1{'0' * 400}", "training.learning_rate"),
        ("= 0.1", "= 0.1\nlabel_noise = -1", "training.label_noise"),
        ("= 0.1", "= 0.1\nweight_decay = inf", "training.weight_decay"),
        ("= 0.1", '= 0.1\norder = "half"', "training.order"),
        ("eigenvalues = 4", "eigenvalues = 3", "data.distinct_eigenvalues: 3 does not divide"),
        ("dimension = 1024", "", "data.dimension: is missing"),
        ("dimension = 1024", "dimension = -5", "data.dimension"),
        ('"power-law"', '"isotropic"', "data.distinct_eigenvalues: does not belong"),
        ('"power-law"', '"unknown"', "data.model: must be one of .*isotropic"),
        ('model = "power-law"', "", "data.model: must be one of .* missing"),
        ('model = "power-law"', "model = 3", "data.model"),
        ("end = 4000.0", "end = 0", "time.end: should be greater than 0"),
        ("end = 4000.0", "end = inf", "time.end"),
        ("end = 4000.0", "values = []", "time.values: is empty"),
        ("end = 4000.0", "values = [2, 1]", "time.values: must be ascending"),
        ("end = 4000.0", "values = [1, 1]", "time.values: must be ascending"),
        ("end = 4000.0", "values = [-1, 1]", "time.values"),
        ("end = 4000.0", "values = [0, nan]", "time.values"),
        ("exponent = 1.0", "exponent = nan", "data.exponent"),
        ("[time]", '[initial]\nteacher = "unit"\n[time]', "initial.teacher"),
        ("end = 4000.0", "values = [1]\nend = 3", "time.values: is given together with end"),
        ("end = 4000.0", "end = 1\nrelative_tolerance = 0", "time.relative_tolerance"),
        ("end = 4000.0", "end = 1\nrelative_tolerance = 1e-16", "time.relative_tolerance"),
        ("end = 4000.0", "end = 1\nabsolute_tolerance = -1", "time.absolute_tolerance"),
        ("end = 4000.0", 'end = 1\nmethod = "radau"', "time.method: .*'auto', 'explicit' or"),
        ("end = 4000.0", 'end = 1\ncompression = "maybe"', "time.compression: .*'on' or"),
        ("[time]", "[extra]\na = 1\n[time]", "extra: unknown key"),
        ("[time]", "[initial]\nstudent_std = -1\n[time]", "initial.student_std"),
        ("[time]", "[initial]\nseed = -1\n[time]", "initial.seed"),
        ("[time]", '[initial]\ndraw = "best"\n[time]', "initial.draw"),
        (
            "[time]",
            '[initial]\nstate = "a"\ndraw = "mean"\n[time]',
            "initial.state: is given together",
        ),
        ("[time]", "[simulation]\nruns = 0\n[time]", "simulation.runs"),
        ("[time]", '[sweep]\n"data.dimensions" = [1]\n[time]', 'sweep."data.dimensions"'),
        ("[time]", '[sweep]\n"data.dimension" = []\n[time]', "sweep.data.dimension"),
        ("[time]", '[sweep]\n"data.dimension" = 3\n[time]', "sweep.data.dimension"),
        ("[time]", '[sweep]\n"data.dimension" = [8, 9]\n[time]', "data.distinct_eigenvalues: 4"),
        ("[network]", "network = 1\n[other]", "network"),
        ("[data]", "[[data]]", "data"),
        ("=", "= =", "is not a TOML file"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_with_the_full_name(old, new, named):
    with pytest.raises(InputError, match=f"(^|; ){named}") as caught:
        parse_study(changed((old, new)))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "[initial]\nstudent_std = 0.1\nseed = 7\n",
        '[sweep]\n"data.distinct_eigenvalues" = [1, 4]\n"training.learning_rate" = [0.1, 1]\n',
    ],
)
def test_the_canonical_text_reads_back_to_the_same_study(extra):
    study = parse_study(BASE + extra)
    again = parse_study(study.text)
    assert again == study
    assert again.text == study.text


def test_the_canonical_text_leaves_out_defaults_that_something_replaces():
    text = changed(("end = 4000.0", "values = [0, 1]")) + '[initial]\nstate = "a\\"b\\\\c.npz"\n'
    study = parse_study(text, base="somewhere")
    assert "student_std" not in study.text
    assert "points" not in study.text
    assert parse_study(study.text, base="somewhere") == study
    assert study.state_file is not None
    assert study.state_file.parts == ("somewhere", 'a"b\\c.npz')


def test_a_sweep_gives_one_labelled_study_per_combination_in_order():
    sweep = (
        '[sweep]\n"data.distinct_eigenvalues" = [1, 4]\n[sweep.training]\nlearning_rate=[0.1, 0.2]'
    )
    study = parse_study(BASE + sweep)
    parts = expand_sweep(study)
    assert [label for label, _ in parts] == [
        "distinct_eigenvalues=1, learning_rate=0.1",
        "distinct_eigenvalues=1, learning_rate=0.2",
        "distinct_eigenvalues=4, learning_rate=0.1",
        "distinct_eigenvalues=4, learning_rate=0.2",
    ]
    assert [part.data.distinct_eigenvalues for _, part in parts] == [1, 1, 4, 4]
    assert [part.training.learning_rate for _, part in parts] == [0.1, 0.2, 0.1, 0.2]
    assert all(not part.sweep for _, part in parts)
    assert expand_sweep(parts[0][1]) == [("", parts[0][1])]


def test_a_key_may_be_given_by_the_sweep_alone():
    text = changed(("distinct_eigenvalues = 4\n", ""))
    with pytest.raises(InputError, match=r"data.distinct_eigenvalues: is missing"):
        parse_study(text)
    study = parse_study(text + '[sweep]\n"data.distinct_eigenvalues" = [2, 4]\n')
    assert [part.data.distinct_eigenvalues for _, part in expand_sweep(study)] == [2, 4]


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        load_study(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        load_study(tmp_path / "bytes.toml")
    (tmp_path / "study.toml").write_text(BASE)
    assert load_study(tmp_path / "study.toml").text == parse_study(BASE).text


def test_reading_a_study_imports_no_heavy_package():
    code = (
        "import sys; from symderiv.problem.study import parse_study; "
        f"s = parse_study({BASE!r}); s.student_weights; "
        "print([m for m in ('sympy', 'numba', 'scipy', 'h5py') if m in sys.modules])"
    )
    done = python(code)
    assert done.stdout.strip() == "[]"
