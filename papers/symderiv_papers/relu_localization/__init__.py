"""Working notes on localisation in a ReLU network."""

from symderiv_ledger.papers.known_papers import Source

SOURCE = Source(
    title=("Working notes on localisation in a ReLU network (unpublished, undated)"),
    package=__name__,
    root="papers",
    files=(
        "1_problem.toml",
        "2_data_sets.toml",
        "3_one_constraint.toml",
        "4_two_constraints.toml",
        "5_special_cases.toml",
        "6_second_derivation.toml",
        "7_gates.toml",
        "8_experiments.toml",
    ),
)
