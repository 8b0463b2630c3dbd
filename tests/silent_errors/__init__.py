"""The gate: inputs at the edges, and what must come out of them."""
