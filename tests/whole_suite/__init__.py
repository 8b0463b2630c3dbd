"""All tests, also those dealt to other days, file by file; a stopped run goes on where it was."""
