"""No output replaces what it must not: all commands, all their output options, all targets.

Commands and options are taken from the application, so a new option is walked as well: whatever
takes a path is an output unless it is named among the inputs here.
"""

import inspect
import os
import re
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hostile.calls import ONE_STEP, PAPER
from support.commands import symderiv as run
from support.studies import toml

from symderiv import cli
from symderiv.foundation.seals import is_sealed, sealed

pytestmark = pytest.mark.days(6)

STUDY = toml(
    network={"activation": "linear", "students": 1, "teachers": 1},
    data={"model": "covariance", "file": "cov.npy", "dimension": 40},
    training={"learning_rate": 0.5},
    simulation={"runs": 2},
    time={"end": 2.0, "points": 5},
)


@dataclass(frozen=True)
class Call:
    """A short call of a command that succeeds, and the files it reads."""

    words: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    #: What the output has to be called, and whether it is a folder, by option.
    files: dict[str, str] | None = None
    #: Too long to be carried out here; only what must be refused is tried.
    only_refusals: tuple[str, ...] = ()


_STUDY = ("s.toml", "cov.npy")
CALLS = {
    "solve": Call(
        ("s.toml",), _STUDY, {"--output": "r.nc", "--plot": "f.svg", "--certify": "proof.json"}
    ),
    "simulate": Call(("s.toml",), _STUDY, {"--output": "r.nc"}),
    "study": Call(("s.toml",), _STUDY, {"--output": "folder"}),
    "sweep": Call(
        ("s.toml", "--over", "training.learning_rate=0.1"),
        _STUDY,
        {"--output": "folder", "--page": "page.html", "--netcdf": "r.nc"},
        ("--page", "--netcdf"),
    ),
    "map": Call(
        (
            *("s.toml", "--quantity", "final_error", "--over", "training.learning_rate=0.1:1"),
            *("--over", "initial.student_std=0.1:1", "--resolution", "2", "--coarse", "2"),
        ),
        _STUDY,
        {"--output": "r.nc", "--plot": "f.svg"},
        ("--output", "--plot"),
    ),
    "derive": Call(("--activation", "linear"), (), {"--output": "d.txt"}),
    "generate": Call(("--activation", "linear", "--name", "g"), (), {"--output": "folder"}),
    "export": Call(("s.toml", "--to", "c"), _STUDY, {"--output": "d.c"}),
    "cite": Call(("s.toml",), _STUDY, {"--output": "r.bib"}),
    "schema": Call((), (), {"--output": "s.json"}),
    "plateau": Call(
        ("--units", "2", "--distinct-eigenvalues", "2", "--exponent", "1"), (), {"--plot": "f.png"}
    ),
    "asymptotics": Call(
        ("--units", "2", "--distinct-eigenvalues", "2", "--exponent", "1"),
        (),
        {"--plot": "f.svg"},
        ("--plot",),
    ),
    "localise": Call(
        ("--gain", "2", "--lengths", "1,0.5", "--sites", "6", "--steps", "2", "--batch", "4"),
        (),
        {"--plot": "f.svg", "--animation": "page.html"},
    ),
    "linear": Call(
        ("--covariance", "cov.npy", "--learning-rate", "0.1", "--alpha", "1,2"),
        ("cov.npy",),
        {"--plot": "f.pdf"},
    ),
    "one-step": Call(("o.toml",), ("o.toml",), {"--plot": "f.svg"}),
    "optimise": Call(
        ("s.toml", "--bounds", "0,1", "--end", "1", "--pieces", "1"),
        _STUDY,
        {"--plot": "f.svg"},
        ("--plot",),
    ),
    "equilibrium": Call(("s.toml", "--alpha", "1"), _STUDY, {"--plot": "f.svg"}, ("--plot",)),
    "thresholds": Call(("abs(z)",), (), {"--plot": "f.svg"}),
    "fixed-points": Call(("s.toml", "--starts", "1"), _STUDY, {"--plot": "f.svg"}, ("--plot",)),
    "verify": Call(
        ("p.toml", "--processes", "1"),
        ("p.toml",),
        {"--html": "page.html", "--ledger": "folder"},
        ("--ledger",),
    ),
}
INPUTS = {
    *(("linear", "--covariance"), ("expect", "--batch"), ("integral", "--batch")),
    *(("derive", "--study"), ("generate", "--study")),
}
#: What is written, where it is not tried out here.
FILES = {
    ("verify", "--ledger"): ("folder/ledger.json", "folder/ledger.html"),
    ("asymptotics", "--plot"): ("f.svg",),
    ("fixed-points", "--plot"): ("f.svg",),
    ("optimise", "--plot"): ("f.svg",),
    ("equilibrium", "--plot"): ("f.svg",),
    ("sweep", "--page"): ("page.html",),
    ("sweep", "--netcdf"): ("r.nc",),
    ("map", "--output"): ("r.nc",),
    ("map", "--plot"): ("f.svg",),
}


def _path_options() -> Iterator[tuple[str, str]]:
    for command in cli.build_app().registered_commands:
        assert command.callback is not None
        name = command.name or command.callback.__name__.replace("_", "-")
        signature = inspect.signature(command.callback, eval_str=True)
        for parameter in signature.parameters.values():
            kind, option, *_ = get_args(parameter.annotation)
            # in an annotation, the first name of an option stands in the place of its default
            names = [option.default, *(option.param_decls or ())]
            names = [text for text in names if isinstance(text, str) and text.startswith("--")]
            if names and ("Path" in str(kind) or _names_a_file(option.metavar)):
                yield name, names[0]


def _names_a_file(metavar: str | None) -> bool:
    return bool(re.fullmatch(r"FILE|DIR|FIG|FOLDER|\w+\.\w+", metavar or ""))


OPTIONS = [one for one in _path_options() if one not in INPUTS]


def test_every_output_option_is_walked() -> None:
    assert len(OPTIONS) >= 11
    for command, option in OPTIONS:
        files = CALLS[command].files
        assert files is not None
        assert option in files, f"say in CALLS how {command} {option} is tried"


_app = cache(cli.build_app)


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[str, Any] = {}

    def found(*arguments: Any, **more: Any) -> Any:
        key = repr((arguments, more))
        if key not in known:
            known[key] = function(*arguments, **more)
        return known[key]

    return found


@pytest.fixture(autouse=True)
def _workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from symderiv.analysis.plateau import plateau_forms
    from symderiv.checking import recipes
    from symderiv.show.pages import derivations

    # what is no matter of files is done once
    monkeypatch.setattr(cli, "build_app", _app)
    for module, name in (
        (plateau_forms, "plateau_forms"),
        (derivations, "learning_derivation"),
        (recipes, "solver_text"),
    ):
        monkeypatch.setattr(module, name, _once(getattr(module, name)))
    monkeypatch.chdir(tmp_path)
    _fill()


def _fill() -> None:
    Path("s.toml").write_text(STUDY)
    Path("p.toml").write_text(PAPER)
    Path("o.toml").write_text(ONE_STEP)
    np.save("cov.npy", np.eye(40))


def _tree() -> dict[str, tuple[int, int, bytes | str]]:
    """Everything there is: kind, inode and content, links not followed."""
    found: dict[str, tuple[int, int, bytes | str]] = {}
    for path in Path().rglob("*"):
        state = path.lstat()
        content: bytes | str = b""
        if stat.S_ISLNK(state.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(state.st_mode):
            content = path.read_bytes()
        found[str(path)] = (stat.S_IFMT(state.st_mode), state.st_ino, content)
    return found


def _socket(path: Path) -> None:
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(path))
    bound.close()


def _device(path: Path) -> None:
    try:
        # the numbers of no device
        os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(0, 0))
    except PermissionError:
        os.mkfifo(path)


def _beside(path: Path, content: bytes = b"precious\n") -> Path:
    other = path.with_name("precious" + path.suffix)
    other.write_bytes(content)
    return other


def _edited(path: Path) -> None:
    path.write_bytes(_made(path) + b"\n")


def _damaged(path: Path) -> None:
    content = bytearray(_made(path))
    content[len(content) // 3] ^= 4
    path.write_bytes(content)


_MADE: dict[str, bytes] = {}


def _made(path: Path) -> bytes:
    """What symderiv itself wrote to this path."""
    return _MADE[str(path)]


#: What may stand at the path of an output and must stay, also with --force.
NEVER: dict[str, Callable[[Path], Any]] = {
    "folder": lambda p: p.mkdir(),
    "FIFO": lambda p: os.mkfifo(p),
    "socket": _socket,
    "device": _device,
    "link to a FIFO": lambda p: (os.mkfifo("pipe"), p.symlink_to(Path("pipe").resolve())),
    "link to a folder": lambda p: (Path("other").mkdir(), p.symlink_to(Path("other").resolve())),
    "link to itself": lambda p: p.symlink_to(p.name),
}
#: What must stay unless --force is given.
WITHOUT_FORCE: dict[str, Callable[[Path], Any]] = {
    "file": lambda p: p.write_bytes(b"precious\n"),
    "empty file": lambda p: p.write_bytes(b""),
    "hard link": lambda p: os.link(_beside(p), p),
    "link to a file": lambda p: p.symlink_to(_beside(p).name),
    "edited result": _edited,
    "damaged result": _damaged,
    "cut off result": lambda p: p.write_bytes(_made(p)[:-20]),
}
#: What is replaced or made.
WRITTEN: dict[str, Callable[[Path], Any]] = {
    "own result": lambda p: p.write_bytes(_made(p)),
    "link to own result": lambda p: p.symlink_to(_beside(p, _made(p)).name),
    "link to nothing": lambda p: p.symlink_to("later" + p.suffix),
}
INPUT: dict[str, Callable[[Path, Path], Any]] = {
    "link to an input": lambda p, i: p.symlink_to(i.resolve()),
    "hard link of an input": lambda p, i: os.link(i, p),
}


class Walk:
    """One option of one command, with everything that its output may meet."""

    def __init__(self, command: str, option: str) -> None:
        self.call, self.command, self.option = CALLS[command], command, option
        assert self.call.files is not None
        self.value = self.call.files[option]
        self.tried = 0
        self.carried_out = option not in self.call.only_refusals
        #: A store knows its own files by digests, and carries no seal in each.
        self.stored = (command, option) == ("sweep", "--output")
        self.words = () if option == "--ledger" else self.call.words
        self.files = [Path(n) for n in FILES.get((command, option), ())]
        for path in self.files:
            _MADE[str(path)] = sealed(b"{}", "html")
        if self.carried_out:
            self._first()

    def _first(self) -> None:
        """In a folder that does not exist yet; tells which files there are."""
        before = set(_tree())
        code, out, err = self("deep/er/" + self.value)
        assert code in (0, 1), err
        new = [Path(name) for name in set(_tree()) - before if Path(name).is_file()]
        target = Path("deep/er") / self.value
        # without being told, solve and simulate name their own results
        self.files = sorted(
            p.relative_to("deep/er") for p in new if p == target or target in p.parents
        )
        assert self.files, f"{self.command} {self.option} made no missing folder"
        for path in self.files:
            _MADE[str(path)] = (Path("deep/er") / path).read_bytes()
            assert self.stored or is_sealed(_made(path)), path
            assert target.name in out, f"{self.command} does not tell what it wrote"
        self.clean()

    def __call__(self, value: str, *more: str) -> tuple[int, str, str]:
        self.tried += 1
        return run(self.command, *self.words, self.option, value, *more)

    def clean(self) -> None:
        for path in Path().iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        _fill()

    def refuses(self, what: str, *more: str, value: str | None = None) -> None:
        before = _tree()
        code, out, err = self(self.value if value is None else value, *more)
        where = f"{self.command} {self.option} on {what}{' with --force' if more else ''}"
        assert code == 2, (where, out, err)
        assert out == "", where
        assert err.startswith("symderiv: error: "), where
        assert err.count("\n") == 1, (where, err)
        assert _tree() == before, where
        self.clean()

    def writes(self, what: str, path: Path, *more: str) -> None:
        link = path.is_symlink()
        before = _tree()
        code, _, err = self(self.value, *more)
        where = f"{self.command} {self.option} on {what}"
        assert code in (0, 1), (where, err)
        assert path.is_symlink() == link, where
        assert is_sealed(path.read_bytes()), where
        # a link stays, what it leads to is written; nothing else changes
        for name in {*before} - {str(path), str(path.resolve().relative_to(Path().resolve()))}:
            assert _tree()[name] == before[name], (where, name)
        self.clean()

    def mends(self, what: str, put: Callable[[Path], Any]) -> None:
        """Put something in the place of a chunk of a store: it is told of and computed again, and
        what has another name stays.
        """
        assert self(self.value)[0] == 0
        path = Path(self.value, "Q/c/0/0/0/0")
        whole = path.read_bytes()
        path.unlink()
        put(path)
        before = {name: one for name, one in _tree().items() if Path(self.value) not in _up(name)}
        code, _, err = self(self.value)
        assert code == 0, (what, err)
        assert "it is computed again" in err, what
        assert not path.is_symlink(), what
        assert path.read_bytes() == whole, what
        assert before.items() <= _tree().items(), what
        self.clean()


def _up(name: str) -> tuple[Path, ...]:
    return (Path(name), *Path(name).parents)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_outputs_never_destroy(command: str, option: str) -> None:
    walk = Walk(command, option)
    folder = CALLS[command].files[option] == "folder"  # type: ignore[index]
    for path in () if walk.stored else walk.files:

        def make(path: Path = path) -> Path:
            path.parent.mkdir(parents=True, exist_ok=True)
            return path

        for what, put in NEVER.items():
            for more in ((), ("--force",)) if path == walk.files[0] else ((),):
                put(make())
                walk.refuses(what, *more)
        for what, put in WITHOUT_FORCE.items():
            if option == "--ledger" and what == "hard link":
                continue
            put(make())
            walk.refuses(what)
        for name in CALLS[command].inputs if walk.words else ():
            for what, join in INPUT.items():
                for more in ((), ("--force",)):
                    join(make(), Path(name))
                    walk.refuses(f"{what} {name}", *more)
    if walk.stored:
        for what in ("file", "empty file", "hard link", "link to a file"):
            walk.mends(what, WITHOUT_FORCE[what])
        for what, join in INPUT.items():
            for name in CALLS[command].inputs:
                walk.mends(f"{what} {name}", lambda p, n=name, j=join: j(p, Path(n)))  # type: ignore[misc]
    elif walk.carried_out:
        path = walk.files[0]
        for what, put in WRITTEN.items() if command != "study" else ():
            path.parent.mkdir(parents=True, exist_ok=True)
            put(path)
            walk.writes(what, path)
        path.parent.mkdir(parents=True, exist_ok=True)
        _beside(path)
        path.write_bytes(b"precious\n")
        walk.writes("file", path, "--force")
    if folder:
        for what, put in {**NEVER, **WITHOUT_FORCE}.items():
            if "folder" not in what and "result" not in what:
                put(Path(walk.value))
                walk.refuses(what, value=walk.value)
    else:
        for name in CALLS[command].inputs:
            for value in (name, f"./{name}", str(Path(name).resolve())):
                walk.refuses(f"input {value}", value=value)
        Path("a-file").write_text("precious")
        walk.refuses("something in a file", value="a-file/" + walk.value)
    walk.refuses("nothing", value="") if not folder else None
    walk.refuses("a long name", value=f"{'x' * 300}{Path(walk.value).suffix}")
    print(f"{command} {option}: {walk.tried} calls")
