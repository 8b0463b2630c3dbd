"""Who imports whom: the order of the rooms, arrows against it, and circles.

``tests/unit/test_import_directions.py`` refuses what is found here, and ``benchmarks.house`` counts
it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# From the ground up; a room may import itself and the rooms before it. Equal numbers are rooms that
# do not know each other. The last four stand beside the engine or on top of it.
LEVELS = {
    "foundation": 0,
    "compiled_code": 1,
    "formula": 2,
    "keys": 3,
    "gaussian": 3,
    "numerics": 3,
    "statement": 3,
    "learning": 4,
    "lowering": 5,
    "checking": 6,
    "inputs": 7,
    "precision": 8,
    "analysis": 9,
    "equilibrium": 10,
    "problem": 10,
    "storage": 11,
    "integrate": 12,
    "experiment": 13,
    "enclosures": 13,
    "system": 14,
    "sweeps": 15,
    "show": 16,
    "symderiv_ledger": 17,
    "symderiv_models": 17,
    "api": 18,
    "cli": 19,
}
# The same inside a room; "" stands for the files beside the inner rooms, unless they are named.
INNER = {
    "foundation": {"": 0, "documents": 1, "terminal": 2, "showing": 3, "progress": 3, "keeping": 4},
    "gaussian": {"terms": 0, "forms": 1, "": 2},
    "numerics": {"digits": 0, "": 1, "signs": 2, "quadratures": 3, "extension": 4},
    "learning": {"rule": 0, "derivation": 1, "narration": 2},
    "lowering": {"solver_arrays": 0, "solver_files": 1, "means": 2, "programs": 3},
    "integrate": {
        "steppers": 0,
        "events": 0,
        "flows": 1,
        "control": 2,
        "fluctuations": 2,
        "rules": 2,
        "ensemble": 3,
    },
    "experiment": {"steps": 0, "studies": 1},
    "system": {"means": 0, "": 1},
    "precision": {"balls": 0, "quadrature": 1, "moments": 1},
    "equilibrium": {"": 0, "weak_learning": 0, "optimal": 1, "risk": 2},
    "analysis": {
        "": 0,
        "fixed_points": 1,
        "plateau": 2,
        "late": 2,
        "linear": 3,
        "ship_derivations": 4,
    },
    "sweeps": {"": 0, "files": 1, "widening": 2, "sweep_result": 2, "sweep": 3},
    "show": {"plots": 0, "pages": 1},
    "show/plots": {"": 0, "analysis_plots": 1},
    "api": {"arguments": 0, "questions": 1, "results": 2, "": 3},
    "api/results": {"": 0, "equations": 1, "flows": 1, "runs": 2, "equilibria": 3},
    "symderiv_ledger": {"claims": 0, "formulas": 1, "rules": 2, "papers": 3},
    "symderiv_models": {"localisation": 0, "one_step": 0, "": 1},
}
# Packages beside the engine, with the folders that they stand in.
BESIDE = {"symderiv_ledger": "ledger/symderiv_ledger", "symderiv_models": "models/symderiv_models"}
# The same of the code generator.
CODEGEN = {"errors": 0, "ir": 1, "passes": 2, "printers": 3}


def files(folder: str) -> list[Path]:
    """Return all modules under a folder of the repository.

    ``"symderiv"`` is the engine with the packages that stand beside it.
    """
    places = ["symderiv", *BESIDE.values()] if folder == "symderiv" else [folder]
    found = sorted(path for place in places for path in (ROOT / place).rglob("*.py"))
    assert found, f"no modules in {folder}"
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Return all nodes of a tree; each of the tables goes through them."""
    return tuple(ast.walk(tree))


@cache
def imports(path: Path, *, top_level_only: bool = False) -> tuple[str, ...]:
    """Return full names of what a module imports, ``from package import name`` as
    ``package.name``.

    Args:
        path: The module.
        top_level_only: Leave out what functions import, and what is imported for type checkers.
    """
    tree = parsed(path)
    return tuple(_imported(path, _run_on_import(tree) if top_level_only else nodes_of(tree)))


def _imported(path: Path, nodes: Iterable[ast.AST]) -> Iterator[str]:
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
    """Yield the statements that run when the module is imported; not those for type checkers."""
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


def room_of(path: Path) -> str:
    """Return the room of a module of the engine, or the package beside it."""
    return _names(path)[0]


def _names(path: Path) -> tuple[str, ...]:
    """Return the room of a module of the engine, and what follows it in the module's name."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1:] if parts[0] in ("symderiv", "ledger", "models") else parts


def upward(path: Path) -> list[str]:
    """Return what a module of the engine imports from rooms that are not below its own."""
    room, found = room_of(path), []
    for name in imports(path):
        package, *rest = name.split(".")
        other = package if package in BESIDE else rest[0] if package == "symderiv" and rest else ""
        if other in ("", "__version__") or room in ("__init__", "__main__", other):
            continue
        if LEVELS[other] >= LEVELS[room]:
            found.append(f"{room} imports {name}")
    return found


def upward_inside(room: str) -> list[str]:
    """Return the imports against the order of the inner rooms of a room.

    The face of the room, its ``__init__``, hands on names of all of them.
    """
    folder, dotted = BESIDE.get(room, f"symderiv/{room}"), room
    if room not in BESIDE:
        dotted = f"symderiv.{room}".replace("/", ".")
    levels, found = INNER[room], []

    def inner_of(name: str) -> str:
        beside = name not in levels and (ROOT / folder / f"{name}.py").is_file()
        return "" if beside else name

    for path in files(folder):
        inner = inner_of(path.relative_to(ROOT / folder).parts[0].removesuffix(".py"))
        if path == ROOT / folder / "__init__.py":
            continue
        if inner not in levels:
            found.append(f"{path.name} is in no inner room of {room}")
            continue
        for name in imports(path):
            if not name.startswith(f"{dotted}."):
                continue
            imported = inner_of(name.removeprefix(f"{dotted}.").split(".")[0])
            if imported not in levels:
                found.append(f"{room}/{inner} imports from the face: {name}")
            elif inner != imported and levels[imported] >= levels[inner]:
                found.append(f"{room}/{inner} imports {name}")
    return found


def upward_in_the_code_generator() -> list[str]:
    """Return the imports against the order of the rooms of the code generator."""
    top, found = ROOT / "codegen" / "symderiv_codegen", []
    for path in files("codegen"):
        room = path.relative_to(top).parts[0].removesuffix(".py")
        for name in imports(path):
            if not name.startswith("symderiv_codegen.") or room == "__init__":
                continue
            imported = name.split(".")[1]
            if room != imported and CODEGEN[imported] >= CODEGEN[room]:
                found.append(f"{path.name} imports {name}")
    return found


def graph() -> dict[str, set[str]]:
    """Return the modules that each module imports, also inside a room, for types or on first use.

    A package's face is left out.
    """
    roots = [ROOT, ROOT / "codegen", ROOT / "papers", ROOT / "ledger", ROOT / "models"]
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root in roots
        for package in ("symderiv", "symderiv_codegen", "symderiv_papers", *BESIDE)
        for path in (root / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    return {
        name: {
            module
            for imported in imports(path)
            for module in (imported, imported.rpartition(".")[0])
            if module in modules
        }
        for name, path in modules.items()
    }


def circles(arrows: dict[str, set[str]]) -> list[str]:
    """Return circles of imports: after one arrow of each is taken away there are none.

    Args:
        arrows: What each module imports.
    """
    left, found = {name: set(each) for name, each in arrows.items()}, []
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            # each name is imported by the next one
            circle: list[str] = error.args[1]
            found.append(" → ".join(reversed(circle)))
            left[circle[1]].discard(circle[0])
        else:
            return found
