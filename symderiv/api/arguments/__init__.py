"""Arguments of the public calls: their names, exact numbers, initial states and texts."""
