"""Saad and Solla 1995."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "D. Saad and S. A. Solla, On-line learning in soft committee machines, Phys. Rev. E "
        "52, 4225 (1995): the isotropic committee, as commonly quoted"
    ),
    package=__name__,
    root="papers",
    files=("claims.toml", "motion.toml"),
)
