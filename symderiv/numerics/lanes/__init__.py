"""Functions for Gaussian means of several runs at a time, in place of those of one run."""
