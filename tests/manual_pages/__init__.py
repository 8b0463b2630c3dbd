"""The examples of the README and of the manual, run."""
