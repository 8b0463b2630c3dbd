"""Solver modules: found by formula without SymPy, otherwise derived once into the user's cache."""

import os
from pathlib import Path

import numpy as np
import pytest

from symderiv.foundation.errors import InputError, SymderivError
from symderiv.lowering.solver_files import SolverText
from symderiv.storage import kernels
from symderiv.storage.kernels import load_kernel

COPY = """
from symderiv_kernels.erf import *
FORMAT = {format}
STUDENT_ACTIVATION = {student!r}
TEACHER_ACTIVATION = {teacher!r}
"""
FAST_COPY = "from symderiv_kernels.fast.erf import specialised\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "symderiv" / "kernels"


@pytest.fixture
def generator(monkeypatch):
    """Stands for the derivation, which takes seconds: writes a module, counts the calls."""
    from symderiv.checking import recipes

    calls: list[tuple[str, str, str]] = []

    def solver_text(name: str, student: str, teacher: str, *_: object, **__: object) -> SolverText:
        calls.append((name, student, teacher))
        readable = COPY.format(format=kernels.FORMAT, student=student, teacher=teacher)
        return SolverText(readable, FAST_COPY)

    monkeypatch.setattr(recipes, "solver_text", solver_text)
    return calls


@pytest.mark.parametrize(
    ("student", "teacher", "name"),
    [
        ("erf", None, "erf.py"),
        ("erf( x / sqrt(2) )", "erf", "erf.py"),
        ("erf", "sign", "erf_sign.py"),
        ("relu", None, "relu.py"),
        ("x", "linear", "linear.py"),
    ],
)
def test_a_module_of_the_package_is_found_by_its_formulas(student, teacher, name, cache):
    kernel = load_kernel(student, teacher)
    assert kernel.checked_in
    assert kernel.path.name == name
    assert len(kernel.sha256) == len(kernel.fast_sha256) == 64
    assert kernel.fast.__name__ == f"symderiv_kernels.fast.{kernel.path.stem}"
    assert not cache.exists()


def test_another_activation_is_derived_once_and_then_read_from_the_cache(
    cache, generator, monkeypatch
):
    notices: list[str] = []
    first = load_kernel("x**2 - 1", notice=notices.append)
    assert not first.checked_in
    assert first.path.parent == cache
    assert first.path.stem == generator[0][0]
    assert generator[0][1:] == ("x**2-1", "x**2-1") or "x**2" in generator[0][1]
    assert len(notices) == 1
    stem = first.path.stem
    assert {path.name for path in cache.glob("kernel_*")} == {f"{stem}.py", f"{stem}_fast.py"}
    again = load_kernel("x**2-1", notice=notices.append)
    assert again.path == first.path
    assert again.module is first.module
    assert len(generator) == 1
    assert len(notices) == 1
    # another teacher, another module
    assert load_kernel("x**2-1", "x").path != first.path
    # another engine, another module: what it would print may differ
    monkeypatch.setattr(kernels, "_engine_digest", lambda: "changed")
    assert load_kernel("x**2-1").path != first.path


def test_a_derivation_that_fails_leaves_nothing_behind(cache, monkeypatch):
    from symderiv.checking import recipes

    def solver_text(name: str, student: str, teacher: str, *_: object, **__: object) -> SolverText:
        raise SymderivError("no")

    monkeypatch.setattr(recipes, "solver_text", solver_text)
    with pytest.raises(SymderivError, match="no"):
        load_kernel("x**2 - 2")
    assert not cache.exists() or not list(cache.iterdir())


def test_a_write_that_fails_leaves_nothing_behind(cache, generator, monkeypatch):
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SymderivError, match="disk full"):
        load_kernel("x**2 - 3")
    assert not list(cache.iterdir())


@pytest.mark.parametrize("line", ["FORMAT = 99\n", "LAYOUT = {**LAYOUT, 'state': {}}\n"])
def test_a_module_of_another_format_is_refused(cache, monkeypatch, line):
    from symderiv.checking import recipes

    monkeypatch.setattr(
        recipes,
        "solver_text",
        lambda name, student, teacher, *_, **__: SolverText(
            COPY.format(format=kernels.FORMAT, student=student, teacher=teacher) + line, FAST_COPY
        ),
    )
    with pytest.raises(SymderivError, match="another version"):
        load_kernel("x**2 - 4")


def test_the_cache_folder_follows_the_standard(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert kernels.cache_folder() == Path.home() / ".cache" / "symderiv" / "kernels"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert kernels.cache_folder() == Path.home() / ".cache" / "symderiv" / "kernels"


def test_an_unknown_activation_is_refused_before_anything_is_derived(cache, generator):
    with pytest.raises(InputError):
        load_kernel("nonsense(x)")
    assert not generator


def test_a_kernel_gives_the_functions_of_its_module():
    kernel = load_kernel("erf")
    assert kernel.student_activation_derivative(0.0) == pytest.approx(np.sqrt(2 / np.pi))
    with pytest.raises(AttributeError):
        _ = kernel.no_such_function


def test_a_derived_module_is_loaded_once_while_its_file_and_the_engine_stay(
    cache, generator, monkeypatch
):
    first = load_kernel("x**2 - 5")
    assert load_kernel(" x**2-5 ") is first
    assert len(generator) == 1
    # what was changed, cut off or is no text any more is not used, and is written anew
    known, notices = first, []
    for count, path in enumerate((first.path, kernels.fast_path(first.path)) * 2, start=2):
        whole = path.read_bytes()
        path.write_bytes(whole[:-20] if count < 4 else b"\xff" + whole)
        second = load_kernel("x**2 - 5", notice=notices.append)
        assert second is not known
        assert load_kernel("x**2 - 5") is second
        assert path.read_bytes() == whole
        assert len(generator) == count
        assert sum("is damaged" in line for line in notices) == count - 1
        known = second
    # another engine
    monkeypatch.setattr(kernels, "_engine_digest", lambda: "other")
    third = load_kernel("x**2 - 5")
    assert third.path != second.path
    assert len(generator) == 6
    assert load_kernel("erf") is load_kernel("erf")
