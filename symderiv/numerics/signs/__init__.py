"""Functions for means of signs, error functions and waves, for one run or for eight at a time."""
