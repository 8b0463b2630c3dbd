"""Tests derive what they test: nothing is read from, or left in, the user's cache of derivations.

Commands that tests start as processes of their own do keep what they derive.
"""

from symderiv import kept

kept.enabled = False
