"""Bayes-optimal learning: state evolution of generalised linear models and committees."""
