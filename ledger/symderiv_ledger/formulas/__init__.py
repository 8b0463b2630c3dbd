"""A printed formula against the expectation that it claims to be."""
