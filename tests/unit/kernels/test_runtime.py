"""What fast modules share: views, arrays on the stack, a promise to the compiler, vector roots.

These lean on numba's internals: a numba that changes one of them fails here first.
"""

import re
import tomllib
from pathlib import Path

import numba
import numpy as np
import pytest
from numba import njit
from symderiv_kernels.fast import runtime
from symderiv_kernels.fast.runtime import derivative_apart, stack_array, to_inverse_roots, view

TOP = Path(__file__).parents[3]


@njit
def _filled_views(vector, K, L):
    """Numbers written through views, and a sum read through one."""
    pairs = view(vector, 1, (K, K, L))
    for i in range(K):
        for j in range(K):
            for k in range(L):
                pairs[i, j, k] = 100.0 * i + 10.0 * j + k
    last = view(vector, 1 + K * K * L, (2,))
    last[1] = -7.0
    return pairs.shape, pairs.strides, pairs.sum()


def test_a_view_has_the_numbers_of_its_vector_and_the_shape_that_is_asked() -> None:
    vector = np.full(1 + 2 * 2 * 3 + 2, np.nan)
    shape, strides, total = _filled_views(vector, 2, 3)
    assert (shape, strides) == ((2, 2, 3), (48, 24, 8))
    pairs = [100.0 * i + 10.0 * j + k for i in (0, 1) for j in (0, 1) for k in (0, 1, 2)]
    assert vector[1:13].tolist() == pairs
    assert total == sum(pairs)
    assert np.isnan(vector[[0, 13]]).all()
    assert vector[14] == -7.0


def _on_the_stack(size, shape):
    """A function with two arrays on the stack whose lengths are known when it is compiled."""

    @njit
    def function(given):
        first = stack_array(size, shape)
        second = stack_array(3, (3,))
        for n in range(3):
            second[n] = -1.0 - n
        for i in range(shape[0]):
            for j in range(shape[1]):
                first[i, j] = given + 10.0 * i + j
        return first.sum(), second.sum(), first.ctypes.data % 64, first.shape

    return function


def test_arrays_on_the_stack_are_apart_and_begin_a_line_of_the_cache() -> None:
    first, second, place, shape = _on_the_stack(6, (2, 3))(0.5)
    assert (first, second) == (6 * 0.5 + 3 * 10.0 + 2 * 3.0, -6.0)
    assert (place, shape) == (0, (2, 3))


def test_an_array_on_the_stack_is_no_allocation_and_not_refused_late() -> None:
    function = _on_the_stack(6, (2, 3))
    function(1.0)
    (text,) = function.inspect_llvm().values()
    own = text[: text.index("attributes #")]
    assert "NRT_Allocate" not in re.sub(r"declare .*", "", own)

    @njit
    def unknown(count):
        return stack_array(count, (count,)).sum()

    with pytest.raises(numba.TypingError):
        unknown(3)


def test_the_derivative_is_promised_to_overlap_with_nothing() -> None:
    @njit("void(float64[::1], float64[::1])")
    def promised(other, derivative):
        derivative_apart()
        for n in range(other.size):
            derivative[n] = 2.0 * other[n]

    @njit("void(float64[::1], float64[::1])")
    def silent(other, derivative):
        for n in range(other.size):
            derivative[n] = 2.0 * other[n]

    def promises(function) -> list[str]:
        (text,) = function.inspect_llvm().values()
        heads = [line for line in text.splitlines() if line.startswith("define")]
        return re.findall(r"noalias[^,]*%\.?(\d+|arg\.\w+\.\d+)", heads[0])

    assert len(promises(promised)) == len(promises(silent)) + 1
    found = np.zeros(3)
    promised(np.arange(3.0), found)
    assert found.tolist() == [0.0, 2.0, 4.0]


def test_inverse_roots_are_made_by_vector_instructions() -> None:
    values = np.concatenate([np.full(8, 4.0), np.full(8, 9.0)])
    to_inverse_roots(values, 5)
    assert values.tolist() == [0.5] * 8 + [9.0] * 8
    anew = njit(error_model="numpy", fastmath={"contract"})(to_inverse_roots.py_func)
    anew(values, 16)
    assert values[:8] == pytest.approx(0.5**-0.5, rel=1e-15)
    (text,) = anew.inspect_llvm().values()
    assert "llvm.sqrt.v8f64" in text


def _kept_function(digest: int):
    scale = 2.0

    @njit(cache=True)
    def function(x):
        digest  # noqa: B018
        return scale * x

    return function


def test_compiled_code_is_kept_by_the_variables_that_it_mentions() -> None:
    one, same, other = (_kept_function(digest) for digest in (1, 1, 2))
    keys = []
    for function in (one, same, other):
        assert function(3.0) == 6.0
        (signature,) = function.nopython_signatures
        keys.append(function._cache._index_key(signature, function.targetctx.codegen()))
    assert keys[0] == keys[1] != keys[2]


def test_the_digest_is_that_of_the_text() -> None:
    import hashlib

    text = Path(runtime.__file__).read_bytes()
    assert int(hashlib.sha256(text).hexdigest()[:15], 16) == runtime.DIGEST < 2**63


@pytest.mark.parametrize("name", ["erf", "linear", "relu", "gelu", "erf_sign", "quadratic"])
def test_every_fast_module_is_kept_by_the_digest(name: str) -> None:
    text = (TOP / "generated" / "symderiv_kernels" / "fast" / f"{name}.py").read_text("utf-8")
    compiled = text[text.index("    digest = DIGEST\n") :]
    assert re.search(r"def flat_right_hand_side\(.*\):\n        digest  # ", compiled)


def test_numba_is_one_that_was_tried() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (stated,) = (each for each in project["dependencies"] if each.startswith("numba"))
    low, high = re.findall(r"(\d+)\.(\d+)", stated)
    version = tuple(int(part) for part in numba.__version__.split(".")[:2])
    assert tuple(map(int, low)) <= version < tuple(map(int, high))
