"""A red team that stays: false statements that look true, each beside a true twin.

The statements were written without sight of how the engines decide. None of the false ones may hold, none of
the true ones may fail; an engine may abstain from either.
"""
