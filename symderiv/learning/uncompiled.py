"""The text of a generated module as plain Python: the same statements, nothing compiled.

For a few calls compilation would take a hundred times longer than the calls. Numba is replaced by
decorators that do nothing; the three functions that only a compiler can have (views, arrays on the
stack, vector instructions) by what they do.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def uncompiled(
    text: str, compiled: Mapping[str, Callable[..., Any]] = MappingProxyType({})
) -> SimpleNamespace:
    """The names of a generated module.

    Args:
        text: Of the module.
        compiled: Functions to take in the place of its own, by name.

    Its functions give what the compiled ones give up to rounding, except where those divide by zero
    or take roots of negative numbers: Python raises there.
    """
    scope: dict[str, Any] = {
        "__name__": "uncompiled",
        "__builtins__": {**vars(builtins), "__import__": _imported},
    }
    exec(compile(text, "<generated module>", "exec"), scope)
    for name, function in {**_COMPILED_ONLY, **compiled}.items():
        if name in scope:
            scope[name] = function
    return SimpleNamespace(**scope)


def _imported(name: str, *_: Any) -> Any:
    """What ``import`` gives inside of the text."""
    modules = {"math": math, "numpy": _NUMPY, "numba": _NUMBA}
    found = modules.get(name.split(".")[0])
    if found is None:
        raise ImportError(f"a generated module imports {name!r}")
    return found


class _Anything(ModuleType):
    """Stands for Numba: whatever is taken from it is there and, called, leaves things alone."""

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if len(arguments) == 1 and not options and not isinstance(arguments[0], str):
            return arguments[0]
        return lambda function: function


class _Numpy(ModuleType):
    """NumPy, whose new arrays hold zeros: what lies behind the last number used is read, too."""

    def __getattr__(self, name: str) -> Any:
        return np.zeros if name == "empty" else getattr(np, name)


def _view(vector: Floats, start: int, shape: Sequence[int]) -> Floats:
    return vector[start : start + math.prod(shape)].reshape(shape)


def _room(count: int, shape: Sequence[int]) -> Floats:
    return np.zeros(count).reshape(shape)


def _eight_inverse_roots(values: Floats, first: int) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        values[first : first + 8] = 1 / np.sqrt(values[first : first + 8])


_NUMBA, _NUMPY = _Anything("numba"), _Numpy("numpy")
_COMPILED_ONLY: dict[str, Callable[..., Any]] = {
    "_view": _view,
    "_room": _room,
    "_derivative_apart": lambda: None,
    "_eight_inverse_roots": _eight_inverse_roots,
}
