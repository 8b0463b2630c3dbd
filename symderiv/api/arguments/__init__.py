"""Arguments of the public calls: their names, exact numbers, starts and texts."""
