"""Files and tests of each room of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["COMMON", "ROOMS", "Room"]

#: Tests that belong to every room: reference numbers, and the kept modules byte for byte.
COMMON: Final = ("tests/values", "tests/golden")

#: Files that hold words for the reader only: sentences, layout of text.
_WORDS: Final = (
    "symderiv/gaussian/narrate.py",
    "symderiv/learning/narration/narrator.py",
    "symderiv/precision/quadrature/narration.py",
)


@dataclass(frozen=True)
class Room:
    """A room of the engine.

    Args:
        name: As on the command line.
        folder: Its sources.
        tests: Files and folders of its own tests, relative to the project.
        unasked: Files among them that cost much, and that no change of the room can fail or that
            others nearly make up for.
        together: Whether the tests of a file, which share derivations, are watched in one process.
        beside: Files outside the folder that belong to the room.
        derives: Whether kept derived solvers depend on its text, so that each change derives anew.
    """

    name: str
    folder: str
    tests: tuple[str, ...]
    derives: bool = False
    unasked: tuple[str, ...] = ()
    together: bool = False
    beside: tuple[str, ...] = ()

    def files(self, top: Path) -> list[str]:
        """Its sources without those that hold words only."""
        found = sorted((top / self.folder).rglob("*.py"))
        names = [path.relative_to(top).as_posix() for path in found]
        named = [n for n in names if n not in _WORDS and not n.endswith("__init__.py")]
        return [*named, *self.beside]


def _room(
    name: str,
    *more: str,
    folder: str = "",
    derives: bool = False,
    unasked: tuple[str, ...] = (),
    together: bool = False,
    beside: tuple[str, ...] = (),
) -> Room:
    tests = (f"tests/unit/{name}", *more)
    return Room(name, folder or f"symderiv/{name}", tests, derives, unasked, together, beside)


ROOMS: Final = {
    room.name: room
    for room in (
        _room("precision", "tests/property/test_precision_enclosures.py", together=True),
        Room("inputs", "symderiv/inputs", ("tests/unit/data",), together=True),
        _room("gaussian", "tests/property/test_gaussian_symmetries.py", derives=True),
        # compiles three solver modules and derives six states, half a minute by itself
        _room(
            "analysis",
            "tests/values/test_late_dynamics.py",
            "tests/values/test_plateau_in_the_flow.py",
            together=True,
            unasked=("tests/unit/analysis/test_symmetric_reduction.py",),
        ),
        *(
            Room(name, f"symderiv/{name}", ("tests/unit/dynamics",), together=True, beside=beside)
            for name, beside in (
                ("keys", ()),
                ("problem", ("symderiv/foundation/packing.py",)),
                ("storage", ("symderiv/compiled_code/code_cache.py",)),
                ("integrate", ("symderiv/compiled_code/compiled.py",)),
                ("experiment", ()),
            )
        ),
        _room("codegen", "tests/golden", folder="codegen/symderiv_codegen", derives=True),
        # what is pasted into modules is also tried by itself beside its meaning
        _room("numerics", "tests/unit/gaussian/test_functions.py", derives=True),
        *(
            Room(name, f"symderiv/{name}", ("tests/unit/learning", "tests/golden"), derives=True)
            for name in ("learning", "lowering", "checking")
        ),
        # rules and whole problems, derived and compiled for ten seconds and more each; the room's
        # own statements take a tenth
        _room(
            "system",
            "tests/unit/statement",
            together=True,
            unasked=(
                "tests/unit/system/test_rules_as_statements.py",
                "tests/unit/system/test_span.py",
                "tests/unit/system/test_stated_rules.py",
                "tests/unit/system/test_system_ensembles.py",
                "tests/unit/system/test_system_plateau.py",
                "tests/unit/system/test_system_trajectory.py",
                "tests/unit/system/test_time_batches_mixtures.py",
                "tests/unit/system/test_twelve_problems.py",
                "tests/unit/system/test_two_readings.py",
            ),
            beside=tuple(
                f"symderiv/statement/{name}.py"
                for name in (
                    "averaged_step",
                    "batches",
                    "field_law",
                    "indicators",
                    "language",
                    "register",
                    "slopes",
                    "stated_motion",
                    "stated_problem",
                    "vector_expressions",
                )
            ),
        ),
    )
}
