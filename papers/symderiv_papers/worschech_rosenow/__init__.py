"""Worschech and Rosenow 2024."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "R. Worschech and B. Rosenow, Analyzing neural scaling laws in two-layer networks "
        "with power-law data spectra, arXiv:2410.09005 (2024)"
    ),
    package=__name__,
    root="papers",
    by_number=True,
    files=(
        "1_setup.toml",
        "2_plateau.toml",
        "3_linear.toml",
        "4_scaling.toml",
        "5_features.toml",
        "6_escape.toml",
        "7_late.toml",
    ),
)
