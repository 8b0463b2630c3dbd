"""The rooms depend on one another in one direction only (see the design: Rooms)."""

import itertools
import re
from importlib.metadata import entry_points

import pytest

from benchmarks.import_arrows import (
    INNER,
    LEVELS,
    ROOT,
    circles,
    files,
    graph,
    imports,
    room_of,
    upward,
    upward_in_the_code_generator,
    upward_inside,
)

# Names of modules that stand twice: a command and the module it asks.
FACES = {
    "starting": {"cli", "api"},
    "verify": {"cli", "symderiv_ledger"},
}
HEAVY = {"sympy", "numba", "scipy", "numpy", "matplotlib", "xarray", "pandas", "flint", "mpmath"}
STANDARD_LIBRARY_OF_KERNELS = {"math", "__future__"}
# What fast modules share has a digest of its own text.
STANDARD_LIBRARY_OF_RUNTIME = {"hashlib", "operator", "pathlib"}


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {room_of(path) for path in files("symderiv")} - {"__init__", "__main__"}
    assert rooms <= set(LEVELS)
    places = {name.replace(".", "/") for name in LEVELS if "." in name}
    assert all((ROOT / "symderiv" / place).is_dir() for place in places)


@pytest.mark.parametrize("room", sorted({room_of(path) for path in files("symderiv")}))
def test_a_room_imports_only_rooms_below_it(room: str) -> None:
    found = {path: upward(path) for path in files("symderiv") if room_of(path) == room}
    assert not any(found.values()), found


@pytest.mark.parametrize("room", INNER)
def test_an_inner_room_imports_only_inner_rooms_below_it(room: str) -> None:
    assert not upward_inside(room)


def test_no_name_of_a_module_stands_for_two_things() -> None:
    rooms: dict[str, list[str]] = {}
    for path in files("symderiv"):
        if path.stem not in ("__init__", "__main__"):
            rooms.setdefault(path.stem, []).append(room_of(path))
    for name, places in rooms.items():
        faces = FACES.get(name, set())
        assert len(places) == 1 or (len(places) == 2 and set(places) == faces), f"{name}: {places}"
    assert all(len(rooms.get(name, ())) == 2 for name in FACES), "a face that is none any more"


def test_no_modules_import_each_other_in_a_circle() -> None:
    arrows = graph()
    assert len(arrows) > 300
    assert not circles(arrows)


def test_circles_are_found_one_for_each_arrow_too_many() -> None:
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    found = circles(arrows)
    assert {frozenset(each.split(" → ")) for each in found} == {frozenset("abc"), frozenset("de")}
    for each in found:
        names = each.split(" → ")
        assert all(b in arrows[a] for a, b in itertools.pairwise(names))


def test_the_page_of_the_house_names_files_that_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    roots = [ROOT, ROOT / "symderiv", ROOT / "codegen" / "symderiv_codegen"]
    roots += [ROOT / "generated", ROOT / "generated" / "symderiv_kernels"]
    named = set(re.findall(r"`(\w+/[\w/]+\.py)`", text)) - {"cli/NAME.py"}
    assert len(named) > 15
    assert not [name for name in sorted(named) if not any((r / name).exists() for r in roots)]
    rooms = {path.parent.name for path in (ROOT / "symderiv").glob("*/__init__.py")}
    assert not [room for room in sorted(rooms) if f"| `symderiv/{room}/` |" not in text]


def test_nothing_but_the_entry_point_imports_the_commands() -> None:
    for folder in ("symderiv", "codegen", "generated"):
        for path in files(folder):
            if folder == "symderiv" and room_of(path) in ("cli", "__main__"):
                continue
            assert not any(name.startswith("symderiv.cli") for name in imports(path)), path


def test_the_code_generator_knows_nothing_of_the_engine() -> None:
    for path in files("codegen"):
        packages = {name.partition(".")[0] for name in imports(path)}
        assert not packages & {"symderiv", "symderiv_kernels"}, path


def test_the_rooms_of_the_code_generator_have_one_direction() -> None:
    assert not upward_in_the_code_generator()


def test_the_code_generator_knows_nothing_of_gaussians_or_networks() -> None:
    """Not even in words: what is Gaussian comes with the program as its extension."""
    words = (
        "activation|cholesky|covarian|dawson|eigenvalue|expectation|gauss|kinked|layer|network|"
        "orthant|owen|perceptron|quadrature|schur|sign_?mean|student|teacher|tilt|wave"
    )
    for path in files("codegen"):
        found = re.findall(words, path.read_text(encoding="utf-8").lower())
        assert not found, f"{path} speaks of {found}"


def test_no_room_knows_a_paper() -> None:
    for path in files("symderiv"):
        packages = {name.partition(".")[0] for name in imports(path)}
        assert "symderiv_papers" not in packages, path


def test_papers_do_not_import_the_commands_or_pages() -> None:
    for path in files("papers"):
        rooms = {name.split(".")[1] for name in imports(path) if name.startswith("symderiv.")}
        assert not rooms & {"cli", "show"}, path


def test_kernels_import_only_math_numpy_and_numba_and_fast_ones_their_runtime() -> None:
    for path in files("generated"):
        found = set(imports(path))
        if path.parent.name in ("fast", "lanes"):
            found = {name for name in found if not name.startswith(".runtime.")}
        allowed = STANDARD_LIBRARY_OF_KERNELS | {"numpy", "numba"}
        if path.name == "runtime.py":
            allowed |= STANDARD_LIBRARY_OF_RUNTIME
        assert {name.partition(".")[0] for name in found} <= allowed, path


def test_only_the_runtime_of_fast_modules_touches_the_internals_of_numba() -> None:
    for path in files("generated"):
        internal = {name for name in imports(path) if name.startswith("numba.")} - {"numba.njit"}
        assert (path.name == "runtime.py") == bool(internal), path


@pytest.mark.parametrize(
    "room", ["errors", "showing", "mathparse", "mathtext", "derivation", "cli"]
)
def test_light_rooms_import_nothing_heavy_at_module_level(room: str) -> None:
    for path in files("symderiv"):
        if room_of(path) == room:
            packages = {n.partition(".")[0] for n in imports(path, top_level_only=True)}
            assert not packages & HEAVY, path


def test_reading_formulas_imports_sympy_only_when_asked() -> None:
    for path in files("symderiv/formula"):
        # what builds expressions, and functions of them
        if path.stem in ("symbolic", "exact_entries", "as_function", "polynomials", "kink_places"):
            continue
        packages = {n.partition(".")[0] for n in imports(path, top_level_only=True)}
        assert not packages & (HEAVY - {"numpy"}), path


def test_the_engine_knows_no_paper() -> None:
    known = {*(entry.name for entry in entry_points(group="symderiv.papers")), "symderiv_papers"}
    assert len(known) > 5
    for path in sorted((ROOT / "symderiv").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in known if name in text], path
