"""How the engine is built: one table, each row with what is measured and the goal.

python -m benchmarks.house            the table; six additions are tried in a copy of the tree
python -m benchmarks.house --list     with the names behind the numbers
python -m benchmarks.house --tests    also runs the tests that ask for something of an addition
python -m benchmarks.house --quick    tries nothing: files of additions are only counted
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.additions import ADDITIONS, Addition, Copy
from benchmarks.import_arrows import (
    BESIDE,
    INNER,
    ROOT,
    circles,
    files,
    graph,
    nodes_of,
    parsed,
    room_of,
    upward,
    upward_in_the_code_generator,
    upward_inside,
)

#: What is called the engine where functions and classes are counted.
ENGINE: Final = ("symderiv", "codegen")
MOST_LINES: Final = 60
_BESIDE_GOAL: Final = {"symderiv_ledger": 5_500, "symderiv_models": 3_600}
MOST_PARAMETERS: Final = 8


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the number, the goal, and what is behind it.

    Attributes:
        fault: What an addition that does not work ended with.
    """

    what: str
    measured: str
    goal: str = ""
    names: tuple[str, ...] = ()
    fault: str = ""


def lines(paths: Iterable[Path]) -> int:
    """Return the number of lines of files, comments and blank ones included."""
    return sum(path.read_bytes().count(b"\n") for path in paths)


def functions(tree: ast.Module) -> Iterator[tuple[str, int, int]]:
    """Yield name, lines and parameters of every function, inner ones too.

    Lines are those from ``def`` to the end, the docstring included. Parameters are all that a call
    may give: ``*`` and ``**`` count as one each, ``self`` and ``cls`` do not count.
    """
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            given = node.args
            names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
            own = names[:1] in (["self"], ["cls"])
            several = (given.vararg is not None) + (given.kwarg is not None)
            yield node.name, node.end_lineno - node.lineno + 1, len(names) - own + several


def classes(trees: Iterable[ast.Module]) -> Counter[str]:
    """Return how often each name is that of a class."""
    return Counter(
        node.name for tree in trees for node in nodes_of(tree) if isinstance(node, ast.ClassDef)
    )


def rows_of_lines() -> Iterator[Row]:
    """Lines of the engine, of its rooms and of the tests."""
    own = files("symderiv")
    rooms: dict[str, list[Path]] = {}
    for path in own:
        room = room_of(path)
        inside = path.relative_to(ROOT).parts[-2] != "symderiv"
        rooms.setdefault(room if inside else "beside the rooms", []).append(path)
    beside = {room: lines(rooms.pop(room)) for room in BESIDE}
    engine = lines(path for paths in rooms.values() for path in paths)
    sizes = sorted(((lines(paths), room) for room, paths in rooms.items()), reverse=True)
    yield Row("Python lines of symderiv/", _grouped(engine), _grouped(48_000))
    for size, room in sizes:
        yield Row(f"    {room}", _grouped(size))
    for room, size in beside.items():
        yield Row(f"Python lines of {BESIDE[room]}/", _grouped(size), _grouped(_BESIDE_GOAL[room]))
    yield Row("Python lines of tests/", _grouped(lines(files("tests"))), _grouped(36_000))


def rows_of_functions() -> Iterator[Row]:
    """Long functions, functions of many parameters, and names of several classes."""
    found = [
        (f"{path.relative_to(ROOT)}: {name}", long, many)
        for folder in ENGINE
        for path in files(folder)
        for name, long, many in functions(parsed(path))
    ]
    long = [f"{name}, {size} lines" for name, size, _ in found if size > MOST_LINES]
    many = [f"{name}, {count} parameters" for name, _, count in found if count > MOST_PARAMETERS]
    trees = [parsed(path) for folder in ENGINE for path in files(folder)]
    double = [f"{name}, {count} classes" for name, count in classes(trees).items() if count > 1]
    yield Row(f"functions above {MOST_LINES} lines", str(len(long)), "0", tuple(long))
    what = f"functions with more than {MOST_PARAMETERS} parameters"
    yield Row(what, str(len(many)), "10", tuple(many))
    yield row_of_steppers()
    yield Row("class names that occur more than once", str(len(double)), "", tuple(sorted(double)))


def sums_over_poles(tree: ast.Module) -> bool:
    """Return whether a loop adds up terms over differences, a/(p - z), as secular equations do."""
    for loop in (node for node in nodes_of(tree) if isinstance(node, ast.For)):
        inside = list(ast.walk(loop))
        inverses = [
            node.value.right
            for node in inside
            if isinstance(node, ast.Assign)
            and isinstance(node.value, ast.BinOp)
            and isinstance(node.value.op, ast.Div)
        ]
        added = any(isinstance(node, ast.AugAssign) for node in inside)
        over = [each for each in inverses if isinstance(each, ast.BinOp)]
        if added and any(isinstance(each.op, ast.Sub) for each in over):
            return True
    return False


def rows_of_roads() -> Iterator[Row]:
    """Modules that solve what one module shall solve, or one for doubles and one for the rest."""
    found = [str(p.relative_to(ROOT)) for p in files("symderiv") if sums_over_poles(parsed(p))]
    yield Row("modules that solve diagonal plus low rank", str(len(found)), "2", tuple(found))


def compiled_steppers(tree: ast.Module) -> Iterator[str]:
    """Yield the functions for numba that go from step to step: with a right-hand side, in a loop.

    The loop is one whose end is not known in front (``while``), with the right-hand side, called
    ``rhs`` or ``right_hand_side``, in it.
    """
    for node in nodes_of(tree):
        if not isinstance(node, ast.FunctionDef) or not any(map(_compiles, node.decorator_list)):
            continue
        given = {each.arg for each in node.args.args} & {"rhs", "right_hand_side"}
        loops = [each for each in ast.walk(node) if isinstance(each, ast.While)]
        names = {each for loop in loops for each in ast.walk(loop) if isinstance(each, ast.Name)}
        if given & {each.id for each in names}:
            yield node.name


def _compiles(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("njit", "jit", "compiled", "part_of_compiled", "hidden_part")


def row_of_steppers() -> Row:
    """The compiled loops over steps in time."""
    names = tuple(
        f"{path.relative_to(ROOT)}: {name}"
        for path in files("symderiv")
        for name in compiled_steppers(parsed(path))
    )
    return Row("compiled steppers", str(len(names)), "1", names)


#: How learning rates and fresh examples are called where a step is computed.
_LEARNING_RATES: Final = frozenset(
    {"eta", "learning_rate", "lr", "second_layer_learning_rate", "bias_learning_rate"}
)
_EXAMPLES: Final = frozenset({"x", "xi", "inputs", "example", "examples", "batch", "sample"})


def _names(node: ast.AST) -> set[str]:
    return _named(tuple(ast.walk(node)))


def _named(inside: Collection[ast.AST]) -> set[str]:
    names = {each.id for each in inside if isinstance(each, ast.Name)}
    return names | {each.attr for each in inside if isinstance(each, ast.Attribute)}


def sgd_steps(tree: ast.Module) -> Iterator[str]:
    """Yield the functions that say what a step of SGD is.

    They state a descent in the language of statements; or, in a loop over examples, something is
    moved by what a learning rate multiplies. What only reads a statement does neither.
    """
    if not _named(nodes_of(tree)) & (_LEARNING_RATES | {"descend", "ascend"}):
        return
    for function in (node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)):
        calls = [each.func for each in ast.walk(function) if isinstance(each, ast.Call)]
        told = {
            ast.unparse(each.value)
            for each in calls
            if isinstance(each, ast.Attribute) and each.attr in ("descend", "ascend")
        }
        # the language itself calls its own
        states = bool(told - {"self"})
        if states or _moves_by_examples(function):
            yield function.name


def _moves_by_examples(function: ast.FunctionDef) -> bool:
    rates, inside = set(_LEARNING_RATES), tuple(ast.walk(function))
    loops = [each for each in inside if isinstance(each, ast.For | ast.While)]
    loops = [each for each in loops if _names(each) & _EXAMPLES]
    if not loops:
        return False
    moved = False
    for node in inside:
        if isinstance(node, ast.Assign) and _names(node.value) & rates:
            rates |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    for loop in loops:
        for node in ast.walk(loop):
            if isinstance(node, ast.AugAssign):
                target, value, operation = node.target, node.value, node.op
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
                target, value, operation = node.targets[0], node.value.right, node.value.op
                if ast.dump(target).replace("Store", "Load") != ast.dump(node.value.left):
                    continue
            else:
                continue
            by_rate = _names(value) & (rates - _names(target))
            moved |= isinstance(operation, ast.Add | ast.Sub) and bool(by_rate)
    return moved


def key_tables(tree: ast.Module, keys: Collection[str]) -> Iterator[str]:
    """Yield the classes, signatures and dictionaries that go through a third of keys or more."""
    for node in nodes_of(tree):
        name, given = "", set()
        if isinstance(node, ast.ClassDef):
            lines = [each.target for each in node.body if isinstance(each, ast.AnnAssign)]
            name, given = node.name, {each.id for each in lines if isinstance(each, ast.Name)}
        elif isinstance(node, ast.FunctionDef):
            name, given = node.name, {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
        elif isinstance(node, ast.Dict):
            constants = [each.value for each in node.keys if isinstance(each, ast.Constant)]
            name = f"a dictionary in line {node.lineno}"
            given = {str(each).rpartition(".")[2] for each in constants}
        if 3 * len(given & set(keys)) >= len(keys):
            yield name


#: Words that say nothing of what they name.
SILENT: Final = frozenset(
    {
        *("found", "kept", "walk", "agitation", "whichever", "any_rule", "last_resort"),
        *("behind", "outside_cone", "room"),
    }
)


def silent_names(tree: ast.Module) -> Counter[str]:
    """Return how often each silent name is given to something: a value, a function, a class."""
    given: Counter[str] = Counter()
    for node in nodes_of(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            given[node.id if isinstance(node, ast.Name) else node.attr] += 1
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            given[node.name] += 1
    return Counter({name: count for name, count in given.items() if name in SILENT})


def rows_of_words() -> Iterator[Row]:
    """What is said in several places, and names that say nothing."""
    from symderiv.keys.study_tables import TABLES

    own = [(str(path.relative_to(ROOT)), parsed(path)) for path in files("symderiv")]
    keys = set(TABLES["training"].model_fields)
    for what, stated in (
        ("definitions of an SGD step", sgd_steps),
        ("key tables", partial(key_tables, keys=keys)),
    ):
        names = tuple(f"{path}: {name}" for path, tree in own for name in stated(tree))
        yield Row(what, str(len(names)), "1", names)
    words: Counter[str] = sum((silent_names(tree) for _, tree in own), Counter())
    told = tuple(f"{name}, {count} times" for name, count in words.most_common())
    yield Row("assignments to names that say nothing", str(words.total()), "", told)


def rows_of_imports() -> Iterator[Row]:
    """Circles of imports, and imports of what is not below."""
    up = [each for path in files("symderiv") for each in upward(path)]
    up += [each for room in INNER for each in upward_inside(room)]
    up += upward_in_the_code_generator()
    round_ = circles(graph())
    yield Row("circles of imports", str(len(round_)), "0", tuple(round_))
    yield Row("imports upwards", str(len(up)), "0", tuple(up))


#: Functions of libraries that compute nodes of quadratures.
NODES_OF_LIBRARIES: Final = frozenset(
    {
        *("leggauss", "hermgauss", "hermegauss", "laggauss", "chebgauss", "fixed_quad"),
        *("roots_legendre", "roots_hermite", "roots_hermitenorm", "legendre_p_root"),
    }
)


def called(tree: ast.Module) -> set[str]:
    """Return the names of all functions and methods that a module calls."""
    calls = [node.func for node in nodes_of(tree) if isinstance(node, ast.Call)]
    names = {call.attr for call in calls if isinstance(call, ast.Attribute)}
    return names | {call.id for call in calls if isinstance(call, ast.Name)}


#: What tells sums, products and powers apart: of SymPy, of Python's syntax, of formulas as text.
HEADS: Final = (
    ({"is_Add", "Add"}, {"is_Mul", "Mul", "Mult"}, {"is_Pow", "Pow"}),
    ({"'+'"}, {"'*'"}, {"'**'"}),
)
#: With one of these, numbers come out.
ARITHMETICS: Final = frozenset({"cmath", "flint", "math", "mpmath", "operator"})


def evaluates(tree: ast.Module) -> bool:
    """Whether a module gives trees values by itself.

    It calls SymPy's ``lambdify``; or it asks domains what nodes mean, and walks; or it tells sums,
    products and powers apart with arithmetic at hand, and is no domain (``meaning``) for a walk.
    """
    if called(tree) & {"lambdify", "meaning"}:
        return True
    nodes = nodes_of(tree)
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    # sp.Add(a, b) and sp.Add.make_args build and take apart, but tell nothing
    beside = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    beside |= {id(node.value) for node in attributes}
    names = {node.attr for node in attributes if id(node) not in beside}
    names |= {repr(node.value) for node in nodes if isinstance(node, ast.Constant)}
    if not any(all(names & head for head in heads) for heads in HEADS):
        return False
    used = {ast.unparse(node.value) for node in attributes if node.attr != "nstr"}
    used |= {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    stated = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    return bool(used & ARITHMETICS) and "meaning" not in stated


def rows_of_mathematics() -> Iterator[Row]:
    """Roads that should be one each: what evaluates trees, what makes nodes of quadratures."""
    own = files("symderiv")
    evaluators = [path for path in own if evaluates(parsed(path))]
    makers = [path for path in own if called(parsed(path)) & NODES_OF_LIBRARIES]
    for what, goal, found in (
        ("evaluators of expression trees", "3", evaluators),
        ("modules that make quadrature nodes", "2", makers),
    ):
        names = tuple(str(path.relative_to(ROOT)) for path in found)
        yield Row(what, str(len(found)), goal, names)


def row_of(addition: Addition, fault: str = "") -> Row:
    """The files that an addition touches."""
    count, code = len(addition.files), len(addition.code)
    return Row(
        f"files touched by a new {addition.row}",
        f"{count}, {code} of them code",
        str(addition.goal),
        (f"({addition.what})", *addition.files),
        fault,
    )


def rows_of_additions(quick: bool, with_tests: bool) -> Iterator[Row]:
    """The files that additions touch; each is tried unless it shall be quick."""
    if quick:
        yield from map(row_of, ADDITIONS)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for addition in ADDITIONS:
            tried = copy.tried(addition, with_tests)
            yield row_of(addition, "" if tried.well else f"does not work:\n{tried.last}")


def _grouped(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if an addition does not work."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.house", description=__doc__)
    parser.add_argument("--list", action="store_true", help="also the names behind the numbers")
    parser.add_argument("--tests", action="store_true", help="also tests that ask for something")
    parser.add_argument("--quick", action="store_true", help="additions are only counted")
    asked = parser.parse_args(arguments)
    print(f"{'':66}{'measured':<22}goal")
    failed = False
    for rows in (
        rows_of_lines(),
        rows_of_functions(),
        rows_of_roads(),
        rows_of_words(),
        rows_of_imports(),
        rows_of_mathematics(),
        rows_of_additions(asked.quick, asked.tests),
    ):
        for row in rows:
            failed |= bool(row.fault)
            print(f"{row.what:<66}{row.measured:<22}{row.goal}".rstrip(), flush=True)
            for name in row.names if asked.list else ():
                print(f"    {name}")
            if row.fault:
                print(row.fault)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
