"""Functions for means of signs, error functions and waves, of one run or eight."""
