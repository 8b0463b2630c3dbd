"""The rooms depend on one another in one direction only (see the design: Rooms)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from graphlib import TopologicalSorter
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# From the ground up; a room may import itself and the rooms before it. Equal numbers are rooms that
# do not know each other.
LEVELS = {
    "errors": 0,
    "terminal": 0,
    "files": 1,
    "showing": 1,
    "progress": 1,
    "drawing": 1,
    "limits": 1,
    "seals": 1,
    "packing": 1,
    "last_resort": 0,
    "code_cache": 1,
    "compiled": 2,
    "outputs": 2,
    "kept": 2,
    "machine_code": 3,
    "object_code": 4,
    "linked": 5,
    "mathparse": 1,
    "mathtext": 2,
    "derivation": 3,
    "expressions": 4,
    "gaussian": 5,
    "numerics": 5,
    "statement": 5,
    "learning": 6,
    "data": 7,
    "precision": 8,
    "analysis": 9,
    "dynamics": 10,
    "system": 11,
    # what studies do with statements: these inner rooms stand above the others
    "dynamics.sgd": 12,
    "dynamics.rules": 12,
    "dynamics.ensemble": 12,
    "localisation": 13,
    "sweeps": 13,
    "one_step": 13,
    "verification": 13,
    "questions": 14,
    "report": 14,
    "library": 15,
    "cli": 16,
}
# The same inside a room; a file that stands beside the inner rooms has its place like one of them.
INNER = {
    "learning": {"rule": 0, "derivation": 1, "narration": 2, "lowering": 2},
    "dynamics": {"studies": 0, "storage": 1, "stepping": 2, "sgd": 2, "rules": 3, "ensemble": 4},
    "precision": {"balls": 0, "quadrature": 1, "moments": 1},
    "analysis": {"symmetric": 0, "linear": 1, "plateau": 1, "late": 1},
}
# Names of modules that stand twice: a command and the module it asks.
FACES = {
    "asymptotics": {"cli", "analysis"},
    "check": {"cli", "verification"},
    "linear": {"cli", "library"},
    "one_step": {"cli", "library"},
    "localise": {"cli", "library"},
    "plateau": {"cli", "library"},
    "starting": {"cli", "library"},
    "study": {"cli", "dynamics"},
    "sweep": {"cli", "sweeps"},
    "verify": {"cli", "verification"},
}
HEAVY = {"sympy", "numba", "scipy", "numpy", "matplotlib", "xarray", "pandas", "flint", "mpmath"}
STANDARD_LIBRARY_OF_KERNELS = {"math", "__future__"}
# What fast modules share has a digest of its own text.
STANDARD_LIBRARY_OF_RUNTIME = {"hashlib", "operator", "pathlib"}


def _files(folder: str) -> list[Path]:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"no modules in {folder}"
    return files


def _imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Full names of what a module imports, ``from package import name`` as ``package.name``."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = _run_on_import(tree) if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # only fast solver modules, which are copied with their folder, import relatively
            beside = node.level == 1 and path.parent.name in ("fast", "lanes")
            assert node.level == 0 or beside, f"{path.name}: relative import"
            assert node.module is not None
            module = "." * node.level + node.module
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _run_on_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements that run when the module is imported; not those for type checkers."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            waiting += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            ]


def _room(path: Path) -> str:
    return path.relative_to(ROOT / "symderiv").parts[0].removesuffix(".py")


def _level(names: Sequence[str]) -> int:
    """The level of an inner room that has one of its own, else that of its room."""
    return LEVELS.get(".".join(names[:2]), LEVELS.get(names[0], 0))


def test_every_room_has_a_place_in_the_order() -> None:
    rooms = {_room(path) for path in _files("symderiv")} - {"__init__", "__main__"}
    assert rooms <= set(LEVELS)
    places = {name.replace(".", "/") for name in LEVELS if "." in name}
    assert all((ROOT / "symderiv" / place).is_dir() for place in places)


@pytest.mark.parametrize("path", _files("symderiv"), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_room_imports_only_rooms_below_it(path: Path) -> None:
    room = _room(path)
    inner = _level(path.relative_to(ROOT / "symderiv").with_suffix("").parts)
    for name in _imports(path):
        package, *rest = name.split(".")
        if package != "symderiv" or not rest or rest[0] in ("", "__version__"):
            continue
        assert room in {"__init__", "__main__", rest[0]} or _level(rest) < inner, (
            f"{room} imports {name}"
        )


@pytest.mark.parametrize("room", INNER)
def test_an_inner_room_imports_only_inner_rooms_below_it(room: str) -> None:
    """The face of the room, its ``__init__``, hands on names of all of them."""
    levels = INNER[room]
    top = ROOT / "symderiv" / room
    for path in _files(f"symderiv/{room}"):
        inner = path.relative_to(top).parts[0].removesuffix(".py")
        if inner == "__init__":
            continue
        assert inner in levels, f"{path.name} is in no inner room of {room}"
        for name in _imports(path):
            if not name.startswith(f"symderiv.{room}."):
                continue
            imported = name.split(".")[2]
            assert imported in levels, f"{room}/{inner} imports from the face: {name}"
            assert inner == imported or levels[imported] < levels[inner], (
                f"{room}/{inner} imports {name}"
            )


def test_no_name_of_a_module_stands_for_two_things() -> None:
    rooms: dict[str, list[str]] = {}
    for path in _files("symderiv"):
        if path.stem not in ("__init__", "__main__"):
            rooms.setdefault(path.stem, []).append(_room(path))
    for name, places in rooms.items():
        faces = FACES.get(name, set())
        assert len(places) == 1 or (len(places) == 2 and set(places) == faces), f"{name}: {places}"
    assert all(len(rooms.get(name, ())) == 2 for name in FACES), "a face that is none any more"


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Also not inside a room, also not for types or on first use; a package's face is left out."""
    roots = [ROOT, ROOT / "codegen", ROOT / "papers"]
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root in roots
        for package in ("symderiv", "symderiv_codegen", "symderiv_papers")
        for path in (root / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    graph = {
        name: {
            module
            for imported in _imports(path)
            for module in (imported, imported.rpartition(".")[0])
            if module in modules
        }
        for name, path in modules.items()
    }
    assert len(graph) > 300
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


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
        for path in _files(folder):
            if folder == "symderiv" and _room(path) in ("cli", "__main__"):
                continue
            assert not any(name.startswith("symderiv.cli") for name in _imports(path)), path


def test_the_code_generator_knows_nothing_of_the_engine() -> None:
    for path in _files("codegen"):
        packages = {name.partition(".")[0] for name in _imports(path)}
        assert not packages & {"symderiv", "symderiv_kernels"}, path


def test_the_rooms_of_the_code_generator_have_one_direction() -> None:
    levels = {"errors": 0, "ir": 1, "passes": 2, "printers": 3}
    top = ROOT / "codegen" / "symderiv_codegen"
    for path in _files("codegen"):
        room = path.relative_to(top).parts[0].removesuffix(".py")
        for name in _imports(path):
            if not name.startswith("symderiv_codegen.") or room == "__init__":
                continue
            imported = name.split(".")[1]
            assert room == imported or levels[imported] < levels[room], f"{path} imports {name}"


def test_the_code_generator_knows_nothing_of_gaussians_or_networks() -> None:
    """Not even in words: what is Gaussian comes with the program as its extension."""
    words = (
        "activation|cholesky|covarian|dawson|eigenvalue|expectation|gauss|kinked|layer|network|"
        "orthant|owen|perceptron|quadrature|schur|sign_?mean|student|teacher|tilt|wave"
    )
    for path in _files("codegen"):
        found = re.findall(words, path.read_text(encoding="utf-8").lower())
        assert not found, f"{path} speaks of {found}"


def test_no_room_knows_a_paper() -> None:
    for path in _files("symderiv"):
        packages = {name.partition(".")[0] for name in _imports(path)}
        assert "symderiv_papers" not in packages, path


def test_papers_do_not_import_the_commands_or_pages() -> None:
    for path in _files("papers"):
        rooms = {name.split(".")[1] for name in _imports(path) if name.startswith("symderiv.")}
        assert not rooms & {"cli", "report"}, path


def test_kernels_import_only_math_numpy_and_numba_and_fast_ones_their_runtime() -> None:
    for path in _files("generated"):
        found = set(_imports(path))
        if path.parent.name in ("fast", "lanes"):
            found = {name for name in found if not name.startswith(".runtime.")}
        allowed = STANDARD_LIBRARY_OF_KERNELS | {"numpy", "numba"}
        if path.name == "runtime.py":
            allowed |= STANDARD_LIBRARY_OF_RUNTIME
        assert {name.partition(".")[0] for name in found} <= allowed, path


def test_only_the_runtime_of_fast_modules_touches_the_internals_of_numba() -> None:
    for path in _files("generated"):
        internal = {name for name in _imports(path) if name.startswith("numba.")} - {"numba.njit"}
        assert (path.name == "runtime.py") == bool(internal), path


@pytest.mark.parametrize(
    "room", ["errors", "showing", "mathparse", "mathtext", "derivation", "cli"]
)
def test_light_rooms_import_nothing_heavy_at_module_level(room: str) -> None:
    for path in _files("symderiv"):
        if _room(path) == room:
            packages = {n.partition(".")[0] for n in _imports(path, top_level_only=True)}
            assert not packages & HEAVY, path


def test_reading_formulas_imports_sympy_only_when_asked() -> None:
    for path in _files("symderiv/expressions"):
        if path.name in ("symbolic.py", "exact_entries.py"):  # what builds expressions
            continue
        packages = {n.partition(".")[0] for n in _imports(path, top_level_only=True)}
        assert not packages & (HEAVY - {"numpy"}), path


def test_the_engine_knows_no_paper() -> None:
    known = {*(entry.name for entry in entry_points(group="symderiv.papers")), "symderiv_papers"}
    assert len(known) > 5
    for path in sorted((ROOT / "symderiv").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        assert not [name for name in known if name in text], path
