"""The keys of a study: one table of records, from which all that names keys is made."""
