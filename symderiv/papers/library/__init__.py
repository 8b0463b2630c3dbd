"""The papers that are checked: their names, titles, prints and modules of claims."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files
from typing import Final

from symderiv.errors import InputError
from symderiv.papers.claim import Claim, Paper
from symderiv.papers.prints import printed_equations

__all__ = ["LATER", "SOURCES", "Source", "paper"]


@dataclass(frozen=True)
class Source:
    """Where the parts of a paper are.

    Args:
        title: Authors, title, where it appeared.
        prints: Files of printed equations.
        modules: Modules of this package with ``CLAIMS``, in the paper's order.
        file: Instead of both a file of claims, of the kind that users write.
    """

    title: str
    prints: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    file: str = ""


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
            "worschech_rosenow.setup_definitions",
            "worschech_rosenow.setup_moments",
            "worschech_rosenow.setup_dynamics",
            "worschech_rosenow.setup_covariances",
            "worschech_rosenow.setup_simulated",
            "worschech_rosenow.setup_erf",
            "worschech_rosenow.setup_teachers",
            "worschech_rosenow.setup_plateau",
            "worschech_rosenow.linear",
            "worschech_rosenow.linear_curve",
            "worschech_rosenow.linear_sgd",
            "worschech_rosenow.linear_hierarchy",
            "worschech_rosenow.linear_cross",
            "worschech_rosenow.linear_solution",
            "worschech_rosenow.scaling_sum",
            "worschech_rosenow.scaling_time",
            "worschech_rosenow.scaling_rates",
            "worschech_rosenow.scaling_flow",
            "worschech_rosenow.scaling_features",
            "worschech_rosenow.scaling_parts",
            "worschech_rosenow.scaling_blocks",
            "worschech_rosenow.scaling_traces",
            "worschech_rosenow.escape",
            "worschech_rosenow.escape_reduced",
            "worschech_rosenow.escape_time",
            "worschech_rosenow.escape_scaling",
            "worschech_rosenow.escape_length",
            "worschech_rosenow.late",
            "worschech_rosenow.late_groups",
            "worschech_rosenow.late_error",
        ),
    ),
    "relu-localization-notes": Source(
        "Working notes on localisation in a ReLU network (unpublished, undated)",
        ("relu-localization-notes",),
        (
            "relu_localization.flow",
            "relu_localization.data_sets",
            "relu_localization.training",
            "relu_localization.one_constraint",
            "relu_localization.two_constraints",
            "relu_localization.quadrant",
            "relu_localization.closed_form",
            "relu_localization.rewritten",
            "relu_localization.special_cases",
            "relu_localization.other_order",
            "relu_localization.normalised",
            "relu_localization.large_gain",
        ),
    ),
    "bae-jeong-2024": Source(
        "J. Bae and H. Jeong, From empirical observations to universality: dynamics of deep "
        "learning with inputs built on Gaussian mixture, arXiv:2405.00642 (2024)",
        ("bae-jeong-2024",),
        (
            "bae_jeong.definitions",
            "bae_jeong.mixtures",
            "bae_jeong.lemma",
            "bae_jeong.equivalence",
            "bae_jeong.motion",
            "bae_jeong.rates",
            "bae_jeong.lemma_steps",
        ),
    ),
    "goldt-2021": Source(
        "S. Goldt, B. Loureiro, G. Reeves, F. Krzakala, M. Mezard and L. Zdeborova, The Gaussian "
        "equivalence of generative models for learning with shallow neural networks, slides, "
        "MSML (2021); arXiv:2006.14709",
        ("goldt-2021",),
        (
            "goldt.dynamics",
            "goldt.learning_rule",
            "goldt.equivalence",
            "goldt.setup",
            "goldt.replica",
        ),
    ),
    "saad-solla-1995": Source(
        "D. Saad and S. A. Solla, On-line learning in soft committee machines, Phys. Rev. E 52, "
        "4225 (1995): the isotropic committee, as commonly quoted",
        file="saad_solla_1995.toml",
    ),
}


#: Papers that the interface names and whose claims are still to come.
LATER: Final = ("demir-dogan-2025",)


def paper(name: str) -> Paper:
    """A paper of the library with all its claims.

    Raises:
        InputError: There is no paper of that name.
    """
    if name not in SOURCES:
        raise InputError(f"there is no paper {name!r}; known are {', '.join(SOURCES)}")
    source = SOURCES[name]
    if source.file:
        from symderiv.papers.own import paper_from_toml

        text = (files(__name__) / source.file).read_text(encoding="utf-8")
        found = paper_from_toml(text, source.file)
        where = f"{__name__.replace('.', '/')}/{source.file}"
        return replace(found, sources=dict.fromkeys(found.sources, where))
    claims: list[Claim] = []
    sources: dict[str, str] = {}
    for module in source.modules:
        path = f"{__name__}.{module}"
        for claim in import_module(path).CLAIMS:
            if claim.name in sources:
                raise InputError(f"{name}: two claims are called {claim.name!r}")
            sources[claim.name] = f"{path.replace('.', '/')}.py"
            claims.append(claim)
    printed = printed_equations(*source.prints)
    return Paper(name, source.title, printed, tuple(_in_order(claims)), sources)


def _in_order(claims: list[Claim]) -> list[Claim]:
    """By the first number in the equation's name, those of a supplement (S1, S2, ...) last.

    A name without such a number, or with one inside of another name (Lemma V.3), follows its
    predecessor.
    """
    order, last = [], (False, 0)
    for claim in claims:
        found = re.search(r"(?<!\.)(?:(?<!\w)(S))?(\d+)", claim.equation)
        last = (found[1] is not None, int(found[2])) if found else last
        order.append(last)
    return [claim for _, claim in sorted(zip(order, claims, strict=True), key=lambda pair: pair[0])]
