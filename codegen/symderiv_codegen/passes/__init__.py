"""Passes that turn an indexed program into the loops that are printed; each makes one change and
keeps values.
"""
