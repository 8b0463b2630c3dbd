"""One module per paper, each with ``CENTRAL``: its central claims with their wrong models."""
