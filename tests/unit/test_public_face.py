"""The short list of names that symderiv promises."""

import doctest
import importlib
import inspect
import textwrap

import pytest
from support.commands import python

import symderiv
from symderiv.problem.input_model import InputModel

HEAVY = ("sympy", "numba", "scipy", "numpy", "matplotlib", "pydantic", "xarray", "mpmath")
MOST_NAMES = 45  # input models are not counted: they are all called in one way


@pytest.mark.parametrize("name", symderiv.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(symderiv, name) is not None
    assert name in dir(symderiv)


def test_the_list_is_flat_and_short() -> None:
    found = {name: getattr(symderiv, name) for name in symderiv.__all__}
    models = [x for x in found.values() if inspect.isclass(x) and issubclass(x, InputModel)]
    assert len(models) > 5
    assert len(found) - len(models) <= MOST_NAMES
    assert not any("." in name for name in symderiv.__all__)


@pytest.mark.parametrize("name", [n for n in symderiv.__all__ if n != "__version__"])
def test_every_public_name_says_what_it_is(name: str) -> None:
    found = getattr(symderiv, name)
    words = inspect.getdoc(found) or ""
    assert len(words) > 30
    if inspect.isfunction(found):
        parameters = inspect.signature(found).parameters
        # what is said elsewhere is said where to find
        elsewhere = ":func:" in words
        assert elsewhere or "Args:" in words or not parameters
        for parameter in parameters:
            assert elsewhere or parameter in words, f"{name} does not say what {parameter} is"


def test_every_method_of_a_problem_says_what_its_arguments_are() -> None:
    for name, method in inspect.getmembers(symderiv.Problem, inspect.isfunction):
        if name.startswith("_"):
            continue
        words = inspect.getdoc(method) or ""
        assert words, name
        # what is said elsewhere is said where to find
        if "see :func:" not in words and "see :meth:" not in words:
            for parameter in inspect.signature(method).parameters:
                assert parameter in ("self", *words.split()) or parameter in words, (
                    f"Problem.{name} does not say what {parameter} is"
                )


EXAMPLES = sorted(
    {getattr(symderiv, name).__module__ for name in symderiv.__all__ if name != "__version__"}
)


@pytest.mark.turns(3)
@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_in_docstrings_run(module: str) -> None:
    found = importlib.import_module(module)
    assert not doctest.testmod(found).failed


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = symderiv.nothing


def test_importing_symderiv_loads_none_of_the_heavy_libraries() -> None:
    probe = f"import sys, symderiv; print(set({HEAVY}) & set(sys.modules))"
    assert python(probe).stdout.strip() == "set()"


def test_solving_a_known_activation_loads_neither_sympy_nor_scipy_nor_matplotlib() -> None:
    probe = textwrap.dedent(
        """
        import sys
        import symderiv as sd
        inputs = sd.Isotropic(100)
        sd.Problem("erf", students=2, teachers=2, learning_rate=0.5, inputs=inputs).solve(end=1)
        print({"sympy", "scipy", "numba", "matplotlib", "xarray", "rich"} & set(sys.modules))
        """
    )
    assert python(probe).stdout.strip() == "set()"


# The second call finds what the first one derived; only check derives little.
LIGHT = (
    pytest.param("check i2 --activation erf --formula 2/pi*asin(c12)", 1, id="check"),
    pytest.param(
        "linear --distinct-eigenvalues 9 --exponent 1 --learning-rate 0.4 --alpha 3",
        2,
        id="linear",
        marks=pytest.mark.days(5),
    ),
    pytest.param(
        "plateau --units 3 --T1 1 --D1 0 --T2 1 --D2 0",
        2,
        id="plateau",
        marks=pytest.mark.days(5),
    ),
)


@pytest.mark.parametrize(("command", "calls"), LIGHT)
def test_commands_load_no_library_that_they_do_not_use(command: str, calls: int) -> None:
    probe = textwrap.dedent(
        f"""
        import contextlib, io, sys
        from symderiv.cli import main
        sys.argv = ["symderiv", *{command!r}.split()]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main()
        heavy = {{"scipy", "xarray", "zarr", "matplotlib", "numba", "dask"}}
        print(sorted(heavy & set(sys.modules)))
        """
    )
    found = [python(probe).stdout.strip() for _ in range(calls)]
    assert found[-1] == "[]"
