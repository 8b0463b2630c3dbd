"""Derivations on disk are those of the same arguments and sources, or they are made again."""

import inspect
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
import sympy as sp
from support.commands import python
from support.session_derivations import USERS_PLACE

import symderiv as sd
from symderiv.analysis import ship_derivations, shipped_derivations
from symderiv.analysis.late.perfect_learning import perfect_learning
from symderiv.foundation import derivation_cache
from symderiv.foundation.derivation_cache import imported_sources
from symderiv.integrate.flows.study_flow import PLAIN_RULE
from symderiv.integrate.flows.tangents import equations_asked
from symderiv.learning.derivation import learning_equations
from symderiv.learning.derivation.ship_equations import SHIPPED
from symderiv.learning.rule.learning_problem import learning_problem
from symderiv.lowering.means import closed_means, quadrature_error
from symderiv.lowering.means.approximation import quadrature
from symderiv.lowering.programs import exported, ship_rules
from symderiv.storage.study_kernel import activation_tolerance

calls: list[tuple[object, ...]] = []


def _noted(*args: object) -> tuple[object, ...]:
    calls.append(args)
    return args


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # not where the tests share what they derive
    monkeypatch.setattr(derivation_cache, "_place", USERS_PLACE)
    monkeypatch.delenv("SYMDERIV_CACHE", raising=False)
    calls.clear()
    return tmp_path / "symderiv" / "derived"


def _anew():
    """The function as a new process has it."""
    return derivation_cache.derived_once("formula")(_noted)


def test_what_was_derived_is_read_by_the_next_process(folder):
    assert _anew()("erf", 1) == _anew()("erf", 1) == ("erf", 1)
    assert calls == [("erf", 1)]
    _anew()("erf", 2)
    assert len(calls) == len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"cut", b"cos\nsystem\n(S'false'\ntR."])
def test_a_damaged_file_is_derived_anew_and_never_read(folder, damage):
    _anew()("erf")
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage)
    assert _anew()("erf") == ("erf",)
    assert len(calls) == 2
    assert path.read_bytes() == whole


def test_changed_sources_are_derived_anew(folder, monkeypatch, tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "rule.py").write_text("RULE = 1\n")
    monkeypatch.setattr(derivation_cache, "_ENGINE", tmp_path)
    for text in ("RULE = 1\n", "RULE = 2\n", "RULE = 2\n"):
        (room / "rule.py").write_text(text)
        derivation_cache.sources_digest.cache_clear()
        derivation_cache.derived_once("room")(_noted)("erf")
    derivation_cache.sources_digest.cache_clear()
    assert len(calls) == 2


def test_what_another_text_of_its_own_module_derived_is_not_read(folder, tmp_path):
    text = "def derived(name):\n    return (name, {parts})\n"
    found = []
    for parts in (4, 5, 5):
        path = tmp_path / "derivation.py"
        path.write_text(text.format(parts=parts))
        names: dict[str, object] = {"__name__": "derivation"}
        exec(compile(path.read_text(), str(path), "exec"), names)
        found.append(derivation_cache.derived_once("formula")(names["derived"])("erf"))
    assert found == [("erf", 4), ("erf", 5), ("erf", 5)]
    assert len(list(folder.iterdir())) == 2


def test_nothing_is_kept_where_it_is_switched_off_or_cannot_be(folder, monkeypatch):
    monkeypatch.setenv("SYMDERIV_CACHE", "off")
    _anew()("erf")
    assert not folder.exists()
    monkeypatch.delenv("SYMDERIV_CACHE")
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    assert _anew()("erf") == ("erf",)
    assert len(calls) == 2


@pytest.mark.turns(6)
def test_a_linearisation_that_was_read_is_the_one_that_was_derived(folder):
    derived = perfect_learning.__wrapped__("x + x**2/3")
    code = (
        "from symderiv.analysis.late.perfect_learning import perfect_learning as p; p('x + x**2/3')"
    )
    assert python(code).returncode == 0
    (path,) = folder.iterdir()
    before = path.stat().st_mtime_ns
    perfect_learning.cache_clear()
    read = perfect_learning("x + x**2/3")
    assert path.stat().st_mtime_ns == before
    for name in ("G", "H", "F", "stiffness", "response"):
        difference = getattr(read, name) - getattr(derived, name)
        # SymPy may write the same entry in two ways
        assert difference.applyfunc(sp.simplify).is_zero_matrix, name


@pytest.fixture
def shipped(folder: Path, tmp_path: Path) -> Path:
    """A file of the package with a result of ``_noted``."""
    path = tmp_path / "shipped.pickle"
    noted = _with(path)
    derivation_cache.ship(path, derivation_cache.sources_digest("formula"), (noted, ("erf",)))
    assert calls.pop() == ("erf",)
    return path


def _with(path: Path):
    return derivation_cache.derived_once("formula", shipped=path)(_noted)


def test_what_comes_with_the_package_is_not_derived(folder, shipped):
    assert _with(shipped)("erf") == ("erf",)
    assert not calls
    assert not folder.exists()
    assert _with(shipped)("relu") == ("relu",)
    assert calls == [("relu",)]


def test_what_came_with_the_package_is_derived_anew_by_other_sources(folder, shipped, monkeypatch):
    monkeypatch.setattr(derivation_cache, "sources_digest", lambda *rooms, also=(): "others")
    assert _with(shipped)("erf") == ("erf",)
    assert calls == [("erf",)]


@pytest.mark.parametrize("damage", [b"", b"cut", b"cos\nsystem\n(S'false'\ntR."])
def test_what_is_damaged_in_the_package_is_derived_anew(folder, shipped, damage):
    shipped.write_bytes(damage)
    assert _with(shipped)("erf") == ("erf",)
    shipped.unlink()
    assert _with(shipped)("relu") == ("relu",)
    assert calls == [("erf",), ("relu",)]


def test_nothing_of_the_package_is_read_if_everything_is_to_be_derived(
    folder, shipped, monkeypatch
):
    monkeypatch.setenv("SYMDERIV_CACHE", "off")
    assert _with(shipped)("erf") == ("erf",)
    assert calls == [("erf",)]


def test_the_equations_that_come_with_the_package_are_of_its_sources():
    found = derivation_cache.shipped_results(
        learning_equations.PLAIN_EQUATIONS,
        derivation_cache.sources_digest(*learning_equations.EQUATION_ROOMS),
    )
    calls = [f"equations_of_any{derivation_cache._told((rule,), {})}" for rule in SHIPPED]
    assert list(found) == calls, "make kernels writes it anew"


@pytest.mark.days(len(SHIPPED))
@pytest.mark.parametrize("rule", SHIPPED, ids=lambda rule: " ".join(rule.features))
def test_the_equations_that_come_with_the_package_are_those_that_are_derived(folder, rule):
    derive = learning_equations.equations_of_any
    assert derive(rule) == inspect.unwrap(derive)(rule)
    assert not folder.exists()


def test_the_closed_means_that_come_with_the_package_are_those_of_its_sources(folder):
    found = derivation_cache.shipped_results(
        closed_means.CLOSED_MEANS, derivation_cache.imports_digest(closed_means.__name__)
    )
    assert len(found) > 150, "make kernels writes them anew"
    derive = inspect.unwrap(closed_means.closed_mean)
    first, second = closed_means.field_symbols(2)
    ramp, soft = second * sp.Heaviside(second), sp.erf(first / sp.sqrt(2))
    for integrand in (ramp * soft, sp.erf(first) * sp.sign(second)):
        case = integrand, (False, False)
        mean = pickle.loads(found[f"closed_mean{derivation_cache._told(case, {})}"])
        derived = derive(*case)
        assert (mean, mean.guarded, mean.printed) == (derived, derived.guarded, derived.printed)
    assert not folder.exists()


def test_imports_are_found_in_texts_and_followed():
    files = imported_sources("symderiv.lowering.means.closed_means")
    names = [file.as_posix() for file in files]
    assert any(name.endswith("symderiv/gaussian/signs.py") for name in names)
    assert any(name.endswith("symderiv/lowering/means/regularity.py") for name in names)
    assert not any("/learning/" in name for name in names)
    with pytest.raises(FileNotFoundError, match=r"no module symderiv\.nothing"):
        imported_sources("symderiv.nothing")


def test_derivations_of_named_activations_come_with_the_package_of_its_sources():
    paths = shipped_derivations.SHIPPED, exported.SHIPPED_PROGRAMS
    asked = ship_derivations.ANALYSES, ship_derivations.PROGRAMS
    for path, sources, wanted in zip(paths, ship_derivations.digests(), asked, strict=True):
        found = derivation_cache.shipped_results(path, sources)
        names = {f"{f.__qualname__}{derivation_cache._told(args, {})}" for f, args in wanted}
        assert found.keys() == names, "make kernels writes them anew"


def test_plateaus_late_learning_and_jacobians_of_named_activations_are_not_derived(folder):
    """The calls that users make have the very arguments of what comes with the package."""
    for function, _ in (*ship_derivations.ANALYSES, *ship_derivations.PROGRAMS):
        function.cache_clear()
    sd.plateau(units=3, T1=1, D1=0, T2=1, D2=0, full=True, learning_rate=0.1)
    sd.late(units=2, distinct_eigenvalues=2, exponent=1.0)
    linear = {"distinct_eigenvalues": 2, "exponent": 1.0, "alpha": [1.0]}
    sd.linear(**linear, learning_rate=0.1, student_std=0.1)
    study = sd.Problem("erf", students=2, teachers=2, inputs=sd.Isotropic(100))._study
    asked = equations_asked(SimpleNamespace(study=study, rule=PLAIN_RULE))
    assert exported.tangent_module_text(*asked, ("learning_rate",))
    assert exported.precise_text(*asked[:3])
    assert not folder.exists()


def test_the_rules_that_come_with_the_package_are_those_that_are_searched_for(folder):
    found = derivation_cache.shipped_results(
        quadrature_error.CHOSEN_RULES, derivation_cache.imports_digest(quadrature_error.__name__)
    )
    asked = len(ship_rules.PAIRS) + len(ship_rules.EQUAL) + len(ship_rules.SMOOTH_SLOPES)
    of_runs = activation_tolerance(
        sd.Problem(
            "mish", students=1, teachers=1, inputs=sd.Isotropic(100)
        )._study.time.relative_tolerance
    )
    assert of_runs == ship_rules.OF_RUNS
    assert len(found) == asked, "make kernels writes them anew"
    rules = quadrature(learning_problem("softplus", "erf"), None, False)
    assert "search" not in vars(rules.by_number), "make kernels writes them anew"
    derived = inspect.unwrap(quadrature_error.chosen_rule)(
        rules.by_number.choice(rules.tolerance, False)
    )
    assert derived == (rules.rule, rules.error, rules.pair_error)
    run = quadrature(learning_problem("silu", "silu"), of_runs, True)
    assert "search" not in vars(run.by_number), "make kernels writes them anew"
    for name in ("softsign", "elu"):
        run = quadrature(learning_problem(name, name), of_runs, True)
        assert "search" not in vars(run.by_number), "make kernels writes them anew"
    kinked = quadrature(learning_problem("relu", "x*tanh(log(1+exp(x)))"), None, False)
    assert "search" not in vars(kinked.by_number), "make kernels writes them anew"
    assert not folder.exists()
