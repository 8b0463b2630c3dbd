"""Who imports whom: the order of the rooms, arrows against it, and circles.

``tests/unit/test_import_directions.py`` refuses what is found here, and ``benchmarks.house`` counts
it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]

# From the ground up; a room may import itself and the rooms before it. Equal numbers are rooms that
# do not know each other.
LEVELS = {
    "errors": 0,
    "terminal": 0,
    "languages": 0,
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
# The same of the code generator.
CODEGEN = {"errors": 0, "ir": 1, "passes": 2, "printers": 3}


def files(folder: str) -> list[Path]:
    """Return all modules under a folder of the repository."""
    found = sorted((ROOT / folder).rglob("*.py"))
    assert found, f"no modules in {folder}"
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """Return the tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, top_level_only: bool = False) -> Iterator[str]:
    """Yield full names of what a module imports, ``from package import name`` as ``package.name``.

    Args:
        path: The module.
        top_level_only: Leave out what functions import, and what is imported for type checkers.
    """
    tree = parsed(path)
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
    """Return the room of a module of the engine."""
    return path.relative_to(ROOT / "symderiv").parts[0].removesuffix(".py")


def _level(names: Sequence[str]) -> int:
    """Return the level of an inner room that has one of its own, else that of its room."""
    return LEVELS.get(".".join(names[:2]), LEVELS.get(names[0], 0))


def upward(path: Path) -> list[str]:
    """Return what a module of the engine imports from rooms that are not below its own."""
    room, found = room_of(path), []
    own = _level(path.relative_to(ROOT / "symderiv").with_suffix("").parts)
    for name in imports(path):
        package, *rest = name.split(".")
        if package != "symderiv" or not rest or rest[0] in ("", "__version__"):
            continue
        if room not in ("__init__", "__main__", rest[0]) and _level(rest) >= own:
            found.append(f"{room} imports {name}")
    return found


def upward_inside(room: str) -> list[str]:
    """Return the imports against the order of the inner rooms of a room.

    The face of the room, its ``__init__``, hands on names of all of them.
    """
    levels, top, found = INNER[room], ROOT / "symderiv" / room, []
    for path in files(f"symderiv/{room}"):
        inner = path.relative_to(top).parts[0].removesuffix(".py")
        if inner == "__init__":
            continue
        if inner not in levels:
            found.append(f"{path.name} is in no inner room of {room}")
            continue
        for name in imports(path):
            if not name.startswith(f"symderiv.{room}."):
                continue
            imported = name.split(".")[2]
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
    roots = [ROOT, ROOT / "codegen", ROOT / "papers"]
    modules = {
        ".".join(path.relative_to(root).with_suffix("").parts): path
        for root in roots
        for package in ("symderiv", "symderiv_codegen", "symderiv_papers")
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
