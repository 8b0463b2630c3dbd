"""Proved runs: balls that contain the exact solution of order-parameter equations."""
