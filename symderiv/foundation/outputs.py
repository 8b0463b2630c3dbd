"""Rules for writing results: never over an input, a device, or a file of somebody else.

Every file that a command or a ``save`` writes goes through :class:`Output`, which is made before
anything is computed and refuses what must not be replaced:

* a file that the same call reads, whatever name it has (symbolic and hard links, ``./``);
* a folder, a device, a FIFO, a socket;
* a file that is not, byte for byte, one that symderiv wrote (:mod:`symderiv.foundation.seals`),
unless
  ``force`` is given.

A symbolic link is followed, and the file it leads to is replaced whole or not at all. Missing
folders are made when the file is written. ``-`` is standard output, for text.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from symderiv.foundation.errors import InputError
from symderiv.foundation.files import kind_of, signature, write_whole
from symderiv.foundation.seals import STREAMED, is_sealed, sealed

STANDARD_OUTPUT = "-"

#: Endings that say what is in a file; the user is free to choose other endings, or none.
_SAYING: Final = frozenset(
    {"nc", "csv", "zarr", "npz", "toml", "json", "html", "tex", "pdf", "svg", "png", "py", "c"}
)


class Output:
    """One file to be written, or standard output.

    Args:
        path: the file; ``-`` for standard output.
        format: its format, by which it is sealed (:func:`symderiv.foundation.seals.sealed`).
        inputs: the files that the same call reads.
        force: replace a regular file whoever wrote it.
        ours: returns, given its content, whether an existing file may be replaced.

    Raises:
        InputError: nothing may be written there, in one line with the reason.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        format: str,
        *,
        inputs: Iterable[Path] = (),
        force: bool = False,
        ours: Callable[[bytes], bool] = is_sealed,
    ) -> None:
        self.path, self.format = Path(path), format
        self.streams = os.fspath(path) == STANDARD_OUTPUT
        self._inputs, self._force, self._ours = tuple(inputs), force, ours
        self._known: tuple[int, int, int, int] | None = None
        if self.path.name == os.fspath(path) and self.path.name.startswith("--"):
            raise InputError(f"{path}: looks like an option; write ./{path} if you mean a file")
        if self.streams:
            if format not in STREAMED:
                raise InputError(f"-: standard output cannot take a .{format} file; name a file")
            return
        #: The file that is written: the path itself, or the target of a symbolic link.
        self.file = self.path
        check_names(self.path)
        self.real = resolved(self.path)
        if self.path.is_symlink():
            self.file = self.real
        _check_special(self.path)
        self._replaceable(self.file)
        _check_folder(self.path, self.real.parent)
        self._check_ending()

    def _check_ending(self) -> None:
        """Raise an error if the ending says another format than that of the file."""
        ending = self.path.suffix[1:].lower()
        if ending in _SAYING and ending != self.format:
            raise InputError(
                f"{self.path}: ends in .{ending}, and this file is .{self.format}; "
                f"name it {self.path.stem}.{self.format}"
            )

    def write(self, content: bytes | memoryview, *, seal: bool = True) -> None:
        """Write the file, whole or not at all.

        Raises:
            InputError: it became something that must not be replaced.
            SymderivError: the disk is full or fails; the old file is as it was.
        """
        if self.streams:
            sys.stdout.write(bytes(content).decode())
            return
        whole = sealed(content, self.format) if seal else content
        write_whole(self.file, whole, self._replaceable)
        self._known = None

    def write_text(self, text: str, *, seal: bool = True) -> None:
        """Write a text in UTF-8, as :meth:`write` does."""
        self.write(text.encode("utf-8", "surrogateescape"), seal=seal)

    def _replaceable(self, file: Path) -> os.stat_result | None:
        """Return the status of the existing file, None if there is none.

        Raises:
            InputError: it may not be replaced.
        """
        status = _state(self.path, file)
        if status is None:
            for one in self._inputs:
                if resolved(one) == self.real:
                    raise InputError(_IS_INPUT.format(self.path))
            return None
        _check_kind(self.path, status)
        for one in self._inputs:
            if _same(one, status):
                raise InputError(_IS_INPUT.format(self.path))
        if self._force or signature(status) == self._known:
            return status
        if not status.st_mode & 0o222:
            raise InputError(f"{self.path}: is write-protected; {_OTHERWISE}")
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with open(os.open(file, flags), "rb") as opened:
                status = os.fstat(opened.fileno())
                _check_kind(self.path, status)
                content = opened.read()
        except OSError as error:
            raise InputError(f"{self.path}: exists and cannot be read ({error.strerror})") from None
        if not self._ours(content):
            raise InputError(
                f"{self.path}: exists and is not a file as symderiv wrote it; {_OTHERWISE}"
            )
        self._known = signature(status)
        return status


_IS_INPUT = "{}: is read by the same call, and would be lost; choose another name for the output"
_OTHERWISE = "choose another name, or replace it with --force (force=True)"


class OutputFolder:
    """A folder for results, which is made with the first of them.

    Args:
        path: the folder.
        inputs, force: as those of :class:`Output`, for every file in it.
        beside: by how many bytes names of files and folders beside it are longer than its own.

    Raises:
        InputError: the path is something else, or nothing can be written there.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        inputs: Iterable[Path] = (),
        force: bool = False,
        beside: int = 0,
    ) -> None:
        if os.fspath(path) == STANDARD_OUTPUT:
            raise InputError("-: standard output cannot take several files; name a folder")
        self.path = Path(path)
        if beside and self.path.name in ("", ".."):
            raise InputError(
                f"{str(path)!r}: is not the name of a file; give one", argument="output"
            )
        check_names(self.path, beside=beside)
        self._inputs, self._force = tuple(inputs), force
        _check_folder(self.path, resolved(self.path))

    def file(self, name: str, format: str, *, ours: Callable[[bytes], bool] = is_sealed) -> Output:
        """Return an output in the folder."""
        return Output(self.path / name, format, inputs=self._inputs, force=self._force, ours=ours)


def as_output(path: str | os.PathLike[str] | Output, format: str) -> Output:
    """Return an output unchanged, or make one from a path."""
    check_path(path)
    return path if isinstance(path, Output) else Output(path, format)


def check_path(path: object) -> None:
    """Raise an ``InputError`` if what should be a path or an output is neither."""
    if not isinstance(path, str | os.PathLike | Output):
        raise InputError(f"must be a path, not {path!r}", argument="path")


def check_apart(*outputs: Output | None) -> None:
    """Raise an error if outputs of one call would replace one another.

    Raises:
        InputError: two of them are one file, or standard output.
    """
    seen: list[Path] = []
    for one in outputs:
        if one is None:
            continue
        file = Path(STANDARD_OUTPUT) if one.streams else one.real
        if file in seen or any(_same(old, _state(file, file)) for old in seen):
            raise InputError(f"{one.path}: two outputs of this call go there; choose another name")
        seen.append(file)


def check_names(path: Path, *, beside: int = 0) -> None:
    """Raise an error if a path has a name that the file system does not accept.

    Args:
        path: the path; it and its folders need not exist.
        beside: bytes that the last name must leave for longer names made from it.

    Raises:
        InputError: a name is too long.
    """
    there = next((place for place in path.absolute().parents if os.path.isdir(place)), Path("/"))
    try:
        most = os.pathconf(there, "PC_NAME_MAX")
    except (OSError, ValueError):
        return
    for part in path.parts:
        limit = most - beside if part == path.name else most
        if (size := len(os.fsencode(part))) > limit:
            raise InputError(f"{path}: a name of {size} bytes is too long; the limit is {limit}")


def resolved(path: Path) -> Path:
    """Return the file to which a path leads through symbolic links, whether or not it exists.

    Raises:
        InputError: it leads in a circle, or no path has such a name.
    """
    try:
        real = Path(os.path.realpath(path))
        # realpath returns a link that leads in a circle unchanged
        circle = real.is_symlink()
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from None
    if circle:
        raise InputError(f"{path}: is a symbolic link that leads nowhere; remove it")
    return real


def _state(path: Path, file: Path) -> os.stat_result | None:
    """Return the status of the file to which ``path`` leads, or None if it does not exist."""
    try:
        return os.lstat(file)
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise InputError(f"{path}: a part of it is a file, not a folder") from None
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from None


def _refusal(path: Path, error: OSError | ValueError) -> InputError:
    return InputError(f"{path}: {getattr(error, 'strerror', None) or 'is not a path'}")


def _same(path: Path, status: os.stat_result | None) -> bool:
    try:
        return status is not None and os.path.samestat(os.stat(path), status)
    except (OSError, ValueError):
        return False


def _check_special(path: Path) -> None:
    """Refuse names of open files, such as /proc/self/fd/1, that lead to devices and the like."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return
    _check_kind(path, status)


def _check_kind(path: Path, status: os.stat_result) -> None:
    kind = kind_of(status)
    if kind == "folder":
        raise InputError(f"{path}: is a folder; give the name of a file")
    if kind:
        raise InputError(f"{path}: is a {kind}, not a file; give another name, or - for the screen")


def _check_folder(path: Path, folder: Path) -> None:
    """Require that the nearest existing parent is a folder, and writable."""
    for place in (folder, *folder.parents):
        status = _state(path, place)
        if status is None:
            continue
        if kind_of(status) != "folder":
            kind = kind_of(status) or "file"
            which = "" if place == resolved(path) else f"{place.name} "
            raise InputError(f"{path}: {which}is a {kind}, not a folder; choose another name")
        if not os.access(place, os.W_OK | os.X_OK):
            raise InputError(f"{path}: the folder {place} cannot be written to")
        return
