"""The steps of a study: what it states, what changes in time, what is recorded, runs in threads."""
