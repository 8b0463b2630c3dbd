"""Indexed programs of a learning problem: in spectral form, in moments, with losses, for export."""
