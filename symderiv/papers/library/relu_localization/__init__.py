"""Working notes on localisation in a ReLU network."""
