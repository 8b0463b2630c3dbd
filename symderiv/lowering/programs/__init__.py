"""Indexed programs of a learning problem: spectral, in moments, with losses, exported."""
