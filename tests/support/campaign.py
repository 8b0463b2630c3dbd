"""What campaigns share: results that are kept, work in forks, endings that are told and counted."""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Results by their keys, a line of JSON each, so that a stopped campaign goes on.

    Args:
        path: Of the file; nothing is kept without one.
        kind: Of the results, a dataclass.
        made: How they are made (engine, seed, options); what was made otherwise is not taken.
    """

    def __init__(self, path: Path | None, kind: type[T], **made: Any) -> None:
        self.path, self.made = path, made
        self.known: dict[str, T] = {}
        text = path.read_text(encoding="utf-8") if path and path.exists() else ""
        for line in text.splitlines():
            row = json.loads(line)
            key = json.dumps(row.pop("key"))
            if {name: row.pop(name, None) for name in made} == made:
                self.known[key] = kind(**row)

    def of(self, key: Any, make: Callable[[], T]) -> T:
        """The result of a key, which is made and kept where it is not known."""
        name = json.dumps(key)
        if name not in self.known:
            found: Any = make()
            self.known[name] = found
            if self.path is not None:
                row = {"key": key, **self.made, **asdict(found)}
                self.path.parent.mkdir(parents=True, exist_ok=True)
                with self.path.open("a", encoding="utf-8") as file:
                    # numbers of NumPy are numbers
                    file.write(json.dumps(row, default=lambda value: value.item()) + "\n")
        return self.known[name]


def apart(work: Callable[..., T], *given: Any, **named: Any) -> T:
    """Work in a fork of this process: what it compiles is not needed any more after it."""
    with get_context("fork").Pool(1) as pool:
        return pool.apply(work, given, named)


def told(results: Iterable[T], line: Callable[[T], str]) -> list[T]:
    """All results, each of them told on standard error as soon as it is there."""
    found = []
    for each in results:
        found.append(each)
        if text := line(each):
            print(text, file=sys.stderr, flush=True)
    return found


def counted(endings: Iterable[str]) -> Counter[str]:
    """How many there are of each ending, also printed in one line."""
    counts = Counter(endings)
    print(", ".join(f"{ending}: {count}" for ending, count in sorted(counts.items())))
    return counts
