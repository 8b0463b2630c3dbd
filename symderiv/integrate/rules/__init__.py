"""Flows of all learning rules, in one piece or in phases."""
