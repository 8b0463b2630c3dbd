"""Printers of the languages of exports, with the small runtimes that array libraries need."""
