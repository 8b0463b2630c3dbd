"""Claims of the slides on one gradient step."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "S. Demir and Z. Dogan, Asymptotic analysis of two-layer neural networks after one "
        "gradient step under Gaussian mixtures data with structure, slides, ICLR (2025); "
        "arXiv:2503.00856"
    ),
    package=__name__,
    root="papers",
    files=("1_training.toml", "2_equivalence.toml", "3_simulations.toml"),
)
