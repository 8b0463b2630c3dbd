"""Claims that hold whatever their quantities are: see ``python -m random_sides``."""
