"""The means by quadrature of a module, compiled while it is made.

The search for their largest error needs them compiled, and the check of the module uses them again:
there, each replaces the module's own function of the same name if the texts of both agree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from symderiv_codegen import Constant, Function, Procedure, Program, print_numba

from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.lowering.means.uncompiled import NO_OVERFLOW, uncompiled
from symderiv.numerics import GAUSSIAN

RULE = "<f8 1"


def _of(count: int) -> tuple[Any, ...]:
    """Return the argument types of a mean of ``count`` factors."""
    sizes = count, count * (count + 1) // 2, count
    words = "int64", "double", "double"
    return RULE, *([word] * size for word, size in zip(words, sizes, strict=True))


_KINDS: dict[str, tuple[Any, ...]] = {
    "quadrature_factor": ("int64", "double"),
    "_mean_of_2": _of(2),
    "_mean_of_4": _of(4),
    "_kinked_mean_of_2": _of(2),
    "_kinked_mean_of_4": _of(4),
    "_polar_mean_of_2": _of(2),
    "_line_mean_of_2": _of(2),
    "_plane_mean_of_4": _of(4),
    "_series": (RULE, "<i8 2", "<f8 2", "<f8 2", "<f8 1"),
    "_means_of_pair": (RULE, "<f8 2", "<f8 1", ["int64"] * 3, "<f8 3", "<f8 1"),
    "_means_of_plane": (
        *(RULE, "<i8 1", ["int64"] * 2, ["int64"] * 2, "<f8 2", "<f8 3", "<f8 1", "int64"),
    ),
}
"""The argument types of the functions of a module."""

_MANY = """

@_compiled
def _many{name}(rule, kinds, moments, biases, means):
    for n in range(means.size):
        means[n] = {name}(rule, kinds, ({moments},), ({biases},))
"""
"""The same mean evaluated at many moments, a row of ``moments`` and of ``biases`` for each."""


@dataclass(frozen=True)
class CompiledMeans:
    """Means of two and four factors by quadrature.

    Attributes:
        functions: ``_mean_of_2``, ``_mean_of_4`` or their kinked forms, as in a module, each also
            at many moments, as ``_many_mean_of_2``; ``_means_of_pair`` and ``_means_of_plane``.
        factor: The factors by number.
        kinks: Their kinks by number; None for analytic factors.
        meaning: The syntax tree of every function and of every constant of the rules, by name.
    """

    functions: Mapping[str, Callable[..., Any]]
    factor: Callable[[int, float], float]
    kinks: Callable[[int], np.ndarray] | None
    meaning: Mapping[str, str]

    def many(self, size: int) -> Callable[..., Any]:
        """Return the function that computes means of ``size`` factors at many moments."""
        return next(
            each
            for name, each in self.functions.items()
            if name.startswith("_many_") and name.endswith(f"_of_{size}")
        )

    def differing(self, text: str) -> list[str]:
        """Return the names of functions and constants of a module that differ from those compiled
        here.
        """
        module = dict(_meaning(text))
        return [
            name for name, said in self.meaning.items() if name in module and module[name] != said
        ]


def module_of_means(
    functions: Sequence[Function],
    constants: Mapping[str, Constant],
    procedures: Sequence[Procedure] = (),
) -> str:
    """Return the text of a module that contains only means."""
    program = Program(
        "means",
        "",
        {},
        (),
        ("K", "M"),
        tuple(functions),
        tuple(procedures),
        constants=constants,
        extension=GAUSSIAN,
    )
    return print_numba(program)


@lru_cache(maxsize=4)
def compiled_means(text: str) -> CompiledMeans:
    """Return the means by quadrature of a module, compiled once for all tolerances.

    Args:
        text: A module with means of two and of four factors; which ones does not matter.
    """
    meaning = dict(_meaning(text))
    kinds, many = _with_many({name: each for name, each in _KINDS.items() if name in meaning})
    text += many
    translation = TranslatedModule(text)

    def function(name: str) -> Callable[..., float]:
        return compiled_function(text, name, translation)

    translation.together(kinds)
    functions = {name: function(name) for name in kinds if name != "quadrature_factor"}
    kinks = None
    if "quadrature_kinks" in meaning:
        kinks = uncompiled(text, NO_OVERFLOW).quadrature_kinks
    return CompiledMeans(functions, function("quadrature_factor"), kinks, meaning)


def _with_many(kinds: Mapping[str, tuple[Any, ...]]) -> tuple[dict[str, tuple[Any, ...]], str]:
    """Return the argument types with those of functions of many moments added, and the text of
    these functions.
    """
    whole, texts = dict(kinds), []
    for name in kinds:
        *_, size = name.split("_of_")
        if size not in ("2", "4"):
            continue
        count = int(size)
        moments, biases = (
            ", ".join(f"{array}[n, {place}]" for place in range(length))
            for array, length in (("moments", count * (count + 1) // 2), ("biases", count))
        )
        texts.append(_MANY.format(name=name, moments=moments, biases=biases))
        whole[f"_many{name}"] = (RULE, ["int64"] * count, "<f8 2", "<f8 2", "<f8 1")
    return whole, "".join(texts)


def compiled_function(
    text: str, name: str, translation: TranslatedModule | None = None
) -> Callable[..., float]:
    """Return a function of a module, translated, or compiled by numba where it cannot be.

    Args:
        text: The text of the module.
        name: The name of the function.
        translation: The translated module, if it is shared between calls.
    """
    module = translation or TranslatedModule(text)
    compiled: Callable[..., float] = module.function(name, lambda: by_numba(text)[name])
    return compiled


@lru_cache(maxsize=4)
def by_numba(text: str) -> dict[str, Any]:
    """Return the namespace of a module whose functions numba compiles at their first call."""
    space: dict[str, Any] = {"__name__": "compiled means"}
    exec(text.replace("cache=True, ", ""), space)  # text from our own printers
    return space


def _meaning(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each function and private constant of a text with its syntax tree, without
    docstrings.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            names = [each.arg for each in node.args.args]
            yield node.name, f"{names}: {[ast.dump(each) for each in body]}"
        elif isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            yield from ((name, ast.dump(node.value)) for name in names if name.startswith("_"))
