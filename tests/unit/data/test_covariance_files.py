"""data.model = "covariance": what is read from a file, and what is refused with which words."""

import io
import os
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.studies import toml

from symderiv.foundation.errors import InputError
from symderiv.inputs import covariance
from symderiv.inputs.covariance_spectrum import read_spectrum
from symderiv.inputs.given import Given
from symderiv.problem.initial import initial
from symderiv.problem.study import expand_sweep, parse_study

# the function of the same name hides the module
covariance_module = import_module("symderiv.inputs.covariance_spectrum")


def rotation(N: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((N, N)))[0]


def rotated(values: list[float], seed: int = 0) -> np.ndarray:
    U = rotation(len(values), seed)
    C = U @ np.diag(values) @ U.T
    return 0.5 * (C + C.T)


def npz(tmp_path: Path, **arrays: np.ndarray) -> Path:
    path = tmp_path / "c.npz"
    np.savez(path, **arrays)
    return path


def npy(tmp_path: Path, array: np.ndarray) -> Path:
    path = tmp_path / "c.npy"
    np.save(path, array)
    return path


VALUES = [4.0] * 3 + [1.0] * 5 + [0.25] * 4 + [1e-5] * 2 + [0.0] * 6


def test_the_eigenvalues_of_a_rotated_diagonal_are_recovered_with_their_multiplicities(tmp_path):
    model = covariance(npz(tmp_path, covariance=rotated(VALUES)))
    component = model.single()
    expected = [4.0, 1.0, 0.25, 1e-5, 0.0]
    # an eigenvalue is known to rounding relative to the largest
    np.testing.assert_allclose(component.eigenvalue, expected, rtol=1e-14, atol=20 * 4 * 2.3e-16)
    assert component.eigenvalue[-1] == 0.0
    assert model.multiplicities().tolist() == [3, 5, 4, 2, 6]
    assert model.dimension == 20
    assert model.remarks == ()


def test_samples_give_the_unbiased_covariance_with_their_mean_removed(tmp_path):
    rng = np.random.default_rng(3)
    samples = rng.standard_normal((50, 7)) @ rng.standard_normal((7, 7)) + 100.0
    expected = np.linalg.eigvalsh(np.cov(samples, rowvar=False))[::-1]
    for path in (npz(tmp_path, samples=samples), npy(tmp_path, samples)):
        model = covariance(path)
        np.testing.assert_allclose(model.single().eigenvalue, expected, rtol=1e-10)
        (remark,) = model.remarks
        assert remark == (
            "data.file: covariance estimated from 50 samples of 7 inputs, their mean removed"
        )


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "bool", "float16", ">f8"])
def test_samples_of_any_real_type_are_read(tmp_path, dtype):
    samples = np.random.default_rng(4).integers(0, 2, (30, 4)).astype(dtype)
    expected = np.linalg.eigvalsh(np.cov(samples.astype(float), rowvar=False))[::-1]
    found = covariance(npz(tmp_path, samples=samples)).single().eigenvalue
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_fewer_samples_than_inputs_leave_zero_eigenvalues_and_say_so(tmp_path):
    samples = np.random.default_rng(5).standard_normal((6, 10))
    model = covariance(npz(tmp_path, samples=samples))
    assert model.multiplicities().tolist() == [1] * 5 + [5]
    assert model.single().eigenvalue[-1] == 0.0
    assert "its rank is below 6" in model.remarks[0]


def test_a_square_table_without_symmetry_is_samples_and_a_nearly_symmetric_one_is_refused(tmp_path):
    table = np.random.default_rng(6).standard_normal((5, 5))
    assert "5 samples" in covariance(npy(tmp_path, table)).remarks[0]
    C = rotated([3.0, 2.0, 1.0])
    C[0, 1] += 1e-4
    with pytest.raises(InputError, match=r"^file: c\.npy: is nearly symmetric"):
        covariance(npy(tmp_path, C))


def test_arrays_given_as_such_are_read_as_from_a_file(tmp_path):
    C = rotated([3.0, 3.0, 1.0, 0.25])
    file = covariance(npz(tmp_path, covariance=C), normalise=True)
    for arrays in (C, {"covariance": C}):
        found = covariance(Given(arrays), normalise=True)
        np.testing.assert_array_equal(found.single().eigenvalue, file.single().eigenvalue)
        assert found.multiplicities().tolist() == [2, 1, 1]
        assert found.remarks == file.remarks
    with pytest.raises(InputError, match="the array given: is not a covariance"):
        covariance(Given(-C))


def test_scales_far_from_one_are_kept(tmp_path):
    C = rotated([3.0, 2.0, 1.0])
    for scale in (1e90, 1e-90):
        found = covariance(npz(tmp_path, covariance=scale * C)).single().eigenvalue
        np.testing.assert_allclose(found, np.array([3.0, 2.0, 1.0]) * scale, rtol=1e-13)


def test_a_single_precision_covariance_may_have_negative_rounding(tmp_path):
    C = rotated([1.0] * 10 + [0.0] * 30).astype(np.float32)
    lowest = np.linalg.eigvalsh(C.astype(float))[0]
    assert lowest < -1e-9
    assert covariance(npz(tmp_path, covariance=C)).single().eigenvalue[-1] == 0.0
    with pytest.raises(InputError, match=r"^file: c\.npz: covariance: is not a covariance"):
        covariance(npz(tmp_path, covariance=C.astype(float)))


def spoiled(entry: tuple[int, int], value: float) -> np.ndarray:
    C = np.eye(4)
    C[entry] = value
    return C


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"covariance": spoiled((1, 2), np.nan)}, r"covariance: entry \[1, 2\] is nan"),
        ({"covariance": spoiled((3, 3), np.inf)}, r"covariance: entry \[3, 3\] is inf"),
        ({"samples": spoiled((0, 1), -np.inf)}, r"samples: entry \[0, 1\] is -inf"),
        ({"covariance": spoiled((1, 2), 0.1)}, "covariance: is not symmetric"),
        (
            {"covariance": np.ones((3, 4))},
            r"covariance: has shape \(3, 4\), but a covariance is squ",
        ),
        ({"covariance": np.ones(3)}, r"covariance: has shape \(3,\), expected a matrix"),
        ({"covariance": np.ones((2, 2, 2))}, r"covariance: has shape \(2, 2, 2\)"),
        ({"covariance": np.array(1.0)}, r"covariance: has shape \(\)"),
        (
            {"covariance": np.ones((0, 0))},
            r"covariance: has shape \(0, 0\), which holds no numbers",
        ),
        ({"samples": np.ones((1, 3))}, "samples: has one sample"),
        ({"samples": np.ones((9, 3))}, "samples: the mean variance of an input is zero"),
        ({"covariance": np.zeros((3, 3))}, "covariance: the mean variance of an input is zero"),
        ({"covariance": np.diag([2.0, -1.0])}, "covariance: is not a covariance.* -1 "),
        ({"covariance": -np.eye(2)}, "covariance: is not a covariance"),
        ({"covariance": 1e200 * np.eye(2)}, "covariance: the mean variance of an input is 1e"),
        ({"samples": 1e308 * rotation(4)}, "samples: the mean variance of an input is inf"),
        ({"covariance": np.eye(2) * 1j}, "covariance: holds complex128"),
        ({"covariance": np.array([["a", "b"]])}, "covariance: holds <U1"),
        ({"covariance": np.array([[{}, None]])}, "covariance: holds object"),
        ({"covariance": np.zeros((2, 2), [("a", float)])}, "covariance: holds"),
        ({"other": np.eye(2)}, 'has no array "covariance" or "samples"; it holds other'),
        ({}, "has no array .* it holds nothing"),
        ({"covariance": np.eye(2), "samples": np.eye(2)}, "holds both"),
        ({"samples": np.zeros((2, 9000), bool)}, "samples: has 9000 inputs, more than the 8192"),
    ],
)
def test_unusable_arrays_are_refused_by_name(tmp_path, arrays, words):
    path = npz(tmp_path, **arrays)
    with pytest.raises(InputError, match=rf"^file: c\.npz: {words}") as refused:
        covariance(path)
    assert "\n" not in str(refused.value)


def test_the_key_array_has_to_fit_the_file(tmp_path):
    with pytest.raises(InputError, match=r"^array: c\.npz has no array x; it holds a, b"):
        covariance(npz(tmp_path, a=np.eye(2), b=np.eye(2)), "x")
    with pytest.raises(InputError, match=r"^array: x is given, but c\.npy is an \.npy file"):
        covariance(npy(tmp_path, np.eye(2)), "x")


def header(shape: str, kind: str = "<f8") -> bytes:
    text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def zipped(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("covariance.npy", content)
    return buffer.getvalue()


HUGE = [header("(99999999, 99999999)"), header("(-1, 4)"), header("(4, 4)"), header("('a', 1)")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not an array",
        b"\x93NUMPY",
        b"\x93NUMPY\x09\x00" + bytes(20),
        b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
        header("(1, 1)", "|O") + b"cos\nsystem\n(S'true'\ntR.",
        *HUGE,
        *map(zipped, HUGE),
        zipped(b"")[:-10],
        zipped(header("(2, 2)") + bytes(32)).replace(header("(2, 2)")[:12], b"x" * 12),
    ],
)
def test_damaged_and_hostile_files_are_refused_in_one_line_without_being_read(tmp_path, content):
    path = tmp_path / "c.npz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"^file: c\.npz: ") as refused:
        covariance(path)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


WHOLE = zipped(header("(2, 2)") + np.eye(2).tobytes())


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([WHOLE, header("(2, 2)") + np.eye(2).tobytes()]),
    st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), max_size=4),
    st.integers(0, len(WHOLE)),
)
def test_no_damage_leads_to_anything_but_a_model_or_a_refusal(
    tmp_path_factory, content, changes, length
):
    damaged = bytearray(content)
    for place, value in changes:
        if place < len(damaged):
            damaged[place] = value
    path = tmp_path_factory.mktemp("damaged") / "c.npz"
    path.write_bytes(bytes(damaged[:length]))
    message = ""
    try:
        covariance(path)
    except InputError as error:
        message = str(error)
    assert "\n" not in message


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"^file: none\.npz: No such file"):
        covariance(tmp_path / "none.npz")
    with pytest.raises(InputError, match="is not a file"):
        covariance(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"^file: pipe: is not a file"):
        covariance(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"^file: a.*cannot be read"):
        covariance(tmp_path / "a\0\nb")


def test_a_file_that_changes_is_read_again(tmp_path):
    path = npz(tmp_path, covariance=np.diag([2.0, 1.0]))
    first = read_spectrum(path)
    assert read_spectrum(path) is first
    npz(tmp_path, covariance=np.diag([3.0, 1.0]))
    os.utime(path, ns=(1, 1))
    assert read_spectrum(path).eigenvalue.tolist() == [3.0, 1.0]


STUDY = toml(
    network={"activation": "erf", "students": 1, "teachers": 1},
    data={"model": "covariance", "file": "c.npz"},
    training={"learning_rate": 0.1},
    time={"end": 1.0},
)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("dimension = 10", "data.dimension: is 10, but the covariance has 20 inputs"),
        ("distinct_eigenvalues = 21", "data.distinct_eigenvalues: 21 is not between 1 and the 20"),
        ("distinct_eigenvalues = 0", "data.distinct_eigenvalues: "),
        ("grouping_tolerance = 1.0", "data.grouping_tolerance: "),
        ("grouping_tolerance = -1e-3", "data.grouping_tolerance: "),
        (
            "grouping_tolerance = 0.1\ndistinct_eigenvalues = 2",
            "data.grouping_tolerance: is given together with distinct_eigenvalues",
        ),
        ("array = 3", "data.array: "),
        ('array = "x"', r"data.array: c\.npz has no array x"),
        ("exponent = 1.0", "data.exponent: does not belong to"),
        ("normalize = true", "data.normalize: unknown key; did you mean normalise"),
    ],
)
def test_unusable_keys_are_refused_by_name(tmp_path, more, words):
    npz(tmp_path, covariance=rotated(VALUES))
    with pytest.raises(InputError, match=f"^{words}"):
        parse_study(STUDY.replace("[training]", f"{more}\n[training]"), base=tmp_path)


def test_a_study_without_its_file_says_which(tmp_path):
    with pytest.raises(InputError, match=r"^data\.file: c\.npz: No such file"):
        parse_study(STUDY, base=tmp_path)
    with pytest.raises(InputError, match=r"^data\.file: is missing"):
        parse_study(STUDY.replace('file = "c.npz"', ""), base=tmp_path)
    with pytest.raises(InputError, match=r"^data\.file: "):
        parse_study(STUDY.replace("c.npz", ""), base=tmp_path)


def test_a_sweep_over_the_number_of_eigenvalues_keeps_the_mean_variance(tmp_path):
    npz(tmp_path, covariance=rotated(VALUES))
    study = parse_study(
        STUDY + '[sweep]\n"data.distinct_eigenvalues" = [1, 3, 20]\n', base=tmp_path
    )
    for L, (label, one) in zip((1, 3, 20), expand_sweep(study), strict=True):
        assert label == f"distinct_eigenvalues={L}"
        component = one.data_model.single()
        assert component.eigenvalue.size == L
        assert component.weight @ component.eigenvalue == pytest.approx(np.mean(VALUES))


def test_the_start_of_a_study_carries_what_was_done_to_the_file(tmp_path):
    npz(tmp_path, covariance=rotated(VALUES))
    text = STUDY.replace("[training]", "distinct_eigenvalues = 2\nnormalise = true\n[training]")
    for draw in ("sampled", "mean"):
        study = parse_study(f'{text}[initial]\ndraw = "{draw}"\n', base=tmp_path)
        start = initial(study)
        assert len(start.warnings) == 1
        assert "divided by its mean eigenvalue 0.900001; its 20 eigenvalues" in start.warnings[0]
    state = tmp_path / "state.npz"
    start.state.save(state)
    again = parse_study(f'{text}[initial]\nstate = "state.npz"\n', base=tmp_path)
    assert initial(again).warnings == start.warnings
    assert again.input_files == (state, tmp_path / "c.npz")


def test_samples_are_read_in_blocks_whose_length_does_not_matter(monkeypatch):
    samples = np.random.default_rng(4).uniform(1.0, 2.0, (50, 3)) ** 2
    whole = covariance_module.sample_covariance(samples, 2.0)
    np.testing.assert_allclose(whole, np.cov(samples.T) / 4.0, rtol=1e-13)
    unscaled = covariance_module.sample_covariance(samples)
    np.testing.assert_allclose(unscaled, np.cov(samples.T), rtol=1e-13)
    for numbers in (1, 21, 30, 149, 150):
        monkeypatch.setattr(covariance_module, "_BLOCK_NUMBERS", numbers)
        np.testing.assert_allclose(
            covariance_module.sample_covariance(samples, 2.0), whole, rtol=1e-13
        )


def test_the_covariance_of_a_file_is_a_matrix_in_its_own_coordinates(tmp_path):
    samples = np.random.default_rng(4).standard_normal((40, 3)) * [1.0, 1e-3, 1e5]
    np.save(tmp_path / "x.npy", samples)
    found = covariance_module.read_covariance(str(tmp_path / "x.npy"))
    np.testing.assert_allclose(found, np.cov(samples.T), rtol=1e-11, atol=1e-8)
    np.testing.assert_array_equal(found, found.T)
    given = np.array([[2.0, 0.5], [0.5, 1.0]])
    np.savez(tmp_path / "c.npz", covariance=given)
    np.testing.assert_array_equal(covariance_module.read_covariance(tmp_path / "c.npz"), given)
    np.savez(tmp_path / "bad.npz", covariance=np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(InputError, match=r"^file: bad\.npz: covariance"):
        covariance_module.read_covariance(tmp_path / "bad.npz")
