"""The generator: valid calls of every command, with one to three things wrong.

Options are taken from the application, so new ones are tried as well.
"""

import inspect
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import numpy as np
from support.studies import toml

STUDY = toml(
    network={"activation": "erf", "students": 2, "teachers": 2, "student_weights": "1/sqrt(M)"},
    data={"model": "power-law", "dimension": 40, "distinct_eigenvalues": 4, "exponent": 1.0},
    training={"learning_rate": 0.5, "order": "full", "label_noise": 0.1, "weight_decay": 0.0},
    initial={"student_std": 0.1, "seed": 1},
    simulation={"runs": 2, "end": 1.0},
    time={"end": 2.0, "points": 5, "relative_tolerance": 1e-06},
)
MANIFOLD = toml(
    network={"activation": "erf", "students": 1, "teachers": 1},
    data={
        "model": "hidden-manifold",
        "nonlinearity": "sign",
        "dimension": 40,
        "latent_dimension": 10,
    },
    training={"learning_rate": 0.2},
    time={"end": 1.0, "points": 4},
)
FROM_FILE = toml(
    network={"activation": "relu", "students": 1, "teachers": 1},
    data={"model": "covariance", "file": "cov.npy"},
    training={"learning_rate": 0.2},
    time={"values": [0, 0.5, 1]},
)
STATICS = toml(
    network={"activation": "relu", "students": 2, "teachers": 2},
    data={"model": "isotropic", "dimension": 40},
    training={"learning_rate": 0.5},
)
PAPER = """title = "Mine"
[[claim]]
equation = '1'
printed = 'C_{12}'
reference = 'i2'
activation = 'linear'
formula = 'C_{12}'
"""

ONE_STEP = """n = 40
m = 40
k = 30
alpha = 0.5
beta = 0.74
ridge = 1e-4
activation = "relu"
task = "regression"
rank = 1
trials = 2
seed = 0
"""
FILES = {
    "s.toml": STUDY, "m.toml": MANIFOLD, "c.toml": FROM_FILE, "p.toml": PAPER, "o.toml": ONE_STEP,
    "e.toml": STATICS,
}  # fmt: skip

#: Valid calls, each a moment long.
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "expect": (
        ("x*y", "--covariance", '[[1,"1/3"],["1/3",2]]'),
        ("erf(x)*y", "--covariance", "[[1,0.5],[0.5,1]]", "--digits", "20"),
        ("--batch", "lines.jsonl"),
    ),
    "integral": (
        ("i2", "--activation", "erf"),
        ("i3", "--activation", "relu", "--covariance", "[[1,0.2,0.1],[0.2,1,0],[0.1,0,1]]"),
        ("i2", "--activations", "erf,sign", "--covariance", "[[1,0.2],[0.2,1]]"),
    ),
    "check": (
        ("i2", "--activation", "erf", "--formula", "2/pi*asin(c12/sqrt((1+c11)*(1+c22)))"),
        ("x*y", "--formula", "c12"),
        ("i2", "--activation", "linear", "--formula", "A", "--where", "A=c12"),
    ),
    "derive": (("--activation", "linear"), ("--activation", "erf", "--format", "json")),
    "generate": (("--activation", "linear", "--name", "g"),),
    "export": (("s.toml", "--to", "python"), ("--activation", "linear", "--to", "latex")),
    "init": (("new.toml", "--template", "two-units"),),
    "cite": (("s.toml",),),
    "schema": (("--output", "schema.json"),),
    "solve": (("s.toml",), ("m.toml",), ("c.toml", "--plot", "f.svg"), ("state.toml",)),
    "simulate": (("s.toml", "--runs", "1"), ("m.toml",)),
    "study": (("s.toml",),),
    "sweep": (("s.toml", "--over", "training.learning_rate=0.1"),),
    "map": (
        (
            *("s.toml", "--quantity", "final_error", "--over", "training.learning_rate=0.1:1"),
            *("--over", "initial.student_std=0.1:1", "--resolution", "2", "--coarse", "2"),
        ),
    ),
    "linear": (
        (
            *("--distinct-eigenvalues", "8", "--exponent", "1", "--learning-rate", "0.5"),
            *("--student-std", "0.1", "--alpha", "1,10"),
        ),
        ("--covariance", "cov.npy", "--learning-rate", "0.1", "--alpha", "1,2"),
    ),
    "plateau": (
        ("--units", "2", "--distinct-eigenvalues", "4", "--exponent", "1"),
        ("--units", "3", "--T1", "1", "--D1", "0", "--T2", "1", "--D2", "0"),
    ),
    "asymptotics": (("--units", "2", "--distinct-eigenvalues", "4", "--exponent", "1"),),
    "localise": (
        ("--gain", "2", "--lengths", "1,0.5", "--sites", "6", "--steps", "2", "--batch", "4"),
        ("--lengths", "3,1-2", "--inputs", "single-pulse", "--sites", "8", "--steps", "2"),
        ("--lengths", "1,0.5", "--inputs", "gaussian", "--sites", "5", "--method", "flow"),
    ),
    "one-step": (("o.toml",), ("o.toml", "--quick")),
    "optimise": (
        ("s.toml", "--control", "learning_rate", "--bounds", "0,1", "--end", "1", "--pieces", "1"),
        ("c.toml", "--bounds", "0,1", "--end", "0.5", "--pieces", "1"),
    ),
    "equilibrium": (("e.toml", "--alpha", "1"), ("s.toml", "--alpha", "1,2")),
    "thresholds": (("abs(z1)",), ("sign(z1*z2)",)),
    "fixed-points": (("c.toml", "--starts", "1"), ("e.toml", "--starts", "1", "--plot", "f.svg")),
    "verify": (
        ("p.toml", "--processes", "1"),
        ("p.toml", "--equation", "1", "--processes", "1", "--html", "p.html"),
    ),
}

VALUES = (
    *("", " ", "nan", "inf", "-inf", "1e400", "-1", "0", "0.0", "-0", "1e-320", "1e308", "0.5"),
    *("2", "1/3", "1/0", "9" * 19, "9" * 400, "1" * 5000, "x" * 100_000, "α", "λ=1", "💥"),
    *("\udcff", "a\nb", "\t", "null", "true", "[]", "{}", "[[1]]", "[[1,2],[2,1]]"),
    *("[[1,2],[3,4]]", '[["c11"]]', "[[NaN]]", '[["nan"]]', "[[1e999]]", "[[[1]]]", "[1,2", '["'),
    *("[" * 3000, "(" * 500, "0x10", "1_000", "١٢", "1,2,3", ",", "1,,2", "--json", "-", "--"),
    *(".", "..", "/", "./", "s.toml", "p.toml", "missing", "missing.toml", "a/b/c", "a/b/c.svg"),
    *("f.svg", "f.SVG", "f.doc", "pipe", "pipe.svg", "sock", "folder", "folder.nc", "loop"),
    *("garbage", "empty", "locked/x.nc", "utf16.toml", "cov.npy", "bad.npz", "bomb.npy"),
    *("objects.npy", "deep.toml", "erf", "relu", "tanh", "sign", "abs(x)", "x**99", "x**1000000"),
    *("exp(exp(exp(x)))", "exp(x**2)", "1/x", "log(x)", "sqrt(x)", "x**x", "gamma(x)", "y"),
    *("x1*x2*x3*x4*x5*x6", "import os", "__import__('os')", "lambda x: x", "x.real", "sin(x)/x"),
    *("0*x", "erf(x", "erf)x(", "sin(1000*x)", "class", "lambda", "None", "math", "np", "numpy"),
    *("_", "__init__", "os", "a-b", "1a", "ü", "i2", "i4", "i9", "json", "html", "holds"),
    *("worschech-rosenow-2024", "∞", "training.learning_rate=1,2", "training.lerning_rate=1"),
    *("data.distinct_eigenvalues=3,5", "=", "network.activation=erf,nope", "a=b=c", "network=1"),
    *("time.end=nan", "x=1..2", "1e9", "1000000000", "100000", "3.7", "1e-9", "C_{12}"),
    *("\\frac{1}", "\\frac{C_{12}}{0}", "c12/0", "c99", "{}", "%s", "%", "$HOME", "`id`", "*"),
    *("~", "\\", "'", '"', "#", "[red]", "[/red]", "[bold", ":smile:"),
)

#: What is not wrong at a glance.
PLAUSIBLE = (
    *("0.1", "0.5", "1", "2", "3", "4", "7", "10", "16", "30", "100", "1000", "1e-3", "1e-8"),
    *("1e-14", "1/3", "erf", "relu", "gelu", "linear", "tanh", "sign", "quadratic", "x**3"),
    *("sin(x)", "exp(-x**2)", "x/2*(1+erf(x/sqrt(2)))", "Heaviside(x)", "x*y*z", "x**2*y**2"),
    *("erf(x)*erf(y)", "abs(x)*y", "[[1,0],[0,1]]", "[[2,1],[1,2]]", "[[1,1],[1,1]]"),
    *("[[0,0],[0,1]]", '[["c11","c12"],["c12","c22"]]', "[1,2]", "[0,0]", "a.svg", "a.png"),
    *("a.pdf", "a.nc", "a.html", "a.txt", "new/a.nc", "new", "i2", "i3", "i4", "c12", "c11*c22"),
    *("text", "latex", "html", "json", "secular", "companion", "moments", "random", "input"),
    *("1,10,100", "0", "training.learning_rate=0.1,0.2", "data.exponent=0.5,1"),
    *("network.students=1,3", "my_module"),
)

#: What a line of a study may be made to say.
TOML = (
    *("nan", "inf", "-inf", "-1", "0", "1e400", "1e-320", "0.0", "3", "1000000000"),
    *("10000000000000000000", '""', '"x"', '"nan"', '"α"', "[]", "[1, 2]", "[nan]", "{}", "true"),
    *('"1/0"', '"M/K"', '"sqrt(-1)"', '"exp(1000)"', "'''a\nb'''", "1979-05-27", '"tanh"'),
    *('"x**2"', '"1/x"', '"missing.npz"', '"cov.npy"', '"bad.npz"', '"bomb.npy"', '"pipe"', '"."'),
    *('"implicit"', '"gram"', '"vectors"', '"mean"', "1e308", '"orthogonal"', "0.999", "100000"),
    *("1e5", "[" + "1," * 3000 + "1]", '"on"', '"linear"', "1e-14", "63"),
)
LINES = (
    *("nope = 1", "[nope]", "[[data]]", "students = 3", "\0", "\udcff", "= 1", "[data"),
    *("a.b.c = 1", '[sweep]\n"training.learning_rate" = [0.1, 0.2]', '[sweep]\n"nope" = [1]'),
    *("[sweep]\nx = []", '[sweep]\n"training.learning_rate" = []'),
    '[sweep]\n"training.learning_rate" = [nan]',
    *('[sweep]\n"initial.seed" = [' + "1," * 2000 + "1]", "\ufeff", "x = " + "[" * 2000),
)


@dataclass(frozen=True)
class HostileCall:
    """The words of a call and what is changed in the studies before it."""

    words: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...] = ()


@cache
def _options() -> dict[str, tuple[str, ...]]:
    from symderiv import cli

    found: dict[str, tuple[str, ...]] = {}
    for command in cli.build_app().registered_commands:
        assert command.callback is not None
        names: list[str] = []
        for parameter in inspect.signature(command.callback, eval_str=True).parameters.values():
            option = get_args(parameter.annotation)[1]
            declared = [option.default, *(getattr(option, "param_decls", None) or ())]
            names += [d for d in declared if isinstance(d, str) and d.startswith("--")]
        found[command.name or command.callback.__name__.replace("_", "-")] = tuple(names)
    return found


def options_of(command: str) -> tuple[str, ...]:
    """The options of a command."""
    return _options()[command]


#: Minutes of honest work, or the tree that the program runs from.
LEFT_OUT = ("--checked-in", "--thorough", "--ledger", "--processes", "--check")


def broken_study(random: random.Random, text: str) -> bytes:
    lines = text.splitlines()
    for _ in range(random.choice((1, 1, 2))):
        place = random.randrange(len(lines))
        kind = random.random()
        if kind < 0.6 and "=" in lines[place]:
            lines[place] = lines[place].partition("=")[0] + "= " + random.choice(TOML)
        elif kind < 0.75:
            lines.insert(place, random.choice(LINES))
        elif kind < 0.85:
            del lines[place]
        elif "=" in lines[place]:
            lines[place] = lines[place].replace("e", "", 1)
    content = "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")
    if random.random() < 0.05:
        content = content[: random.randrange(len(content))]
    if random.random() < 0.05:
        content = bytes(random.randrange(256) if random.random() < 0.01 else b for b in content)
    return content


def _hostile(random: random.Random, command: str) -> HostileCall:
    words = list(random.choice(CALLS[command]))
    files = []
    if random.random() < 0.55:
        for name, text in FILES.items():
            if name in words:
                files.append((name, broken_study(random, text)))
    for _ in range(random.choice((0, 1, 1, 2)) if files else random.choice((1, 1, 1, 2, 3))):
        kind = random.random()
        if kind < 0.5 and words:
            words[random.randrange(len(words))] = random.choice(random.choice((VALUES, PLAUSIBLE)))
        elif kind < 0.8:
            option = random.choice([o for o in _options()[command] if o not in LEFT_OUT])
            words.append(option)
            if random.random() < 0.9 and option not in ("--json", "--full", "--fresh", "--force"):
                words.append(random.choice(random.choice((VALUES, PLAUSIBLE))))
        elif kind < 0.88 and words:
            del words[random.randrange(len(words))]
        elif kind < 0.94:
            words.append(random.choice(VALUES))
        elif words:
            place = random.randrange(len(words))
            words[place] = words[place][:-1] or "-"
    if "--batch" in words[:-1] and words[words.index("--batch") + 1] == "pipe":
        words.remove("pipe")  # lines may come from a FIFO, whenever somebody writes them
    if command == "verify" and not any(w.endswith(".toml") for w in words):
        words.append("p.toml")
    if random.random() < 0.01:
        return HostileCall((random.choice(VALUES), *words), tuple(files))
    return HostileCall((command, *words), tuple(files))


def calls(seed: int, count: int) -> Iterator[HostileCall]:
    """So many calls, over all commands in turn; the same ones for the same seed."""
    source = random.Random(seed)
    commands = [*_options()]
    missing = set(commands) - set(CALLS)
    assert not missing, f"say how {missing} are called"
    for index in range(count):
        call = _hostile(source, commands[index % len(commands)])
        # the system takes no such word, so nobody can type it
        yield HostileCall(tuple(w.replace("\0", "") for w in call.words), call.files)


def fill(folder: Path) -> None:
    """The files that calls name, good ones and bad ones; no device among them."""
    import socket

    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "state.toml").write_text(
        FROM_FILE.replace("[time]", '[initial]\nstate = "bad.npz"\n[time]')
    )
    (folder / "lines.jsonl").write_text('{"expr": "x", "covariance": [[1]]}\n{"expr": 1}\nnope\n')
    np.save(folder / "cov.npy", np.eye(6))
    np.savez(folder / "bad.npz", a=np.zeros(3))
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000000), }"
    (folder / "bomb.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + (len(head) + 1).to_bytes(2, "little") + head + b"\n"
    )
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (folder / "garbage").write_bytes(bytes(range(256)) * 8)
    (folder / "empty").write_bytes(b"")
    (folder / "utf16.toml").write_text(STUDY, encoding="utf-16")
    (folder / "deep.toml").write_text("x = " + "[" * 20000)
    (folder / "folder").mkdir()
    (folder / "folder.nc").mkdir()
    (folder / "locked").mkdir(mode=0o555)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    os.mkfifo(folder / "pipe.svg")
    # the path of a socket may not be long
    here = os.getcwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("sock")
    finally:
        os.chdir(here)
