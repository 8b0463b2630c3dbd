"""Small matrix products on one thread each, for simulated runs that have threads of their own.

NumPy's OpenBLAS starts a thread per processor for every product; with several runs, or on a busy
machine, these wait for one another. Rounding then also depends on the number of processors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module

# names of the functions in NumPy's own packages and in those of distributions
_NAMES = (
    "scipy_openblas_{}_num_threads64_",
    "openblas_{}_num_threads64_",
    "openblas_{}_num_threads",
)


@lru_cache(maxsize=1)
def _functions() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Return OpenBLAS's functions to get and set the number of threads; None for other
    libraries.
    """
    try:
        # symbols are also searched in the libraries that a module is linked with
        library = ctypes.CDLL(str(import_module("numpy._core._multiarray_umath").__file__))
    except (ImportError, OSError, AttributeError):
        return None
    for name in _NAMES:
        try:
            get, put = (getattr(library, name.format(what)) for what in ("get", "set"))
        except AttributeError:
            continue
        get.argtypes, get.restype = [], ctypes.c_int
        put.argtypes, put.restype = [ctypes.c_int], None
        return get, put
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Compute matrix products on one thread in the whole process; no effect without OpenBLAS."""
    functions = _functions()
    if functions is None:
        yield
        return
    get, put = functions
    before = get()
    put(1)
    try:
        yield
    finally:
        put(before)
