"""Compiled code on disk that survives kills, damage, full disks and read-only folders.

numba keeps compiled functions beside their module, or in the user's cache folder where that cannot
be written. It trusts what it finds: a truncated file ends in a traceback, and it writes its index
before the data that the index names, so that a process killed in between, or two that write at
once, can leave an entry that leads to another function's code. Inside :func:`kept_code` the files
carry a checksum and say which function they belong to; files that fail these checks are replaced by
compiling anew.

numba tells functions of one name apart by a number that it counts in each process. Two that were
compiled in different processes may have the same one, and a process that loads both then calls one
for the other. Inside :func:`kept_code` counting starts at a random number in each process.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import pickle
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core import bytecode, caching

from symderiv.foundation.files import tell_once, temporary_folder

# numba 0.61 has these classes under private names
_IMPLEMENTATION: Any = getattr(caching, "CacheImpl", None) or caching._CacheImpl
_USER_WIDE: Any = getattr(caching, "UserWideCacheLocator", None) or caching._UserWideCacheLocator

_DIGEST_BYTES = hashlib.sha256().digest_size
# Functions are numbered from a random number of this many bits, so that numbers do not collide.
_RANDOM_BITS = 60

# The process in which numbering already starts from a random number.
_counting: set[int] = set()


@contextmanager
def kept_code() -> Iterator[None]:
    """Make functions that are decorated inside the block use the files described above.

    This includes modules imported inside. Where no folder can be written, the code goes to a
    temporary one, with one line of notice.
    """
    if os.getpid() not in _counting:
        _counting.clear()
        _counting.add(os.getpid())
        bytecode.FunctionIdentity._unique_ids = itertools.count(secrets.randbits(_RANDOM_BITS))
    files, locators = caching.IndexDataCacheFile, _IMPLEMENTATION._locator_classes
    caching.IndexDataCacheFile = _CheckedFiles
    _IMPLEMENTATION._locator_classes = [*locators, _TemporaryLocator]
    try:
        with _collector.paused():
            yield
    finally:
        caching.IndexDataCacheFile = files
        _IMPLEMENTATION._locator_classes = locators


class _Collector:
    """Pauses Python's garbage collector, which takes a sixth of the time of a compilation.

    About 100 MB of garbage are freed by the first collection after a compilation.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses = 0
        self._was_enabled = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        with self._lock:
            if self._pauses == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._pauses += 1
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                if self._pauses == 0 and self._was_enabled:
                    gc.enable()


_collector = _Collector()


class _CheckedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """numba's index and data files of one function, checked when read."""

    def __init__(self, cache_path: str, filename_base: str, source_stamp: object) -> None:
        # a different file name, because numba alone could not read these files
        super().__init__(cache_path, f"{filename_base}.checked", source_stamp)

    def load(self, key: object) -> Any:
        # on damaged data pickle may raise exceptions of almost any class
        try:
            stored = super().load(key)
            if stored is None:
                return None
            stamp, kept_key, data = stored
        except Exception:
            return None
        return data if (stamp, kept_key) == (self._source_stamp, key) else None

    def save(self, key: object, data: object) -> None:
        try:
            super().save(key, (self._source_stamp, key, data))
        except OSError as error:
            tell_once(
                f"{self._cache_path}: compiled code cannot be kept there "
                f"({error.strerror or error}); the run goes on, the next one compiles again"
            )

    def _load_index(self) -> dict[object, str]:
        try:
            index: dict[object, str] = super()._load_index()
        except Exception:
            return {}
        return index

    def _save_data(self, name: str, data: object) -> None:
        body = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(body).digest())
            file.write(body)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        digest, body = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != digest:
            return None
        return pickle.loads(body)


class _TemporaryLocator(_USER_WIDE):  # type: ignore[misc]
    """The temporary folder, used if numba can write to none of its folders."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        wished: str = self.get_cache_path()
        self._cache_path = str(temporary_folder() / self.get_suitable_cache_subpath(py_file))
        tell_once(
            f"{Path(wished).parent}: compiled code cannot be kept there, it is compiled in each "
            "process anew; set XDG_CACHE_HOME to a folder that can be written to"
        )
