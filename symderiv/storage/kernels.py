"""The solver modules of a pair of activations, found or made: a readable and a fast one.

Modules that are part of the package are found by their formulas, without SymPy. For any other pair
they are derived once, written to the user's cache folder and read from there. If a file there
differs from what was written, both are derived again.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from itertools import chain
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, cast

from symderiv_kernels.layout import LAYOUT

from symderiv import __version__
from symderiv.compiled_code.translated_functions import TranslatedModule
from symderiv.compiled_code.translation.ir_values import UntranslatableError
from symderiv.compiled_code.translation.module_source import FunctionSource
from symderiv.formula import activation
from symderiv.foundation import derivation_cache
from symderiv.foundation.errors import SymderivError
from symderiv.foundation.files import replace_file, tell_once, temporary_folder, write_whole

if TYPE_CHECKING:
    from symderiv.compiled_code.machine_code import MachineCode
    from symderiv.learning.rule.learning_rule import LearningRule

FORMAT = 3

_PACKAGE = "symderiv_kernels"
_FAST = f"{_PACKAGE}.fast"
# Rooms on which the text of a solver module depends.
_SOURCES = ("formula", "gaussian", "numerics", "statement", "learning", "lowering", "checking")
#: The package whose runtime lane modules import.
LANES = f"{_PACKAGE}.lanes"
# The last line of a derived module, so that damage to it is noticed.
_SEAL = "# SHA-256 of the text above: "
_CONSTANT = re.compile(r"^(STUDENT_ACTIVATION|TEACHER_ACTIVATION)\s*(?::[^=]*)?=\s*(.+)$", re.M)
# Functions of a module that methods of the class replace.
_OF_CLASS = "specialised", "flat_observables"
# Methods of computing means for which there is no module for several runs.
_OF_ONE_RUN = ("quadrature",)
# A constant that a module states on one line.
_STATED = re.compile(r"^([A-Z][A-Z_0-9]*)\s*(?::[^=\n]*)?=\s*(.+)$", re.M)


Stamp = tuple[tuple[int, int], ...]
"""Times of change and sizes of the files of a solver."""


@dataclass(frozen=True)
class Kernel:
    """The solver modules in use, with their origin and the activations they belong to.

    ``path`` and ``sha256`` are those of the readable module, ``fast`` is the one that runs.
    """

    module: ModuleType
    path: Path
    sha256: str
    student_activation: str
    teacher_activation: str
    checked_in: bool
    fast: ModuleType | None = None
    fast_sha256: str = ""
    lanes_text: Callable[[], str] | None = None
    """A function that derives the text of the module for several runs; None if there is none."""

    @property
    def digests(self) -> str:
        """A digest that changes with anything on which the modules' results depend."""
        return f"{self.sha256} {self.fast_sha256} {_runtime_digest()}"

    def right_hand_side_for(self, K: int, M: int) -> Callable[..., None]:
        """Return the right-hand side on flat vectors, compiled for K students and M teachers."""
        if self.fast is None:
            return cast(Callable[..., None], self.module.flat_right_hand_side)
        return cast(Callable[..., None], self.fast.specialised(K, M))

    @cached_property
    def generalization_error(self) -> Callable[..., float]:
        """The error as a function of Q, R, T, v and the teacher's weights."""
        return self.function("generalization_error")

    @cached_property
    def has_lattice(self) -> bool:
        """True if the module has means on a lattice."""
        return hasattr(self.module, "FORCE_LATTICE")

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function of the readable module, translated if possible."""
        if isinstance(self.module, WaitingModule):
            return self.module.function(name)
        return cast(Callable[..., Any], getattr(self.module, name))

    @cached_property
    def lanes(self) -> ModuleType | None:
        """The module for several runs at a time, or None if there is none."""
        if not self.checked_in:
            path = lanes_path(self.path)
            text = _read_sealed(path)
            if text is None and self.lanes_text is not None:
                text = self.lanes_text()
                with suppress(OSError):
                    replace_file(path, text.encode() + _seal(text, path))
            return _module_of(path, text, LANES) if text else None
        if not (self.path.parent / "lanes" / self.path.name).exists():
            return None
        return _imported(f"{LANES}.{self.path.stem}")

    def __getattr__(self, name: str) -> Any:
        # functions of the module are attributes, such as kernel.generalization_error
        if name.startswith("_") or name == "module":
            raise AttributeError(name)
        return getattr(self.module, name)


def load_kernel(
    student: str,
    teacher: str | None = None,
    *,
    tolerance: float | None = None,
    notice: Callable[[str], None] | None = None,
    rule: LearningRule | None = None,
) -> Kernel:
    """Return the solver module for a student and a teacher activation (None: the same).

    Args:
        student, teacher: names or formulas in ``x``.
        tolerance: bound on the error of an activation without closed Gaussian means; None for the
            default of :func:`symderiv.learning.generate`. Other activations do not depend on it.
        notice: called with one line when a module has to be derived first, which takes seconds.
        rule: the learning rule; None for plain descent of the squared loss. It must not contain
            what does not enter right-hand sides (schedules).

    Raises:
        InputError: an activation cannot be read, or its dynamics does not exist.
    """
    student_text = _formula(student)
    teacher_text = _formula(student if teacher is None else teacher)
    wanted = _Wanted(student_text, teacher_text, rule)
    asked = (student_text, teacher_text, tolerance, wanted.rule_text, str(cache_folder()))
    known = _loaded.get(asked)
    if known is not None and _is_current(*known, wanted, tolerance):
        return known[0]
    kernel = _load(wanted, tolerance, notice)
    _loaded[asked] = kernel, _stamp(kernel)
    return kernel


def has_checked_in(student: str, teacher: str) -> bool:
    """Return whether the package contains modules of a pair, which need not be derived."""
    return (_tree(_formula(student)), _tree(_formula(teacher))) in _checked_in()


# The modules in use, with the stamps of their files.
_loaded: dict[tuple[str, str, float | None, str, str], tuple[Kernel, Stamp]] = {}


@dataclass(frozen=True)
class _Wanted:
    """The activations and the learning rule of the module that is wanted."""

    student: str
    teacher: str
    rule: LearningRule | None = None

    @property
    def rule_text(self) -> str:
        """The features of the rule as text; empty for plain descent of the squared loss."""
        features = {} if self.rule is None else self.rule.features
        return ", ".join(f"{name} = {value}" for name, value in sorted(features.items()))


@lru_cache(maxsize=64)
def _formula(text: str) -> str:
    return activation(text).text


def _is_current(kernel: Kernel, stamp: Stamp, wanted: _Wanted, tolerance: float | None) -> bool:
    """Return whether loaded modules are up to date: same files, same engine."""
    if _stamp(kernel) != stamp:
        return False
    names = [
        _cached_path(wanted, *approximation).name
        for approximation in ((), (str(tolerance),))
        if not kernel.checked_in
    ]
    return kernel.checked_in or kernel.path.name in names


def _stamp(kernel: Kernel) -> Stamp:
    path = kernel.path
    fast = path.parent / "fast" / path.name if kernel.checked_in else fast_path(path)
    try:
        statuses = path.stat(), fast.stat()
    except OSError:
        return ()
    return tuple((each.st_mtime_ns, each.st_size) for each in statuses)


def _load(
    wanted: _Wanted,
    tolerance: float | None,
    notice: Callable[[str], None] | None,
) -> Kernel:
    student_text, teacher_text = wanted.student, wanted.teacher
    checked_in = _checked_in().get((_tree(student_text), _tree(teacher_text)))
    if checked_in is not None and not wanted.rule_text:
        files = checked_in, checked_in.parent / "fast" / checked_in.name
        contents = [file.read_bytes() for file in files]
        digests = [hashlib.sha256(content).hexdigest() for content in contents]
        module, fast = (
            WaitingModule(name, content.decode(), path, partial(_imported, name))
            for name, content, path in zip(
                (f"{_PACKAGE}.{checked_in.stem}", f"{_FAST}.{checked_in.stem}"),
                contents,
                files,
                strict=True,
            )
        )
        return Kernel(
            module, checked_in, digests[0], student_text, teacher_text, True, fast, digests[1]
        )
    path = _cached_path(wanted)
    texts = _read_both(path)
    derived = False
    # Approximated activations have separate modules for each tolerance.
    approximate = _cached_path(wanted, str(tolerance))
    if texts is None:
        texts = _read_both(approximate)
        path = path if texts is None else approximate
    if texts is None:
        if notice is not None:
            places = (path, fast_path(path), approximate, fast_path(approximate))
            found_damaged = [each for each in places if each.exists()]
            damaged = f"{found_damaged[0]} is damaged; " if found_damaged else ""
            how = f" ({wanted.rule_text})" if wanted.rule_text else ""
            notice(f"{damaged}deriving the solver for {student_text} learning {teacher_text}{how}")
        path, texts = _derive(path, approximate, wanted, tolerance)
        derived = True
        if notice is not None and '\nACTIVATION_METHOD = "quadrature"\n' in texts[0]:
            kinks = "\nSTUDENT_KINKS = " in texts[0] and "\nKINKED = 0\n" not in texts[0]
            notice(
                "its means have no closed form and are computed by quadrature: with two students "
                f"and two teachers a run takes {'minutes' if kinks else 'seconds to minutes'}; "
                "a larger time.relative_tolerance makes it faster"
            )
    sha256, fast_sha256 = (hashlib.sha256(text.encode()).hexdigest() for text in texts)
    module, fast = (
        WaitingModule(_cached_name(place), text, place, partial(_module_of, place, text))
        for place, text in zip((path, fast_path(path)), texts, strict=True)
    )
    if derived:
        module.check_version()
    for_many = partial(_text_for_many, path.stem, wanted, tolerance, texts[0])
    return Kernel(
        module, path, sha256, student_text, teacher_text, False, fast, fast_sha256, for_many
    )


def _text_for_many(name: str, wanted: _Wanted, tolerance: float | None, readable: str) -> str:
    """Return the text of the module for several runs at a time; empty if there is none."""
    if any(f'\nACTIVATION_METHOD = "{each}"\n' in readable for each in _OF_ONE_RUN):
        return ""
    from symderiv.checking.recipes import text_for_lanes
    from symderiv.learning.rule.learning_rule import PLAIN

    rule = PLAIN if wanted.rule is None else wanted.rule
    return text_for_lanes(name, wanted.student, wanted.teacher, tolerance, rule)


def fast_path(path: Path) -> Path:
    """Return the path of the fast module beside a derived readable one."""
    return path.with_name(f"{path.stem}_fast.py")


def lanes_path(path: Path) -> Path:
    """Return the path of the module for several runs at a time, for solvers that have one."""
    return path.with_name(f"{path.stem}_lanes.py")


def cache_folder() -> Path:
    """Return the folder of derived modules; see ``derivation_cache.cache_folder``."""
    return derivation_cache.cache_folder() / "kernels"


def _tree(formula: str) -> str:
    """Return a formula's syntax tree as text, which ignores blanks and redundant brackets."""
    return ast.dump(ast.parse(formula, mode="eval"))


@lru_cache(maxsize=1)
def _checked_in() -> dict[tuple[str, str], Path]:
    """Return the paths of the package's modules by formulas, read without importing them."""
    result: dict[tuple[str, str], Path] = {}
    for folder in derivation_cache.package_folders(_PACKAGE):
        for path in sorted(folder.glob("[a-z]*.py")):
            constants = {
                name: ast.literal_eval(value.strip())
                for name, value in _CONSTANT.findall(path.read_text(encoding="utf-8"))
            }
            if len(constants) == 2:
                key = (
                    _tree(constants["STUDENT_ACTIVATION"]),
                    _tree(constants["TEACHER_ACTIVATION"]),
                )
                result.setdefault(key, path)
    return result


def _cached_path(wanted: _Wanted, *approximation: str) -> Path:
    """Return the file for a pair, whose name depends on everything that determines its text."""
    digest = hashlib.sha256()
    made = (
        str(FORMAT),
        "named seal",
        __version__,
        wanted.student,
        wanted.teacher,
        _engine_digest(),
    )
    rule = (f"rule {wanted.rule_text}",) if wanted.rule_text else ()
    for part in (*made, *rule, *approximation):
        digest.update(part.encode())
        digest.update(b"\0")
    return cache_folder() / f"kernel_{digest.hexdigest()[:24]}.py"


def _engine_digest() -> str:
    """Return a digest of SymPy's version and of the sources that derive and print modules."""
    folders = map(derivation_cache.package_folders, ("symderiv_codegen", _FAST))
    return derivation_cache.sources_digest(*_SOURCES, also=tuple(chain.from_iterable(folders)))


@lru_cache(maxsize=1)
def _runtime_digest() -> str:
    """Return the digest of the runtime that fast modules share."""
    digest = hashlib.sha256()
    for folder in derivation_cache.package_folders(_FAST):
        digest.update((folder / "runtime.py").read_bytes())
    return digest.hexdigest()


def _derive(
    path: Path, approximate: Path, wanted: _Wanted, tolerance: float | None
) -> tuple[Path, tuple[str, str]]:
    """Derive modules and keep them at one of the two paths; return paths and texts.

    Several processes may do this at once: they derive the same texts, and the first one's files
    stay.
    """
    from symderiv.checking.recipes import solver_text
    from symderiv.learning.rule.learning_rule import PLAIN

    solver = solver_text(
        path.stem,
        wanted.student,
        wanted.teacher,
        tolerance,
        limited=tolerance is not None,
        rule=PLAIN if wanted.rule is None else wanted.rule,
        lanes=False,
    )
    texts = solver.readable, solver.fast
    if "\nACTIVATION_TOLERANCE = " in solver.readable:
        path = approximate
    if _read_both(path) is not None:
        return path, texts
    paths = _keep({path: texts[0], fast_path(path): texts[1]}, "the derived solver")
    return paths, texts


def _keep(texts: Mapping[Path, str], told: str = "") -> Path:
    """Write modules into the cache, or for this process alone; return the first one's path."""
    path, *_ = texts
    contents = {place: text.encode() + _seal(text, place) for place, text in texts.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        for place, content in contents.items():
            replace_file(place, content)
    except OSError as error:
        if told:
            tell_once(
                f"{path}: {told} cannot be kept there ({error.strerror or error}), the next run "
                "derives it again; set XDG_CACHE_HOME to a folder that can be written to"
            )
        path = temporary_folder() / path.name
        for place, content in contents.items():
            write_whole(path.with_name(place.name), content)
    return path


def _seal(text: str, path: Path) -> bytes:
    """Return a module's last line, which proves that its text is whole and belongs to its name."""
    digest = hashlib.sha256(path.name.encode() + b"\0" + text.encode())
    return f"{_SEAL}{digest.hexdigest()}\n".encode()


def _read_both(path: Path) -> tuple[str, str] | None:
    """Return the texts of derived modules, or None if one is missing or damaged."""
    readable, fast = _read_sealed(path), _read_sealed(fast_path(path))
    return None if readable is None or fast is None else (readable, fast)


def _read_sealed(path: Path) -> str | None:
    """Return the text of a derived module, or None if it is missing or damaged."""
    try:
        content = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    text, seal, _ = content.rpartition(_SEAL)
    return text if seal and content == text + _seal(text, path).decode() else None


class WaitingModule(ModuleType):
    """A solver module whose code runs when a function is first used, which imports numba.

    Constants on one line are read from its text. Right-hand sides for given sizes, and functions
    from :meth:`function`, are translated without numba if possible.

    Args:
        name: the name of the module.
        text: its source.
        path: its file.
        run: a function that runs the text and returns the module.
        stated: True if it states its format and layout, which are then checked.
    """

    def __init__(
        self,
        name: str,
        text: str,
        path: Path,
        run: Callable[[], ModuleType],
        stated: bool = True,
    ) -> None:
        super().__init__(name)
        self.__file__ = str(path)
        known = {}
        for constant, value in _STATED.findall(text):
            with suppress(ValueError, SyntaxError):
                known[constant] = ast.literal_eval(value.strip())
        if known.get("FORMAT", FORMAT) != FORMAT:
            raise _other_version(path)
        self.__dict__.update(known)
        self.__dict__["_run"] = run
        self.__dict__["_text"] = text
        self.__dict__["_stated"] = stated
        self.__dict__["translation"] = TranslatedModule(text)

    def specialised(self, *sizes: int) -> Callable[..., None]:
        """Return the compiled right-hand side for some sizes."""
        translated: MachineCode | None = self.translation.specialised(*sizes)
        return self.by_numba(*sizes) if translated is None else translated

    def by_numba(self, *sizes: int) -> Callable[..., None]:
        """Return the right-hand side for some sizes, compiled by numba."""
        from symderiv.compiled_code.code_cache import kept_code

        self.run()
        with kept_code():
            return cast(Callable[..., None], self.__dict__["_specialised"](*sizes))

    def function(self, name: str) -> Callable[..., Any]:
        """Return a function that is translated for the types of its arguments."""
        return cast(
            Callable[..., Any], self.translation.function(name, lambda: getattr(self, name))
        )

    @property
    def flat_observables(self) -> Callable[..., float]:
        """The module's function of this name, with translated callees.

        It is a Python function that calls compiled ones, for which numba would need seconds.
        """
        if "_observables" not in self.__dict__:
            try:
                own = self.translation.names["flat_observables"]
            except (KeyError, UntranslatableError):
                self.run()
                observables = self.__dict__.get("_flat_observables")
                if observables is None:
                    raise AttributeError("flat_observables") from None
            else:
                called = {
                    name: self.function(name)
                    for name in own.__code__.co_names
                    if isinstance(own.__globals__.get(name), FunctionSource)
                }
                observables = FunctionType(own.__code__, {**own.__globals__, **called})
            self.__dict__["_observables"] = observables
        return cast(Callable[..., float], self.__dict__["_observables"])

    def run(self) -> None:
        """Run the module's code, if that has not happened.

        Raises:
            SymderivError: the module is of another version.
        """
        if self._run is not None:
            module = self._run()
            if self._stated and "STUDENT_ACTIVATION" in self.__dict__:
                _checked_format(module, Path(str(self.__file__)))
            own = {f"_{name}": vars(module).get(name) for name in _OF_CLASS}
            names = {**vars(module), **own, "_run": None}
            self.__dict__.update((name, it) for name, it in names.items() if name not in _OF_CLASS)

    def check_version(self) -> None:
        """Check the format and the layout that a module states.

        Raises:
            SymderivError: The module is of another version.
        """
        if self._run is not None:
            self._state()
            _checked_format(self, Path(str(self.__file__)))

    def _state(self) -> None:
        """Evaluate the module's constants, without numba if possible."""
        try:
            said = self.translation.names
        except UntranslatableError:
            self.run()
            return
        self.__dict__.update((name, value) for name, value in said.items() if name.isupper())

    def __getattr__(self, name: str) -> Any:
        # a constant that is not in the text, such as an error, does not exist
        if name.isupper():
            if name in self._text and self._run is not None:
                self._state()
        elif not name.startswith("__"):
            self.run()
        if name not in self.__dict__:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self.__dict__[name]


def kept_module(text: str, package: str = _FAST) -> Any:
    """Return the module with a given text, which is kept in the cache under its digest.

    Args:
        text: The text as printed by this process; numba needs the file to keep machine code.
        package: The package that its relative imports mean.
    """
    digest = hashlib.sha256(f"{package}\0{text}".encode()).hexdigest()
    path = cache_folder() / f"system_{digest[:24]}.py"
    return _run_kept(path, text, package) if package != _FAST else _waiting(path, text)


@lru_cache(maxsize=32)
def _waiting(path: Path, text: str) -> WaitingModule:
    """Return the module, always the same object, because callers identify it by that."""
    run = partial(_run_kept, path, text)
    return WaitingModule(_cached_name(path), text, path, run, stated=False)


def _run_kept(path: Path, text: str, package: str = _FAST) -> ModuleType:
    """Return the module after running it, with its file in the cache."""
    if _read_sealed(path) != text:
        path = _keep({path: text})
    return _module_of(path, text, package)


def _imported(name: str) -> ModuleType:
    """Return a module of the package, imported with the cache of compiled code."""
    from symderiv.compiled_code.code_cache import kept_code

    with kept_code():
        module = importlib.import_module(name)
    return module


def _cached_name(path: Path) -> str:
    """Return the name by which numba's files on disk refer to a derived module."""
    return f"symderiv_cached_{path.stem}"


def _module_of(path: Path, text: str, package: str = _FAST) -> ModuleType:
    from symderiv.compiled_code.code_cache import kept_code

    name = _cached_name(path)
    if name in sys.modules:
        return sys.modules[name]
    module = ModuleType(name)
    module.__file__ = str(path)
    # the runtime that fast modules share is in this package
    module.__package__ = package
    sys.modules[name] = module
    try:
        # The checked text is run, not the file or Python's byte code of it: Python recognises a
        # changed file only by its size and the second of its last change.
        with kept_code():
            exec(compile(text, str(path), "exec"), module.__dict__)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _checked_format(module: ModuleType, path: Path) -> ModuleType:
    if getattr(module, "FORMAT", None) != FORMAT or not _extends(getattr(module, "LAYOUT", {})):
        raise _other_version(path)
    return module


def _other_version(path: Path) -> SymderivError:
    return SymderivError(f"{path.name}: is a solver module of another version; generate it again")


def _extends(layout: Mapping[str, Any]) -> bool:
    """Return whether vectors are packed as in plain descent, followed by fields of a rule."""
    if layout.keys() != LAYOUT.keys() or layout["sizes"] != LAYOUT["sizes"]:
        return False
    return all(
        list(layout[vector].items())[: len(LAYOUT[vector])] == list(LAYOUT[vector].items())
        for vector in ("state", "parameters")
    )
