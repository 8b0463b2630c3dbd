"""Bae and Jeong 2024: networks whose inputs come from a hidden manifold."""
