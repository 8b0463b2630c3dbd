"""Two models beside the engine: one gradient step on a mixture, and localisation on a ring."""
