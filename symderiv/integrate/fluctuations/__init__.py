"""Fluctuations of order parameters at finite N, and the law of the times of events."""
