"""Translated functions have the values that the same text has as plain Python."""

import gc
import math
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from support.kernel_states import state

from symderiv.checking.recipes import RECIPES
from symderiv.compiled_code.for_numba import for_numba
from symderiv.compiled_code.machine_code import can_link
from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.compiled_code.translation.module_source import module_names
from symderiv.lowering.means.uncompiled import uncompiled

pytestmark = pytest.mark.skipif(not can_link(), reason="code needs numba on this system")

KERNELS = Path(__file__).parents[3] / "generated" / "symderiv_kernels"
SIZES = ((2, 2, 1), (3, 1, 2), (1, 3, 5))

LANGUAGE = '''
import math

import numpy as np
from numba import njit

TABLE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
PLACES = (3, 1, 2)
NUMBERS = (0.5, -1.5, 2.5)
SWITCH = 0
_compiled = njit(cache=True, error_model="numpy", fastmath=False)


@_compiled
def pair(x, n):
    """Return a tuple of a tuple and an integer."""
    part, power = math.frexp(x)
    return (part, x - n), power


@_compiled
def twice(values):
    """Return an array that is made here, and a part of another one."""
    made = np.empty(values.size)
    for n in range(values.size):
        made[n] = 2.0 * values[n]
    return made, TABLE[1]


@_compiled
def numbers(x, y, n):
    total = 0
    if x > y and n > 0 or x == 0.5:
        total = 1.5
    for k in range(n):
        if k == 2:
            continue
        for j in range(5, 0, -2):
            if j < k:
                break
            total += k * j / 4
    (part, rest), power = pair(x, n)
    (a, b), c = (part, rest), power
    a, b = b, a
    total += a + 10.0 * b + c * 100 + -7 // 2 + (n - 9) // 4 + (n - 9) % 4 + x**3 + y**-2
    while total > 20.0:
        total -= 7
    swap = x, y
    if x < y:
        swap = y, x
    least = min(swap[0], 3, y) + max(1, n) - abs(-x) + abs(n - 4)
    chosen = swap[0] if n % 2 == 0 else n
    kept = NUMBERS[n % 3] + PLACES[n % 3] + swap[n % 2]
    signs = math.copysign(1.0, -x) + math.floor(y) + math.ceil(y) + int(-y) + float(n)
    high = math.erf(x) + math.atan2(y, x) + math.hypot(x, y) + math.expm1(x) + math.log1p(x)
    bits = ((n << 3) >> 1) & 6
    order = 1.0 if 0 < n <= 3 else 0.0
    none = 5.0 if SWITCH else 0.25
    not_one = not (n == 1)
    return total + least + chosen + kept + signs + high + bits + order + none + (2.0 * not_one)


@_compiled
def arrays(values, matrix, n):
    made, row = twice(values)
    square = np.zeros((2, 3))
    square[0] = 1.5
    square[1, :] = 0.0
    square[1, 1] += row[2]
    square[0, -1] *= 2
    column = matrix[:, 1].copy()
    copied = matrix.copy()
    copied[0, 0] = matrix[1, 1] = 4.0
    part = made[1:3]
    scaled = 2.0 * part
    places = np.zeros(3, np.int64)
    places[1] = n
    ones = np.ones(n + 1)
    K, M = matrix.shape
    total = 0.0
    for i in range(K):
        for j in range(M):
            total += copied[i, j] * (i + 1) + matrix[i, j]
    for i in range(square.shape[0]):
        for j in range(square.shape[1]):
            total += square[i, j] * (j + 1)
    for k in range(np.uint64(1), np.uint64(3)):
        total += k * values[k]
    for k in range(2):
        total -= k * values[k + 1]
    values[:] = 0.0
    values[places[1]] = total
    return total + column[1] + scaled[1] + part[0] + ones[n] + places[1] + len(made) + len(PLACES)
'''


def names_of(text: str) -> tuple[TranslatedModule, dict[str, object]]:
    return TranslatedModule(text), module_names(text)


def test_every_construct_of_the_language_does_what_it_does_in_python():
    module, plain = names_of(LANGUAGE)
    function = module.function("numbers", lambda: pytest.fail("not translated"))
    rng = np.random.default_rng(3)
    for n in range(7):
        for x, y in [*rng.uniform(0.1, 3.0, (8, 2)), (0.5, 2.0)]:
            assert function(x, y, n) == pytest.approx(plain["numbers"](x, y, n), rel=1e-14)
    function = module.function("arrays", lambda: pytest.fail("not translated"))
    for n in range(3):
        values, matrix = rng.normal(size=4), rng.normal(size=(2, 3))
        others = values.copy(), matrix.copy()
        assert function(values, matrix, n) == pytest.approx(plain["arrays"](*others, n), rel=1e-14)
        np.testing.assert_allclose(values, others[0], rtol=1e-14)
        np.testing.assert_array_equal(matrix, others[1])
    assert module.untranslated == {}


@pytest.mark.parametrize("line", ["return [x]", "return x if x else None", "return sum((x, x))"])
def test_what_is_not_of_the_language_is_left_to_numba(line):
    text = f"from numba import njit\n\n@njit(cache=True)\ndef f(x):\n    {line}\n"
    module = TranslatedModule(text)
    assert module.function("f", lambda: math.sqrt)(4.0) == 2.0
    assert "f" in module.untranslated


ROOMS = """
import numpy as np
from numba import njit

_compiled = njit(cache=True, error_model="numpy", fastmath=False)


@_compiled
def inner(n, value):
    first, second = np.empty(n), np.empty((2, n))
    for k in range(n):
        first[k], second[0, k], second[1, k] = value + k, 2.0 * k, value
    total = 0.0
    for k in range(n):
        total += first[k] - second[0, k] + second[1, k]
    return total / n


@_compiled
def middle(n, value):
    own = np.empty(n // 3 + 1)
    own[:] = value
    total = inner(n, value) + inner(n // 2 + 1, value)
    return total + own[0] + own[n // 3]


@_compiled
def without(n, value):
    return inner(n, value)


@_compiled
def outer(sizes, value):
    kept, total = np.empty(sizes.size), 0.0
    for k in range(sizes.size):
        kept[k] = value + k
    for k in range(sizes.size):
        total += middle(sizes[k], value)
    for k in range(sizes.size):
        total += kept[k]
    return total
"""


def total_of_rooms(sizes: np.ndarray, value: float) -> float:
    """What ``outer`` gives: the sums have no rounding."""
    means = sum(2 * value - (m - 1) / 2 for n in sizes.tolist() for m in (n, n // 2 + 1))
    count = sizes.size
    return means + 2 * value * count + value * count + count * (count - 1) / 2


def test_memory_is_of_one_call_and_grows_with_what_is_asked() -> None:
    """Arrays are smaller and larger than what is taken at a time, also in calls side by side."""
    outer = TranslatedModule(ROOMS).function("outer", lambda: pytest.fail("not translated"))
    sizes = np.array([3, 200_000, 1, 700_000, 5, 60_000, 70_000, 1_000_000])
    assert outer(sizes[::2].copy(), 0.5) == total_of_rooms(sizes[::2], 0.5)

    def wrong(value: float) -> list[int]:
        given = [sizes[k % 3 :].copy() for k in range(9)]
        found = [outer(each, value) for each in given]
        return [k for k in range(9) if found[k] != total_of_rooms(given[k], value)]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(wrong, (0.5, 1.0, 2.0, 3.0))) == [[]] * 4


def test_memory_is_given_back() -> None:
    """Also by a function that takes none but calls one that does."""
    module = TranslatedModule(ROOMS)
    outer = module.function("outer", lambda: pytest.fail("not translated"))
    without = module.function("without", lambda: pytest.fail("not translated"))

    def grown(call: Callable[[], float], calls: int) -> int:
        call()
        before = int(Path("/proc/self/statm").read_text().split()[0])
        for _ in range(calls):
            call()
        return int(Path("/proc/self/statm").read_text().split()[0]) - before

    # in pages; a call that kept its memory would add a thousand of them
    assert grown(lambda: outer(np.array([100, 2000]), 1.0), 50) < 5000
    assert grown(lambda: outer(np.array([1_000_000, 3]), 1.0), 10) < 5000
    assert grown(lambda: without(2000, 1.0), 50) < 5000


def test_sums_are_longer_than_python_may_nest_calls():
    terms = " + ".join(f"x * {n}" for n in range(1200))
    text = f"from numba import njit\n\n@njit(cache=True)\ndef f(x):\n    return {terms}\n"
    module = TranslatedModule(text)
    assert module.function("f", lambda: pytest.fail("not translated"))(2.0) == 1200 * 1199
    assert module.untranslated == {}


def agrees(text: str, sizes: tuple[tuple[int, int, int], ...] = SIZES, seeds: int = 3) -> None:
    """The right-hand side, translated, and as plain Python, at random states."""
    module, plain = TranslatedModule(text), uncompiled(text)
    for K, M, L in sizes:
        code = module.specialised(K, M)
        assert code is not None, module.untranslated
        for seed in range(seeds):
            unknown, parameters = state(K, M, L, 1.0, seed)
            lengths = np.array([K, M, L])
            found, expected = np.full(unknown.size, np.nan), np.full(unknown.size, np.nan)
            code(0.0, unknown, lengths, parameters, found)
            plain.flat_right_hand_side(0.0, unknown, lengths, parameters, expected)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found, expected, rtol=0, atol=2e-14 * scale)


@pytest.mark.days(2)
@pytest.mark.parametrize("name", RECIPES)
def test_right_hand_sides_of_the_package_agree_with_plain_python(name: str) -> None:
    agrees((KERNELS / "fast" / f"{name}.py").read_text(encoding="utf-8"))


def test_what_numba_calls_keeps_its_code() -> None:
    text = (KERNELS / "fast" / "erf.py").read_text(encoding="utf-8")
    code = TranslatedModule(text).specialised(2, 2)
    assert code is not None
    alive = weakref.ref(code)
    value = for_numba(code)
    del code
    gc.collect()
    assert value is not None
    assert alive() is not None
