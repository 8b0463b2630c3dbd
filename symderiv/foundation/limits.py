"""Limits of this machine: too large sizes are refused before work starts, with the limit named."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from symderiv.foundation.errors import InputError, check_whole

# The share of free memory that may be asked for; the rest is for what is not counted.
_SHARE = 0.9
# Smaller requests are not checked: asking the machine would take a third of a short run's time.
_SMALL = 64 * 2**20
_UNKNOWN = 2**62
_MOST_THREADS = 1000


def available_memory() -> int:
    """Return the bytes that this process may still use.

    They are limited by the machine, its container and the process's own limits.
    """
    limits = [_machine(), *_containers()]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        limits.append(limit - _own_pages())
    return max(0, min(limits))


def check_threads(argument: str, number: object) -> None:
    """Raise an error if an argument is no number of threads that a machine can run.

    Raises:
        InputError: it is not a whole number of at least 1, or too large.
    """
    check_whole(argument, number, 1)
    if number > _MOST_THREADS:  # type: ignore[operator]
        raise InputError(
            f"must be at most {_MOST_THREADS}, not {number}; more threads than processors only "
            "take memory",
            argument=argument,
        )


def check_memory(needed: float, what: str, *, argument: str | None = None) -> None:
    """Raise an error if something does not fit into memory.

    Args:
        needed: bytes, at least what will be used at once.
        what: the name of what needs them, "1000000000 eigenvalues".
        argument: the argument or key that asks for it.

    Raises:
        InputError: there are fewer bytes.
    """
    if needed <= _SMALL:
        return
    limit = _SHARE * available_memory()
    if needed > limit:
        raise InputError(
            f"{what} would take {_shown(needed)} of memory; the limit is {_shown(limit)}, 90 % of "
            "what is free on this machine",
            argument=argument,
        )


def _shown(size: float) -> str:
    return f"{size / 2**30:.3g} GB" if size >= 2**30 else f"{size / 2**20:.3g} MB"


def _machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        # on other systems than Linux: all memory of the machine
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return _UNKNOWN


def _containers() -> list[int]:
    """Return the memory left below the limit of a control group, if there is one."""
    left = []
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ):
        try:
            left.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
        except (OSError, ValueError):
            continue
    return left


def _own_pages() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * resource.getpagesize()
