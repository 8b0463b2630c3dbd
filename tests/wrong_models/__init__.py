"""The central claim of every paper against wrong models: see ``python -m wrong_models``."""
