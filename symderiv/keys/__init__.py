"""The keys of a study: one table of records, from which all lists of keys are generated."""
