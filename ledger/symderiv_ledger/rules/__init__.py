"""Rules by which a claim is decided, with numbers that are enclosed."""
