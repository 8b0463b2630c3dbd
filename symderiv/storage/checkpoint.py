"""Checkpoints, from which a long run continues after a kill with bitwise the same results.

A checkpoint is one file beside the output. Its first line names the format, the second is the
SHA-256 of the rest, an ``.npz`` archive. It contains *entries*, sets of arrays under keys. The key
of an integration is a digest of all its inputs, so that a repeated integration, finished or not, is
recognised in any run. It also contains the *identity* of the run; a file of another identity is not
used.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import json
import os
import signal
import stat
import threading
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO, cast

import numpy as np

from symderiv import __version__
from symderiv.foundation.errors import InputError, SymderivError
from symderiv.foundation.files import remove_temporaries, write_whole
from symderiv.foundation.outputs import check_names, resolved
from symderiv.problem.study import Study

#: Seconds between two checkpoints by default.
EVERY = 10.0

_MAGIC = b"symderiv checkpoint 1\n"
_DIGEST_DIGITS = 64
# A file with at most so many wrong bytes in the first line counts as a damaged checkpoint.
_DAMAGED_BYTES = 2

# Largest part of the time for writing: large checkpoints are written less often.
_SHARE = 0.1

Entry = Mapping[str, np.ndarray]


def checkpoint_path(output: Path) -> Path:
    """Return the path of the checkpoint of an output file: its name with ``.checkpoint`` added."""
    return output.with_name(f"{output.name}.checkpoint")


class Checkpoint:
    """The checkpoint of one run, and the signals that ask the run to stop.

    A run calls :meth:`open` once, gets kept arrays by :meth:`entry`, calls :meth:`keep` and
    :meth:`write` when it is :meth:`due`, and stops when ``stop_asked``. The owner of the result
    calls :meth:`remove` when the result is safe; ``stopped`` tells whether the run was cut short.

    Args:
        path: the file.
        every: seconds between two writes; 0 writes at every opportunity.
        fresh: remove an existing file and do not use it.
        notice: called with one line on resuming, or on why a file is not used.
        stop: a function that says whether to stop, in addition to the signals.

    Raises:
        InputError: there is a file of this name that is not a checkpoint.
    """

    def __init__(
        self,
        path: Path,
        *,
        every: float = EVERY,
        fresh: bool = False,
        notice: Callable[[str], None] = lambda message: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        check_names(path)
        # a link is resolved, so that it is not replaced by a file
        self.path = resolved(path) if path.is_symlink() else path
        if not _replaceable(self.path):
            raise InputError(
                f"{path}: is the place of the run's checkpoint, but something else has this "
                "name; rename it"
            )
        self.every, self.fresh = every, fresh
        self.signal: int | None = None
        self.stopped = False
        self.problem = ""
        self._notice, self._stop = notice, stop
        self._identity: dict[str, str] = {}
        self._entries: dict[str, Entry] = {}
        self._where = ""
        self._before = 0.0
        self._opened = self._written = time.monotonic()
        self._cost = 0.0

    def open(self, identity: Mapping[str, str]) -> None:
        """Load the file if it is whole and belongs to the run; never raises."""
        self._identity = dict(identity)
        self._opened = self._written = time.monotonic()
        if self.fresh:
            self.fresh = False
            self.remove()
            return
        try:
            with self.path.open("rb") as file:
                content = _unpack(file)
        except FileNotFoundError:
            return
        except OSError as error:
            self._notice(f"{self.path} cannot be read ({error.strerror}); starting over")
            return
        if content is None:
            self._notice(f"{self.path} is damaged and is not used; starting over")
            return
        head, entries = content
        change = difference(head["identity"], self._identity)
        if change:
            self._put_aside(change)
            return
        self._entries.update(entries)
        self._before, self._where = float(head["seconds"]), head["where"]
        self._notice(f"resuming at {self._where}, from {self.path}")

    def _put_aside(self, change: str) -> None:
        names = (f"{self.path.name}.old{number}" for number in ("", *range(2, 1000)))
        aside = next(p for p in map(self.path.with_name, names) if _replaceable(p))
        try:
            os.replace(self.path, aside)
            now = f"kept as {aside.name}"
        except OSError:
            now = "going to be replaced"
        self._notice(
            f"{self.path} is not used: {change}; it is {now}, and the run starts over (to "
            "continue from it, undo the change and give it its old name)"
        )

    def entry(self, key: str) -> Entry | None:
        """Return the arrays that were kept under a key, or None."""
        return self._entries.get(key)

    def keep(self, key: str, arrays: Entry, where: str) -> None:
        """Keep arrays for the next write; the notice on resuming shows ``where``, "alpha = 3.5"."""
        self._entries[key] = arrays
        self._where = where

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of the run, including those before it was resumed."""
        return self._before + time.monotonic() - self._opened

    @property
    def due(self) -> bool:
        """True if it is time to write."""
        since = time.monotonic() - self._written
        return self.every == 0.0 or since >= max(self.every, self._cost / _SHARE)

    def write(self, *, quiet: bool = False) -> bool:
        """Write the file and return whether it worked; the run goes on if not.

        ``problem`` then has the reason; the first failure causes a notice, unless ``quiet``.
        """
        if not self._entries:
            return False
        started = time.monotonic()
        head = {"identity": self._identity, "seconds": self.seconds, "where": self._where}
        try:
            write_whole(self.path, lambda file: _pack(file, head, self._entries))
            self.problem = ""
        except SymderivError as error:
            if not (self.problem or quiet):
                self._notice(f"{error}; the run goes on without a checkpoint")
            self.problem = str(error)
        self._written = time.monotonic()
        self._cost = self._written - started
        return not self.problem

    def remove(self) -> None:
        """Remove the checkpoint when the run is over, with the remains of killed processes."""
        self._entries.clear()
        self.path.unlink(missing_ok=True)
        remove_temporaries(self.path)

    @property
    def stop_asked(self) -> bool:
        """True if a signal or the owner asks the run to keep its state and return."""
        return self.signal is not None or self._stop()

    def stop(self) -> None:
        """Write the checkpoint and mark the run as stopped before its end."""
        self.stopped = True
        self.write()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGINT and SIGTERM set ``stop_asked``; a second signal interrupts at once.

        An exception in the middle of a step would leave arrays that are half old and half new.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def asked(number: int, frame: FrameType | None) -> None:
            if self.signal is not None:
                raise KeyboardInterrupt
            self.signal = number

        before: dict[int, Any] = {}
        for number in (int(signal.SIGINT), int(signal.SIGTERM)):
            # signals that are ignored, as under nohup or in a pool's workers, stay ignored
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, asked)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def identity(study: Study, kernel_digests: str, **more: object) -> dict[str, str]:
    """Return everything on which the results of a run depend."""
    files = {}
    for file in study.input_files:
        files[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    more["files"] = json.dumps(files, sort_keys=True)
    return identity_of_text(study.text, kernel_digests, **more)


def identity_of_text(text: str, kernel_digests: str, **more: object) -> dict[str, str]:
    """Return the identity of a run that is stated by a text."""
    return {
        "study": text,
        "solver module": kernel_digests,
        "symderiv": __version__,
        "numpy": np.__version__,
        "numba": importlib.metadata.version("numba"),
        "scipy": importlib.metadata.version("scipy"),
        "program text": _program_digest(),
        **{name: str(value) for name, value in more.items()},
    }


@cache
def _program_digest() -> str:
    digest = hashlib.sha256()
    engine = Path(__file__).parents[1]
    for name in ("compiled_code", "keys", "problem", "storage", "integrate", "experiment"):
        for path in sorted((engine / name).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str:
    """Return the differences of two identities in words; empty if there are none."""
    changed = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    if not changed:
        return ""
    name = changed[0]
    if name == "study":
        return _study_difference(then.get(name, ""), now.get(name, ""))
    if name == "files":
        return "a file that the study reads has other contents"
    if name == "program text" or len(then.get(name, "")) == 64:
        return f"the {name} is another one"
    return f"{name} was {then.get(name, 'not given')}, is {now.get(name, 'not given')}"


def _study_difference(then: str, now: str) -> str:
    old, new = flat_keys(tomllib.loads(then)), flat_keys(tomllib.loads(now))
    changed = [key for key in {**old, **new} if old.get(key) != new.get(key)]
    if not changed:
        return "the study is written differently"
    key = changed[0]
    words = f"{key} was {_shown(old.get(key))}, is {_shown(new.get(key))}"
    if len(changed) == 1:
        return words
    return f"{words}, and {', '.join(changed[1:4])}{', …' if len(changed) > 4 else ''} changed too"


def _shown(value: Any) -> str:
    if value is None:
        return "not given"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def flat_keys(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the values of nested tables by their full keys, such as ``time.end``."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, Mapping):
            flat |= flat_keys(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _replaceable(path: Path) -> bool:
    """Return whether a path is free, or holds a checkpoint, however damaged."""
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return False
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
            same = sum(a == b for a, b in zip(start, _MAGIC, strict=False))
            return len(start) - same <= _DAMAGED_BYTES
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


class _Hashing:
    """A stream that hashes what is written through it; for zipfile it cannot seek."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        pass

    def read(self, size: int = -1) -> bytes:
        # numpy recognises files by this method
        raise io.UnsupportedOperation


def _pack(file: BinaryIO, head: Mapping[str, Any], entries: Mapping[str, Entry]) -> None:
    """Write a checkpoint without a second copy of its arrays in memory."""
    keys = list(entries)
    arrays: dict[str, Any] = {
        f"{index}:{name}": array
        for index, key in enumerate(keys)
        for name, array in entries[key].items()
    }
    text = json.dumps({**head, "keys": keys})
    file.write(_MAGIC + b"0" * _DIGEST_DIGITS + b"\n")
    body = _Hashing(file)
    np.savez(cast("BinaryIO", body), head=np.frombuffer(text.encode(), dtype=np.uint8), **arrays)
    file.seek(len(_MAGIC))
    file.write(body.digest.hexdigest().encode())


def _unpack(file: io.BufferedReader) -> tuple[dict[str, Any], dict[str, Entry]] | None:
    """Return the head and the entries, or None if the file is not a whole checkpoint."""
    if file.read(len(_MAGIC)) != _MAGIC:
        return None
    written = file.read(_DIGEST_DIGITS + 1)
    start = file.tell()
    digest = hashlib.file_digest(file, "sha256").hexdigest()
    if written != digest.encode() + b"\n":
        return None
    file.seek(start)
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        head = json.loads(arrays.pop("head").tobytes())
        entries: dict[str, dict[str, np.ndarray]] = {key: {} for key in head["keys"]}
        for name, array in arrays.items():
            index, _, own = name.partition(":")
            entries[head["keys"][int(index)]][own] = array
        float(head["seconds"]), str(head["where"]), dict(head["identity"])
    except (ValueError, KeyError, TypeError, IndexError, zipfile.BadZipFile):
        return None
    return head, dict(entries)
