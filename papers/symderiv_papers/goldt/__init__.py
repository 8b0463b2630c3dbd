"""Claims of the slides on the Gaussian equivalence of generators."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "S. Goldt, B. Loureiro, G. Reeves, F. Krzakala, M. Mezard and L. Zdeborova, The "
        "Gaussian equivalence of generative models for learning with shallow neural networks,"
        " slides, MSML (2021); arXiv:2006.14709"
    ),
    package=__name__,
    root="papers",
    files=(
        "1_dynamics.toml",
        "2_definitions.toml",
        "3_regression.toml",
    ),
)
