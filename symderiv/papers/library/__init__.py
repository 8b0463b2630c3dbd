"""The papers that are checked: their names, titles, prints and modules of claims."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Final

from symderiv.errors import InputError
from symderiv.papers.claim import Claim, Paper
from symderiv.papers.prints import printed_equations

__all__ = ["SOURCES", "Source", "paper"]


@dataclass(frozen=True)
class Source:
    """Where the parts of a paper are.

    Args:
        title: Authors, title, where it appeared.
        prints: Files of printed equations.
        modules: Modules of this package with ``CLAIMS``, in the paper's order.
    """

    title: str
    prints: tuple[str, ...]
    modules: tuple[str, ...]


SOURCES: Final = {
    "worschech-rosenow-2024": Source(
        "R. Worschech and B. Rosenow, Analyzing neural scaling laws in two-layer networks with "
        "power-law data spectra, arXiv:2410.09005 (2024)",
        (
            "worschech-rosenow-2024-setup",
            "worschech-rosenow-2024-linear",
            "worschech-rosenow-2024-scaling",
            "worschech-rosenow-2024-escape",
        ),
        (
            "worschech_rosenow.setup",
            "worschech_rosenow.linear",
            "worschech_rosenow.scaling",
            "worschech_rosenow.escape",
        ),
    ),
    "relu-localization-notes": Source(
        "Working notes on localisation in a ReLU network (unpublished, undated)",
        ("relu-localization-notes",),
        ("relu_localization.flow",),
    ),
}


def paper(name: str) -> Paper:
    """A paper of the library with all its claims.

    Raises:
        InputError: There is no paper of that name.
    """
    if name not in SOURCES:
        raise InputError(f"there is no paper {name!r}; known are {', '.join(SOURCES)}")
    source = SOURCES[name]
    claims: list[Claim] = []
    for module in source.modules:
        claims += import_module(f"{__name__}.{module}").CLAIMS
    return Paper(name, source.title, printed_equations(*source.prints), tuple(claims))
