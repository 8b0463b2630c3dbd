"""What the claims of the library rest on, found by changing it: see ``python -m foundations``."""
