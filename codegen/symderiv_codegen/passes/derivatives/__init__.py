"""Passes that map a program to its derivative, forwards and in reverse."""
