"""Sweeps: a grid of studies in one store, and maps that look closely only where something changes.

Nothing of Dask, Zarr or xarray is imported before a sweep runs.
"""
