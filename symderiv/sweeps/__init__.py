"""Sweeps: grids of studies in one store, and maps that are refined where values change.

Nothing of Dask, Zarr or xarray is imported before a sweep runs.
"""
