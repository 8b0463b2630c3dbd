"""The number of threads for products of matrices is lowered and put back."""

import pytest

from symderiv.inputs import blas_threads
from symderiv.inputs.blas_threads import one_blas_thread


def test_threads_are_one_inside_and_as_before_outside() -> None:
    functions = blas_threads._functions()
    if functions is None:
        pytest.skip("NumPy is not linked with OpenBLAS")
    get, put = functions
    before = get()
    try:
        put(2)
        with one_blas_thread():
            assert get() == 1
        assert get() == 2
        with pytest.raises(KeyboardInterrupt), one_blas_thread():
            raise KeyboardInterrupt
        assert get() == 2
    finally:
        put(before)


def test_other_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas_threads, "_functions", lambda: None)
    with one_blas_thread():
        pass
