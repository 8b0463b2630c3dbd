"""Errors that runs state of themselves beside their true errors, over studies drawn at random."""
