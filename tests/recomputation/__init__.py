"""Points of the ledger in a second arithmetic: see ``python -m recomputation``."""
