"""Claims of the slides on the Gaussian equivalence of generators."""
