"""Bae and Jeong 2024: networks whose inputs come from a hidden manifold."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "J. Bae and H. Jeong, From empirical observations to universality: dynamics of deep "
        "learning with inputs built on Gaussian mixture, arXiv:2405.00642 (2024)"
    ),
    package=__name__,
    root="papers",
    files=(
        "1_background.toml",
        "2_results.toml",
        "3_equivalence.toml",
        "4_motion.toml",
        "5_lemma.toml",
    ),
)
