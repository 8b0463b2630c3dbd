"""Steps of a study: their statement, numbers that change in time, measurements, runs in threads."""
