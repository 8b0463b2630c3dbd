"""Formulas in public code of the field, stated anew."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=(
        "Formulas in public code: soft committee machines, hidden manifolds, continual learning, "
        "large batches, dropout, phase retrieval, rewards, Bayes-optimal learning"
    ),
    package=__name__,
    root="papers",
    files=(
        "1_integrals.toml",
        "2_errors.toml",
        "3_motion.toml",
        "4_manifolds.toml",
        "5_single_units.toml",
        "6_rewards.toml",
        "7_statics.toml",
    ),
)
